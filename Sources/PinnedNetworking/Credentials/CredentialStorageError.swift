import CertificateTrust

/// Why credentials are not kept in a file, or not read from it.
///
/// What was to be kept lasts for the session then. Nothing that somebody else may have read or written is used.
public struct CredentialStorageError: Error, Hashable, Sendable {
    enum Reason: Error, Hashable, Sendable {
        /// The environment names no folder for data, and no home.
        case homeless
        case folder(PrivateFolderError)
        /// Not a file of credentials, or one of a later version.
        case otherVersion
        /// In this line, from 1, the title's.
        case malformed(line: Int)
        /// The file would be larger than this many bytes.
        case full(limit: Int)
    }

    let reason: Reason
    /// The file; nil when there is no place for it.
    public let path: String?
}

extension CredentialStorageError: CustomStringConvertible, LocalizedError {
    /// Names the file, what is wrong with it, and what to do; never what is in it.
    public var description: String {
        let file = path ?? "the file of credentials"
        let text =
            switch reason {
            case .homeless:
                "there is no place for a file of credentials: set XDG_DATA_HOME or HOME, or name a folder in "
                    + "URLCredentialStorage(directory:)"
            case .folder(let error): error.description
            case .otherVersion: "\(file): not a file of credentials that this version reads: move it away"
            case .malformed(let line): "\(file): line \(line) is not as it was written: move the file away"
            case .full(let limit): "\(file): would be larger than \(limit) bytes: remove credentials from it"
            }
        return visibleText(text)
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
}
