import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

extension Arguments {
    /// Returns what the files of `--issuance` say about keys, or `nil` without the flag.
    func keyRenewals() throws(UsageError) -> [KeyRenewal]? {
        let paths = all(.issuance)
        guard !paths.isEmpty else { return nil }
        var renewals: [KeyRenewal] = []
        for path in paths {
            guard case .folder = FileKind(path) else {
                guard let found = try Self.keyRenewals(inFile: path) else {
                    throw .unusable(["\(path): isn't an issuance file: name \(IssuanceProgram.files)"])
                }
                renewals += found
                continue
            }
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
                throw .unusable(["\(path): can't be listed: check its permissions"])
            }
            var count = 0
            for name in names.sorted() {
                let file = path + (path.hasSuffix("/") ? "" : "/") + name
                guard case .file = FileKind(file), let found = try Self.keyRenewals(inFile: file) else { continue }
                count += 1
                renewals += found
            }
            guard count > 0 else {
                throw .unusable(["\(path): has no issuance file: name \(IssuanceProgram.files)"])
            }
        }
        return renewals
    }

    /// Reads a file, or returns `nil` if no program is recognized.
    private static func keyRenewals(inFile path: String) throws(UsageError) -> [KeyRenewal]? {
        let bytes = try DialectInput.contents(path)
        guard let program = IssuanceProgram(recognizing: bytes, path: path) else { return nil }
        var options: (path: String, bytes: [UInt8])?
        if let file = program.optionsPath(of: path), case .file = FileKind(file) {
            options = (file, try DialectInput.contents(file))
        }
        do throws(PolicyFileError) {
            return try program.read(bytes, path: path, options: options) { file throws(UnreadableCertificate) in
                try certificate(inFile: file)
            }
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }
}

/// Returns the first certificate in a file.
private func certificate(inFile file: String) throws(UnreadableCertificate) -> IssuedCertificate {
    let certificates: [X509Certificate]
    do throws(CertificateFileError) {
        certificates = try CertificateFile.read(file)
    } catch {
        throw UnreadableCertificate("\(error)")
    }
    let first = certificates.first
    let entries = first?.subjectAlternativeNames ?? []
    let names = entries.compactMap { entry in
        switch entry {
        case .dns, .ipAddress: entry.description
        default: nil
        }
    }
    guard let first, !names.isEmpty else {
        throw UnreadableCertificate("\(file) has no certificate with a hostname")
    }
    return IssuedCertificate(names: names, key: first.subjectPublicKeyInfo.keyKind)
}
