import PinctlBasics
import PinctlFoundation

extension RevocationEvidence {
    /// Reads every list in the given PEM (`X509 CRL`) or DER files, and the certificates next to them, which may have
    /// signed lists.
    ///
    /// Throws if a file can't be read, contains no list, or has a malformed block, because skipping a list would ignore
    /// its revocations.
    public init(files: [String]) throws(RevocationFileError) {
        var reader = RevocationFileReader()
        for file in files {
            let count = reader.lists.count
            try reader.read(file)
            guard reader.lists.count > count else { throw .noList(path: file) }
        }
        self.init(lists: reader.lists, certificates: reader.certificates)
    }

    /// Reads every list in the files of a directory, as ``init(files:)`` does, but not in its subdirectories. A text
    /// file without PEM is skipped. A malformed block is an error.
    public init(directory: String) throws(RevocationFileError) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
            throw .unreadable(path: directory, reason: "cannot be listed: check the path and its permissions")
        }
        var reader = RevocationFileReader()
        for name in names.sorted() { try reader.read(directory + "/" + name, isNamed: false) }
        guard !reader.lists.isEmpty else { throw .noList(path: directory) }
        self.init(lists: reader.lists, certificates: reader.certificates)
    }
}

private struct RevocationFileReader {
    /// The size limit of a file. The largest lists in use have about ten MiB.
    private static let limit = 64 << 20

    private(set) var lists: [CertificateRevocationList] = []
    private(set) var certificates: [X509Certificate] = []

    /// Reads one file. `isNamed` is false for a file that was found in a directory.
    mutating func read(_ path: String, isNamed: Bool = true) throws(RevocationFileError) {
        let file: InputFile
        do throws(InputFileError) {
            file = try InputFile(path: path)
        } catch {
            guard isNamed || error.reason != .directory else { return }
            throw .unreadable(path: path, reason: error.description)
        }
        var failure: RevocationFileError?
        do throws(KeyFile.Failure) {
            try KeyFile.readObjects(file, limit: Self.limit) { label, block, result, der in
                guard failure == nil else { return }
                do throws(DERError) {
                    if case .failure(let error) = result {
                        failure = .malformed(path: path, line: block.line, reason: error.description)
                    } else {
                        try add(label, der)
                    }
                } catch {
                    let line = label == nil ? nil : block.line
                    failure = .malformed(path: path, line: line, reason: "is malformed: \(error)")
                }
            }
        } catch .format(.noBlock) where !isNamed {
            return
        } catch {
            throw .unreadable(path: path, reason: error.description)
        }
        if let failure { throw failure }
    }

    private mutating func add(_ label: String?, _ der: Span<UInt8>) throws(DERError) {
        switch label {
        case "X509 CRL": lists.append(try CertificateRevocationList(derBytes: Array(copying: der)))
        case "CERTIFICATE", "X509 CERTIFICATE":
            certificates.append(try X509Certificate(derBytes: Array(copying: der)))
        case nil:
            let bytes = Array(copying: der)
            if let certificate = try? X509Certificate(derBytes: bytes) {
                certificates.append(certificate)
            } else {
                lists.append(try CertificateRevocationList(derBytes: bytes))
            }
        default: break
        }
    }
}

/// The reason why evidence about revocation couldn't be read from files.
@nonexhaustive
public enum RevocationFileError: Error, Hashable, Sendable {
    /// A file or directory can't be read, or is neither PEM nor DER.
    case unreadable(path: String, reason: String)
    /// A list or certificate is malformed. `line` is its first line, or `nil` in a DER file.
    case malformed(path: String, line: Int?, reason: String)
    /// The file or directory contains no certificate revocation list.
    case noList(path: String)
}

extension RevocationFileError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(visibleText(path)): \(reason)"
        case .malformed(let path, let line?, let reason):
            "\(visibleText(path)):\(line): CRL or certificate \(reason)"
        case .malformed(let path, nil, let reason): "\(visibleText(path)): \(reason)"
        case .noList(let path):
            "\(visibleText(path)): contains no CRL: use PEM with X509 CRL blocks, or DER"
        }
    }
}
