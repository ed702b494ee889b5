import CertificateTrust
import FoundationEssentials

/// Reads the objects of inputs: files, folders of them, standard input. What an input is, is told by what stands in it.
struct InputReader {
    private let password: KeyPassword

    /// By the flags for the password.
    init(_ arguments: Arguments) throws(UsageError) { password = try arguments.password() }

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

    /// Hands out the objects of one file, `-` for standard input, as they come.
    func read(_ path: String, each: (InputObject) -> Void) throws(InputProblem) {
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
    /// The password of `--password-file` or `--password-fd`, without the line end behind it.
    func password() throws(UsageError) -> KeyPassword {
        let limit = 4096
        guard let path = self[.passwordFile] else {
            guard let word = self[.passwordDescriptor] else { return KeyPassword() }
            guard let number = Int32(word), number >= 0 else {
                throw .invalidValue(
                    .passwordDescriptor, reason: "\"\(word)\" is no descriptor: give a number, 3 for 3<FILE")
            }
            return try password(.passwordDescriptor) { () throws(InputFileError) in
                var file = try InputFile(descriptor: number)
                return try file.contents(limit: limit, isSecret: true)
            }
        }
        guard self[.passwordDescriptor] == nil else {
            throw .unusable(["--password-file and --password-fd exclude each other: give one of them"])
        }
        return try password(.passwordFile) { () throws(InputFileError) in
            var file = path == "-" ? .standardInput() : try InputFile(path: path)
            return try file.contents(limit: limit, isSecret: true)
        }
    }

    private func password(
        _ flag: Flag, _ read: () throws(InputFileError) -> [UInt8]
    ) throws(UsageError) -> KeyPassword {
        do throws(InputFileError) {
            return KeyPassword(line: try read())
        } catch {
            throw .invalidValue(flag, reason: "\(error.path): \(error)")
        }
    }
}
