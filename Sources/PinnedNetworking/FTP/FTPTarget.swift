import CertificateTrust
import PinctlHTTPMessages

/// The location of a file to download by FTP, from its URL (RFC 1738, section 3.2).
struct FTPTarget: Sendable {
    /// The way in which the connection gets TLS.
    enum Security: Sendable, Hashable {
        /// No TLS: `ftp`.
        case none
        /// TLS from the first byte: `ftps`.
        case implicit
        /// TLS after a request to the server (AUTH TLS; RFC 4217): `ftpes`.
        case explicit

        init?(scheme: String) {
            switch scheme {
            case "ftp": self = .none
            case "ftps": self = .implicit
            case "ftpes": self = .explicit
            default: return nil
            }
        }

        var defaultPort: UInt16 { self == .implicit ? 990 : 21 }

        /// The protocol of the protection space. It keeps credentials for TLS apart from those sent in cleartext,
        /// because `ftp` and `ftpes` can use the same port.
        var spaceProtocol: String { self == .none ? NSURLProtectionSpaceFTP : URLProtectionSpace.ftps }
    }

    let url: URL
    let security: Security
    let name: ServerName
    let port: UInt16
    /// The argument of RETR. It is relative to the login directory unless it begins with a slash
    /// (`ftp://host/%2Fetc/motd`).
    let path: String
    let user: String?
    let password: String?

    /// Parses the URL of a request. Returns nil for a URL with another scheme.
    init?(_ request: URLRequest) throws(RequestTargetError) {
        guard let url = request.url?.absoluteURL,
            let security = Security(scheme: HTTPField.foldedName(url.scheme ?? ""))
        else { return nil }
        guard ["GET", nil].contains(request.httpMethod), request.httpBody == nil else {
            throw .malformedFTP("FTP supports downloads only: send a GET request without a body")
        }
        try RequestTarget.checkAuthority(of: request)
        guard let host = url.host(percentEncoded: false) else { throw .noHost }
        guard let port = UInt16(exactly: url.port ?? Int(security.defaultPort)), port > 0 else {
            throw .noPort(url.port ?? 0)
        }
        do throws(ServerNameError) { name = try ServerName(host) } catch { throw .malformedHost(error) }
        user = try RequestTarget.loginText(url.user(), url.user(percentEncoded: false))
        password = user == nil ? nil : try RequestTarget.loginText(url.password(), url.password(percentEncoded: false))
        path = try Self.path(of: url)
        self.url = url
        self.security = security
        self.port = port
    }

    /// Returns the path of a URL. A path with control characters is refused, because a line break would start another
    /// command (HA18).
    private static func path(of url: URL) throws(RequestTargetError) -> String {
        var encoded = url.path(percentEncoded: true).dropFirst()
        if let mark = encoded.range(of: ";type=", options: [.caseInsensitive]) {
            guard encoded[mark.upperBound...].lowercased() == "i" else {
                throw .malformedFTP("only ;type=i is supported: remove the type from the URL")
            }
            encoded = encoded[..<mark.lowerBound]
        }
        guard let path = String(encoded).removingPercentEncoding else {
            throw .malformedFTP("the URL's path is not UTF-8: percent-encode it as UTF-8")
        }
        // mutant ftp-injection: true by FTPTests
        guard path.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw .malformedFTP("the URL's path has a control character: remove it")
        }
        guard !path.isEmpty, !path.hasSuffix("/") else {
            throw .malformedFTP("FTP directory listings are not supported: use the URL of a file")
        }
        return path
    }
}
