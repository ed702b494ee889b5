package import PinctlBasics

/// A reader for certificate files, which are DER with one certificate, or PEM with any number of them and text in
/// between.
public enum CertificateFile {
    /// Reads every certificate of a file, in order. Throws if any block can't be read. Keys and other PEM blocks are
    /// skipped.
    ///
    /// A `TRUSTED CERTIFICATE` block yields its certificate. The trust settings after it aren't evaluated.
    public static func read(_ path: String) throws(CertificateFileError) -> [X509Certificate] {
        try read(path, trustSettings: .ignored)
    }

    /// Reads every certificate of a PEM text, in order, by the rules of ``read(_:)``. Errors call it `PEM text`.
    public static func read(pem text: String) throws(CertificateFileError) -> [X509Certificate] {
        try read(Array(text.utf8), name: "PEM text")
    }

    /// Reads every certificate of a file's contents, in order, by the rules of ``read(_:)``. `name` is the file's name
    /// in errors.
    package static func read(_ bytes: [UInt8], name: String) throws(CertificateFileError) -> [X509Certificate] {
        try read(bytes, name: name, trustSettings: .ignored)
    }

    /// Reads every certificate of a file's contents, in order. `name` is the file's name in errors.
    static func read(
        _ bytes: [UInt8], name: String, trustSettings: TrustSettings
    ) throws(CertificateFileError) -> [X509Certificate] {
        var certificates: [X509Certificate] = []
        var reading = Reading(name: name, trustSettings: trustSettings)
        do throws(KeyFile.Failure) {
            try KeyFile.readObjects(bytes) { label, block, result, der in
                reading.take(label, block, result, der) { der throws(DERError) in
                    certificates.append(try X509Certificate(derBytes: Array(copying: der)))
                }
            }
        } catch {
            throw .unreadable(path: name, reason: error.description)
        }
        try reading.finish()
        return certificates
    }

    /// Calls `body` with the pin of every certificate of a file, in order. Uses constant memory, whatever the size of
    /// the file.
    ///
    /// A malformed block makes it throw as ``read(_:)`` does, but only after the pins of all other certificates.
    public static func forEachFingerprint(
        in path: String, _ body: (SPKIFingerprint) -> Void
    ) throws(CertificateFileError) {
        try forEachCertificate(in: path, trustSettings: .ignored) { der throws(DERError) in
            body(try SPKIFingerprint(ofCertificate: der))
        }
    }

    /// The treatment of certificates that carry OpenSSL's own trust settings, which aren't evaluated here.
    enum TrustSettings {
        case ignored
        /// The file is rejected: the settings might distrust the certificate, so it can't become an anchor.
        case refused
    }

    static func read(
        _ path: String, trustSettings: TrustSettings
    ) throws(CertificateFileError) -> [X509Certificate] {
        var certificates: [X509Certificate] = []
        try forEachCertificate(in: path, trustSettings: trustSettings) { der throws(DERError) in
            certificates.append(try X509Certificate(derBytes: Array(copying: der)))
        }
        return certificates
    }

    /// Reads every certificate of an open file, in order.
    package static func read(_ file: consuming InputFile) throws(CertificateFileError) -> [X509Certificate] {
        var certificates: [X509Certificate] = []
        try forEachCertificate(in: file, trustSettings: .ignored) { der throws(DERError) in
            certificates.append(try X509Certificate(derBytes: Array(copying: der)))
        }
        return certificates
    }

    /// Calls `body` with the DER of every certificate of a file. `body` throws if the certificate is malformed.
    static func forEachCertificate(
        in path: String, trustSettings: TrustSettings, _ body: (Span<UInt8>) throws(DERError) -> Void
    ) throws(CertificateFileError) {
        let file: InputFile
        do throws(InputFileError) {
            file = try InputFile(path: path)
        } catch {
            throw .unreadable(path: path, reason: error.description)
        }
        try forEachCertificate(in: file, trustSettings: trustSettings, body)
    }

    private static func forEachCertificate(
        in file: consuming InputFile, trustSettings: TrustSettings, _ body: (Span<UInt8>) throws(DERError) -> Void
    ) throws(CertificateFileError) {
        var reading = Reading(name: file.name, trustSettings: trustSettings)
        do throws(KeyFile.Failure) {
            try KeyFile.readObjects(file) { reading.take($0, $1, $2, $3, body) }
        } catch {
            throw .unreadable(path: reading.name, reason: error.description)
        }
        try reading.finish()
    }

    /// The state of reading one file.
    private struct Reading {
        let name: String
        let trustSettings: TrustSettings
        private var count = 0
        private var failure: CertificateFileError?

        init(name: String, trustSettings: TrustSettings) {
            self.name = name
            self.trustSettings = trustSettings
        }

        /// Takes the next object. Keeps the first failure, so that the certificates after it are read too.
        mutating func take(
            _ label: String?, _ block: PEMBlock, _ result: Result<Void, PEMError>, _ der: Span<UInt8>,
            _ body: (Span<UInt8>) throws(DERError) -> Void
        ) {
            let line = label == nil ? nil : block.line
            do throws(CertificateFileError) {
                if case .failure(let error) = result {
                    throw .malformed(path: name, line: line, reason: error.description)
                }
                guard let range = certificateRange(label, der) else { return }
                // mutant trust-settings: true by KeyFileTests/trustedCertificate
                guard range.count == der.count || trustSettings == .ignored else {
                    throw .malformed(
                        path: name, line: line,
                        reason: "has trust settings that are not supported: remove them with openssl x509")
                }
                count += 1
                guard !KeyContainer.isMessage(der) else {
                    throw .malformed(
                        path: name, line: line,
                        reason: "is PKCS #7, which can hold several: convert it with openssl pkcs7 -print_certs")
                }
                do throws(DERError) {
                    try body(der.extracting(range))
                } catch {
                    throw .malformed(path: name, line: line, reason: "is malformed: \(error)")
                }
            } catch {
                failure = failure ?? error
            }
        }

        func finish() throws(CertificateFileError) {
            if let failure { throw failure }
            guard count > 0 else { throw .noCertificate(path: name) }
        }
    }

    /// Returns the position of the certificate in an object, or `nil` if the object isn't a certificate.
    private static func certificateRange(_ label: String?, _ der: Span<UInt8>) -> Range<Int>? {
        switch label {
        case nil, "CERTIFICATE", "X509 CERTIFICATE": return 0..<der.count
        case "TRUSTED CERTIFICATE":
            var cursor = DERCursor(0..<der.count)
            guard let certificate = try? cursor.next(DERTag.sequence, der) else { return 0..<der.count }
            return certificate.whole
        default: return nil
        }
    }
}

/// The reason why no certificates could be read from a file.
@nonexhaustive
public enum CertificateFileError: Error, Hashable, Sendable {
    /// The file can't be opened or read, or is neither PEM nor DER.
    case unreadable(path: String, reason: String)
    /// A block is malformed. `line` is its first line, or `nil` in a DER file.
    case malformed(path: String, line: Int?, reason: String)
    /// The file contains no certificate.
    case noCertificate(path: String)
}

extension CertificateFileError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(visibleText(path)): \(reason)"
        case .malformed(let path, let line?, let reason):
            "\(visibleText(path)):\(line): certificate \(reason)"
        case .malformed(let path, nil, let reason): "\(visibleText(path)): \(reason)"
        case .noCertificate(let path):
            "\(visibleText(path)): contains no certificate: use PEM with CERTIFICATE blocks, or DER"
        }
    }
}
