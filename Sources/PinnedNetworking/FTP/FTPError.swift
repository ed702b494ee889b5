import CertificateTrust

/// Why a file does not come by FTP.
enum FTPError: Error, Hashable {
    /// Plain FTP to a host whose pins could not be looked at.
    case pinnedCleartext(ServerName)
    /// A proxy reaches the host that cannot carry FTP.
    case noProxy
    /// What the server says cannot be read, or nothing more comes.
    case malformedReply(String)
    /// A reply that the command does not have; the server's words.
    case unexpectedReply(String)
    /// There is no such file, or nobody may read it; the server's words.
    case noFile(String)
    /// The server named an address for the file that is not the one it was reached at (CVE-2020-8284).
    case otherAddress(named: String, reached: String)
    /// Nobody had a login that the server takes.
    case loginRefused
    /// A delegate cancelled the challenge.
    case cancelled
    /// A user or password has a control character.
    case unusableLogin
    /// The server will not have the file's connection in TLS; its words.
    case unprotectedData(String)
    /// Fewer bytes came than the file has, or more, or the server says that the transfer failed.
    case truncated(String)
}

extension FTPError: CustomStringConvertible {
    var description: String {
        switch self {
        case .pinnedCleartext(let name):
            "plain ftp to \(name) is refused: it is pinned, and ftp has no certificate to find the pins on; use ftps"
        case .noProxy: "FTP does not go through this proxy: use ftp through an HTTP proxy, or exclude the host from it"
        case .malformedReply(let reason): "the server does not speak FTP: \(reason); check its port"
        case .unexpectedReply(let words): "the FTP server says \(visibleText(words)): ask whoever runs it"
        case .noFile(let words): "the FTP server has no such file to read: \(visibleText(words)); check the path"
        case .otherAddress(let named, let reached):
            "the FTP server was reached at \(reached) and names \(named) for the file: "
                + "have it allow EPSV, or name its own address"
        case .loginRefused: "the FTP server wants a login: answer its challenge, or name a user in the URL"
        case .cancelled: "a delegate cancelled the FTP server's challenge: look in the delegate for why"
        case .unusableLogin: "a user name or password has a control character: leave it out"
        case .unprotectedData(let words):
            "the FTP server does not protect the file's connection: \(visibleText(words)); have it allow PROT P"
        case .truncated(let reason): "the file did not come whole: \(reason); discard it and try again"
        }
    }
}

extension URLError.Code {
    init(_ reason: FTPError) {
        switch reason {
        case .pinnedCleartext: self = .appTransportSecurityRequiresSecureConnection
        case .noProxy: self = .unsupportedURL
        case .malformedReply, .unexpectedReply, .otherAddress: self = .badServerResponse
        case .noFile: self = .fileDoesNotExist
        case .loginRefused, .unusableLogin: self = .userAuthenticationRequired
        case .cancelled: self = .cancelled
        case .unprotectedData: self = .secureConnectionFailed
        case .truncated: self = .networkConnectionLost
        }
    }
}
