import CertificateTrust
import PinctlBasics

/// An error in reading credentials, cookies or reports from a file or storing them in it.
///
/// Credentials and cookies that can't be stored are kept in memory as long as the storage exists. A file that another
/// user could have read or written isn't used.
public struct CredentialStorageError: Error, Hashable, Sendable {
    enum Reason: Error, Hashable, Sendable {
        /// The environment sets neither a data directory nor a home directory.
        case homeless
        case directory(PrivateDirectoryError)
        /// The file has other contents, or is from a later version.
        case otherVersion
        /// This line is malformed. The title is line 1.
        case malformed(line: Int)
        /// The file would be larger than this many bytes.
        case full(limit: Int)
    }

    let reason: Reason
    /// The path of the file, or nil if there is no directory for it.
    public let path: String?
}

extension CredentialStorageError: CustomStringConvertible, LocalizedError {
    /// The file, the problem, and the remedy. Never contains credentials.
    public var description: String {
        let file = path ?? "the file"
        let text =
            switch reason {
            case .homeless:
                "no directory for the file: set XDG_DATA_HOME or HOME, or pass a directory to "
                    + "URLCredentialStorage(directory:)"
            case .directory(let error): error.description
            case .otherVersion: "\(file): not a file of this kind and version: move it away"
            case .malformed(let line): "\(file): line \(line) is malformed: move the file away"
            case .full(let limit): "\(file): would exceed the limit of \(limit) bytes: remove some of its contents"
            }
        return visibleText(text)
    }

    /// The same text as ``description``.
    public var errorDescription: String? { description }
}
