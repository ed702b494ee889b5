import CertificateTrust
import PinctlBasics

/// An error in an FTP download.
enum FTPError: Error, Hashable {
    /// Plain FTP to a pinned host, which has no certificate to check the pins against.
    case pinnedCleartext(ServerName, by: PolicyOwner)
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
        case .pinnedCleartext(let name, let owner):
            "plain ftp to \(name) is rejected because \(owner.pins) apply to the host and ftp has no certificate: "
                + "use ftps"
        case .noProxy: "this proxy does not support FTP: use an HTTP proxy for ftp, or exclude the host from the proxy"
        case .malformedReply(let reason): "malformed FTP reply (\(reason)): check the port"
        case .unexpectedReply(let words): "unexpected FTP reply (\(visibleText(words))): contact the server's operator"
        case .noFile(let words): "the FTP server has no such file (\(visibleText(words))): check the path"
        case .otherAddress(let named, let reached):
            "the FTP server at \(reached) names another address for the file, \(named): "
                + "configure it to allow EPSV, or to name its own address"
        case .loginRefused: "the FTP server requires a login: answer its challenge, or put a user into the URL"
        case .cancelled: "a delegate cancelled the FTP server's challenge: check the delegate for the reason"
        case .unusableLogin: "the user name or password has a control character: remove it"
        case .unprotectedData(let words):
            "the FTP server refuses TLS for the file (\(visibleText(words))): configure it to allow PROT P"
        case .truncated(let reason): "the file is incomplete (\(reason)): discard it and try again"
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
