import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A reader of the objects in files, directories and standard input. It recognizes the format from the contents.
struct InputReader: Sendable {
    /// The password for encrypted keys.
    let password: KeyPassword

    /// Returns the files that an operand refers to.
    ///
    /// For a directory, these are the files in it, sorted by name, without hidden files. Subdirectories aren't
    /// searched.
    static func files(of operand: String) throws(InputProblem) -> [String] {
        guard operand != "-", FileKind(operand) == .folder else { return [operand] }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: operand) else {
            throw InputProblem(reason: "this directory cannot be listed: check its permissions")
        }
        let base = operand.hasSuffix("/") ? operand : operand + "/"
        let paths = names.filter { !$0.hasPrefix(".") }.sorted().map { base + $0 }
        guard !paths.isEmpty else { throw InputProblem(reason: "is an empty directory: name one with files") }
        return paths
    }

    /// Passes each object of a file to `each` as it is read, with `-` for standard input. In a directory, anything that
    /// isn't a file counts as another kind of input.
    func read(_ path: String, isInFolder: Bool = false, each: (InputObject) -> Void) throws(InputProblem) {
        if isInFolder {
            switch FileKind(path) {
            case .folder, .special: throw InputProblem(reason: "isn't a regular file", isStranger: true)
            case .file, .missing: break
            }
        }
        var problem: InputProblem?
        do throws(KeyFile.Failure) {
            try KeyFile.read(try Self.open(path), password: password) { text in
                do throws(InputProblem) {
                    guard let objects = try TextKeys.objects(in: text) else { return false }
                    for object in objects { each(object) }
                } catch {
                    problem = error
                }
                return true
            } each: { item in
                each(InputObject(item))
            }
        } catch {
            throw InputProblem(error)
        }
        if let problem { throw problem }
    }

    /// Returns whether the bytes contain certificates or keys, so that commands that expect another text can report it.
    static func holdsKeys(_ bytes: [UInt8]) -> Bool {
        var holds = false
        try? KeyFile.read(bytes) { _ in holds = true }
        return holds
    }

    private static func open(_ path: String) throws(KeyFile.Failure) -> InputFile {
        guard path != "-" else { return .standardInput() }
        do throws(InputFileError) { return try InputFile(path: path) } catch { throw .file(error) }
    }
}

extension InputObject {
    fileprivate init(_ item: KeyFile.Item) {
        index = item.index
        line = item.line
        content =
            switch item.content {
            case .success(let key): .success(.key(key))
            case .failure(let error): .failure(InputProblem(error))
            }
    }
}

extension Arguments {
    /// Returns the password of `--password-file` or `--password-fd`.
    func password() throws(UsageError) -> KeyPassword {
        guard !has(.passwordFile) || !has(.passwordDescriptor) else {
            throw .unusable(["--password-file and --password-fd cannot be used together: give one of them"])
        }
        if let password = try secret(.passwordFile) { return password }
        if let password = try secret(.passwordDescriptor) { return password }
        return KeyPassword()
    }

    /// Returns the first line of a flag's file, of standard input for `-`, or of the descriptor of `--password-fd`.
    func secret(_ flag: Flag) throws(UsageError) -> KeyPassword? {
        guard let word = self[flag] else { return nil }
        var descriptor: Int32?
        if flag == .passwordDescriptor {
            guard let number = Int32(word), number >= 0 else {
                throw .invalidValue(
                    flag, reason: "\"\(word)\" isn't a descriptor: give a number, such as 3 with 3<FILE")
            }
            descriptor = number
        }
        do throws(InputFileError) {
            var file =
                if let descriptor { try InputFile(descriptor: descriptor) } else if word == "-" {
                    InputFile.standardInput()
                } else {
                    try InputFile(path: word)
                }
            return KeyPassword(firstLineOf: try file.contents(limit: 4096, isSecret: true))
        } catch {
            throw .invalidValue(flag, reason: "\(error.path): \(error)")
        }
    }
}
