import Basics
import CertificateTrust

/// An error in an FTP download.
enum FTPError: Error, Hashable {
    /// Plain FTP to a pinned host, which has no certificate to check the pins against.
    case pinnedCleartext(ServerName)
    /// The host is reached through a proxy that can't carry FTP.
    case noProxy
    /// The server's reply can't be parsed, or the server closed the connection.
    case malformedReply(String)
    /// A reply that isn't allowed for the command. The text is the server's.
    case unexpectedReply(String)
    /// The file doesn't exist or can't be read. The text is the server's.
    case noFile(String)
    /// The server named another address for the file than the one it was reached at (CVE-2020-8284).
    case otherAddress(named: String, reached: String)
    /// No login that the server accepts is available.
    case loginRefused
    /// A delegate cancelled the challenge.
    case cancelled
    /// The user is empty, or the user or password has a control character.
    case unusableLogin
    /// The server refuses TLS for the file's connection. The text is the server's.
    case unprotectedData(String)
    /// Fewer or more bytes arrived than the file has, or the server reported that the transfer failed.
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
