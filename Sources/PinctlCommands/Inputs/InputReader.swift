import CertificateTrust
import FoundationEssentials

/// Reads the objects of inputs: files, folders of them, standard input. What an input is, is told by what stands in it.
struct InputReader: Sendable {
    /// What opens encrypted keys.
    let password: KeyPassword

    /// The files that an operand stands for, each with what messages call it.
    ///
    /// A folder stands for the files in it, sorted by name, hidden ones left out; folders in it are not gone into.
    static func files(of operand: String) throws(InputProblem) -> [String] {
        guard operand != "-", FileKind(operand) == .folder else { return [operand] }
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: operand) else {
            throw InputProblem(reason: "this folder cannot be listed: check who may read it")
        }
        let base = operand.hasSuffix("/") ? operand : operand + "/"
        let paths = names.filter { !$0.hasPrefix(".") }.sorted().map { base + $0 }
        guard !paths.isEmpty else { throw InputProblem(reason: "is an empty folder: name one with files") }
        return paths
    }

    /// Hands out the objects of one file, `-` for standard input, as they come. What is no file is a stranger in a
    /// folder.
    func read(_ path: String, isInFolder: Bool = false, each: (InputObject) -> Void) throws(InputProblem) {
        if isInFolder {
            switch FileKind(path) {
            case .folder, .special: throw InputProblem(reason: "is no file", isStranger: true)
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

    /// Whether bytes hold certificates or keys, which whoever wants another text says something of.
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
    /// The password of `--password-file` or `--password-fd`.
    func password() throws(UsageError) -> KeyPassword {
        guard !has(.passwordFile) || !has(.passwordDescriptor) else {
            throw .unusable(["--password-file and --password-fd exclude each other: give one of them"])
        }
        if let password = try secret(.passwordFile) { return password }
        if let password = try secret(.passwordDescriptor) { return password }
        return KeyPassword()
    }

    /// The first line of what a flag names: a file, `-` for standard input, or for `--password-fd` a descriptor.
    func secret(_ flag: Flag) throws(UsageError) -> KeyPassword? {
        guard let word = self[flag] else { return nil }
        var descriptor: Int32?
        if flag == .passwordDescriptor {
            guard let number = Int32(word), number >= 0 else {
                throw .invalidValue(flag, reason: "\"\(word)\" is no descriptor: give a number, 3 for 3<FILE")
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
