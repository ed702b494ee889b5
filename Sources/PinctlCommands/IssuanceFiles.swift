import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

extension Arguments {
    /// Returns what the files and directories of `--issuance` say about keys, or `nil` without the flag.
    func keyRenewals(at time: Date) throws(UsageError) -> [KeyRenewal]? {
        let paths = all(.issuance)
        guard !paths.isEmpty else { return nil }
        let reader = InputReader(password: try password())
        var renewals: [KeyRenewal] = []
        for path in paths {
            guard case .directory = FileKind(path) else {
                guard let found = try IssuanceFiles.renewals(in: try DialectInput.contents(path), path) else {
                    throw .unusable([
                        "\(path): isn't an issuance file: name \(IssuanceProgram.files), or a directory with the "
                            + "server's last certificates"
                    ])
                }
                renewals += found
                continue
            }
            renewals += try IssuanceFiles.renewals(inDirectory: path, reader, at: time)
        }
        return renewals
    }
}

private enum IssuanceFiles {
    /// Reads the contents of a file of settings, or returns `nil` if no program is recognized.
    static func renewals(in bytes: [UInt8], _ path: String) throws(UsageError) -> [KeyRenewal]? {
        guard let program = IssuanceProgram(recognizing: bytes) else {
            // mutant issuance-refusal: nil by PinctlTests.IssuanceTests
            if let reason = IssuanceProgram.refusal(of: bytes, path: path) { throw .unusable(["\(path): \(reason)"]) }
            return nil
        }
        var options: (path: String, bytes: [UInt8])?
        if let file = program.optionsPath(of: path), case .file = FileKind(file) {
            options = (file, try DialectInput.contents(file))
        }
        do throws(PolicyFileError) {
            return try program.read(
                bytes, path: path, options: options,
                archive: { directory throws(UnreadableCertificate) in try certificates(inArchive: directory) },
                certificate: { file throws(UnreadableCertificate) in try certificate(inFile: file) })
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Reads the files of settings in a directory. Without them, the directory is an archive of certificates.
    static func renewals(inDirectory path: String, _ reader: InputReader, at time: Date) throws(UsageError)
        -> [KeyRenewal]
    {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
            throw .unusable(["\(path): can't be listed: check its permissions"])
        }
        let directory = path + (path.hasSuffix("/") ? "" : "/")
        var renewals: [KeyRenewal] = []
        var hasSettings = false
        var others: [String: [UInt8]] = [:]
        for file in names.sorted().map({ directory + $0 }) {
            guard case .file = FileKind(file) else { continue }
            let bytes = try DialectInput.contents(file)
            guard let found = try Self.renewals(in: bytes, file) else {
                if !hasSettings { others[file] = bytes }
                continue
            }
            hasSettings = true
            renewals += found
        }
        return hasSettings ? renewals : try archive(path, known: others, reader, at: time)
    }

    /// Reads the certificates in a directory and in those below it. Everything there has to be understood, and settings
    /// can't be ignored in favor of what happened. `known` are the contents of the files in the directory itself, which
    /// have no settings.
    private static func archive(
        _ path: String, known: [String: [UInt8]], _ reader: InputReader, at time: Date
    ) throws(UsageError) -> [KeyRenewal] {
        let inputs: [InputPath]
        do throws(InputProblem) { inputs = try InputPath.all(of: path) } catch {
            throw .unusable(["\(path): \(error.reason)"])
        }
        var files: [CheckedFile] = []
        for input in inputs {
            var contents = known[input.path]
            if contents == nil, case .file = FileKind(input.path) {
                let bytes = try DialectInput.contents(input.path)
                // mutant issuance-settings-first: true by PinctlTests.IssuanceTests
                guard try renewals(in: bytes, input.path) == nil else {
                    throw .unusable([
                        "\(path): has certificates and settings in the directories below it: name \(input.directory)"
                    ])
                }
                contents = bytes
            }
            files.append(CheckedFile(input, reader, contents: contents))
        }
        if let problem = files.lazy.flatMap(\.problems).first { throw .unusable([problem.reason]) }
        for directory in Set(files.map(\.input.directory)).sorted() {
            let settings = "\(directory)/../../renewal"
            let names = (try? FileManager.default.contentsOfDirectory(atPath: settings)) ?? []
            // mutant issuance-certbot-archive: false by PinctlTests.IssuanceTests
            guard names.contains(where: { $0.hasSuffix(".conf") }) else { continue }
            throw .unusable(["\(path): belongs to certbot, whose settings say more: name \(plainPath(settings))"])
        }
        let pool = CertificatePool(files.lazy.flatMap(\.certificates))
        let leaves = files.flatMap(\.certificates).filter(pool.isLeaf)
        let found: [KeyRenewal]
        do throws(PolicyFileError) {
            found = try CertificateArchive.renewals(of: leaves, path: path, at: time)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
        guard !found.isEmpty else {
            throw .unusable([
                "\(path): has no issuance file and no certificate of a server: name \(IssuanceProgram.files)"
            ])
        }
        return found
    }
}

/// Returns the first certificate in a file.
private func certificate(inFile file: String) throws(UnreadableCertificate) -> X509Certificate {
    let certificates: [X509Certificate]
    do throws(CertificateFileError) {
        certificates = try CertificateFile.read(file)
    } catch {
        throw UnreadableCertificate("\(error)", isMissing: FileKind(file) == .missing)
    }
    guard let first = certificates.first, !first.hosts.isEmpty else {
        throw UnreadableCertificate("\(file) has no certificate with a hostname")
    }
    return first
}

/// Returns the last certificates in one of certbot's archives, oldest first, or none if there is no such directory.
private func certificates(inArchive directory: String) throws(UnreadableCertificate) -> [X509Certificate] {
    let names: [String]
    do {
        names = try FileManager.default.contentsOfDirectory(atPath: directory)
        // mutant certbot-archive-unlisted: true by PinctlTests.IssuanceTests/certbotArchive
    } catch let error as CocoaError where [.fileNoSuchFile, .fileReadNoSuchFile].contains(error.code) {
        return []
    } catch {
        throw UnreadableCertificate(
            "\(directory) can't be listed", remedy: "run pinctl as a user who can list it, or correct archive_dir")
    }
    let numbers = names.compactMap { name in
        name.hasPrefix("cert") && name.hasSuffix(".pem")
            ? Int(name.dropFirst("cert".count).dropLast(".pem".count)) : nil
    }
    var certificates: [X509Certificate] = []
    for number in numbers.sorted().suffix(KeyHistory.length) {
        certificates.append(try certificate(inFile: "\(directory)/cert\(number).pem"))
    }
    return certificates
}
