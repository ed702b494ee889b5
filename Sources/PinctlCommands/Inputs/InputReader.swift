import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A reader of the objects in files, directories and standard input. It recognizes the format from the contents.
struct InputReader: Sendable {
    /// The password for encrypted keys.
    let password: KeyPassword

    private static let parameters = "file of parameters"

    /// Passes each object of a file to `each` as it is read, with `-` for standard input. Contents that were read
    /// before take the place of the file.
    func read(
        _ input: InputPath, contents: [UInt8]? = nil, each: (InputObject) -> Void
    ) throws(InputProblem) {
        do throws(InputProblem) {
            guard !input.isNamed else { return try read(input.path, contents, each: each) }
            switch FileKind(input.path) {
            case .directory:
                throw InputProblem(
                    reason: "this directory cannot be listed, or is nested too deeply: check its permissions",
                    kind: .unknown)
            case .special:
                throw InputProblem(reason: "isn't a regular file: move it to another directory", kind: .unknown)
            case .file, .missing:
                do throws(InputProblem) {
                    try read(input.path, contents, each: each)
                } catch {
                    guard error.kind != .broken, let target = Self.copiedLink(input) else { throw error }
                    try read(target, each: each)
                }
            }
        } catch {
            // Programs keep their own state in hidden files. A directory that can't be listed may have certificates.
            // mutant files-hidden: true for 1 by FileLayoutTests/oneFile
            // mutant files-hidden-directory: true for 3 by FileLayoutTests/unlistedDirectories
            if input.isHidden, error.kind == .unknown, FileKind(input.path) != .directory {
                throw InputProblem(reason: error.reason, kind: .irrelevant("hidden file"))
            }
            // A text under the name of a certificate, such as the error page of a download, or parameters without the
            // key.
            // mutant files-named: false for 1 by FileLayoutTests
            if input.isNamedAsKeys, case .irrelevant(let what) = error.kind {
                // mutant files-parameters: false by FilesInUseTests/publicKeys
                let lacksKey = what == Self.parameters && KeyFileName.isOfPrivateKey(input.name)
                if lacksKey || what.hasPrefix("text") || what.hasPrefix("JSON") {
                    throw InputProblem(reason: error.reason, kind: .unknown)
                }
            }
            throw error
        }
    }

    /// Returns the file that a symbolic link leads to, if it was copied as a text with the link's path, as Git does on
    /// file systems without links.
    private static func copiedLink(_ input: InputPath) -> String? {
        guard var file = try? InputFile(path: input.path), var text = try? file.contents(limit: 1024, isSecret: true)
        else { return nil }
        defer { wipe(&text) }
        guard
            text.firstIndex(of: UInt8(ascii: "/")) ?? 0 > 0, !text.contains(0x0A), !text.contains(0),
            let path = String(validating: text, as: UTF8.self)
        else { return nil }
        let target = "\(input.directory)/\(path)"
        return FileKind(target) == .file ? target : nil
    }

    private func read(
        _ path: String, _ contents: [UInt8]? = nil, each: (InputObject) -> Void
    ) throws(InputProblem) {
        var problem: InputProblem?
        var hasObject = false
        func use(_ text: [UInt8]) -> Bool {
            hasObject = true
            do throws(InputProblem) {
                for object in try TextKeys.objects(in: text, password) { each(object) }
            } catch {
                problem = error
            }
            return true
        }
        func use(_ item: KeyFile.Item) {
            hasObject = true
            each(InputObject(item))
        }
        do throws(KeyFile.Failure) {
            if let contents {
                try KeyFile.read(contents, password: password, text: use, each: use)
            } else {
                try KeyFile.read(try Self.open(path), password: password, text: use, each: use)
            }
        } catch {
            throw InputProblem(error)
        }
        if let problem { throw problem }
        guard hasObject else {
            throw InputProblem(reason: KeySelection.all.missing, kind: .irrelevant(Self.parameters))
        }
    }

    /// Reads the certificates of a file, in order. Throws if any object can't be read. Keys are skipped.
    func certificates(of path: String) throws(InputProblem) -> [X509Certificate] {
        var certificates: [X509Certificate] = []
        var problem: InputProblem?
        try read(path) { object in
            func fail(_ reason: String) {
                problem = problem ?? InputProblem(reason: (object.line.map { "line \($0): " } ?? "") + reason)
            }
            switch object.content {
            case .success(.key(let material)):
                switch material.certificate {
                case .success(let certificate): certificates.append(certificate)
                case .failure(let error): fail("certificate is malformed: \(error)")
                case nil: break
                }
            case .success(.pin): break
            case .failure(let error):
                if !object.isPrivateKey, error.irrelevance == nil { fail(error.reason) }
            }
        }
        if let problem { throw problem }
        guard !certificates.isEmpty else {
            throw InputProblem(reason: "contains no certificate: give the chain that the server sends, as PEM or DER")
        }
        return certificates
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
    init(_ item: KeyFile.Item) {
        index = item.index
        line = item.line
        (isPrivateKey, isOrdered) = (item.isPrivateKey, item.isOrdered)
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
