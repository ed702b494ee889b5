import PinctlHTTPMessages

/// The destination and resource of a request, taken from its URL once. The name that is verified, sent as SNI and sent
/// in the Host field is therefore the same value.
///
/// A class, since each stage of a transfer looks at it.
final class RequestTarget: Sendable {
    /// The URL of the request, absolute.
    let url: URL
    let origin: HTTPOrigin
    let method: String
    /// The path with its query, percent-encoded, for the request line.
    let path: String
    /// The user in the URL, percent-decoded and not empty. It is never sent as a part of the URL.
    let user: String?
    /// The password in the URL, percent-decoded.
    let password: String?
    /// Whether the request opens a WebSocket.
    let isWebSocket: Bool

    /// Creates the target of a request. If `isProxied` is true, a proxy fetches the resource, so `ftp` is also allowed.
    /// If `isWebSocket` is true, so are `ws` and `wss`, which stand for `http` and `https` (RFC 6455, section 3).
    init(
        _ request: borrowing URLRequest, isProxied: Bool = false, isWebSocket: Bool = false
    ) throws(RequestTargetError) {
        guard let url = request.url?.absoluteURL else { throw .noURL }
        try Self.checkAuthority(of: request)
        var schemeName = url.scheme?.lowercased() ?? ""
        if isWebSocket { schemeName = ["ws": "http", "wss": "https"][schemeName] ?? schemeName }
        guard let scheme = HTTPScheme(rawValue: schemeName), isProxied && !isWebSocket || scheme != .ftp else {
            throw .unsupportedScheme(url.scheme ?? "")
        }
        // Percent-decoded and in A-labels, unlike the result of `host()`.
        guard let host = url.host(percentEncoded: false) else { throw .noHost }
        guard let port = UInt16(exactly: url.port ?? Int(scheme.defaultPort)), port > 0 else {
            throw .noPort(url.port ?? 0)
        }
        do throws(ServerNameError) {
            origin = HTTPOrigin(scheme: scheme, name: try ServerName(host), port: port)
        } catch {
            throw .malformedHost(error)
        }
        user = try Self.loginText(url.user(), url.user(percentEncoded: false))
        password = user == nil ? nil : try Self.loginText(url.password(), url.password(percentEncoded: false))
        let path = url.path()
        let query = url.query().map { "?" + $0 } ?? ""
        self.path = (path.isEmpty ? "/" : path) + query
        self.url = url
        self.isWebSocket = isWebSocket
        method = request.httpMethod ?? "GET"
    }

    /// Whether repeating the request has no further effect (RFC 9110, section 9.2.2).
    var isIdempotent: Bool { ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"].contains(method) }

    /// Whether an HTTP proxy has to open a tunnel for the request (RFC 6455, section 4.1).
    var needsTunnel: Bool { origin.scheme == .https || isWebSocket }

    var name: ServerName { origin.name }
    var port: UInt16 { origin.port }

    /// Throws if the authority of a request's URL was written with a backslash. `URL` escapes the backslash, and the
    /// part before it becomes a user. Browsers and many servers read it as a slash, and the part before it becomes the
    /// host.
    static func checkAuthority(of request: URLRequest) throws(RequestTargetError) {
        guard let url = request.url else { return }
        try checkAuthority(of: url)
        if let base = url.baseURL { try checkAuthority(of: base) }
    }

    private static func checkAuthority(of url: URL) throws(RequestTargetError) {
        // Nearly every URL has no backslash, escaped or not.
        guard mayHaveBackslash(url.relativeString.utf8.span) else { return }
        // The text as written. Every other property is escaped.
        let text = url.dataRepresentation
        guard text.contains(backslash) else { return }
        guard let slashes = text.firstRange(of: Array("//".utf8)) else { return }
        let ends = Array("/?#".utf8)
        guard !text[..<slashes.lowerBound].contains(where: ends.contains) else { return }
        // mutant url-backslash: true by RequestTargetTests URLHostTests
        guard !text[slashes.upperBound...].prefix(while: { !ends.contains($0) }).contains(backslash) else {
            throw .backslashInAuthority
        }
    }

    private static let backslash = UInt8(ascii: "\\")

    private static func mayHaveBackslash(_ text: Span<UInt8>) -> Bool {
        var found = false
        for index in text.indices { found = found || text[index] == UInt8(ascii: "%") || text[index] == backslash }
        return found
    }

    /// Returns a decoded user or password, or `nil` if it is empty. Rejects control characters such as line breaks and
    /// NUL, which could inject commands into a protocol.
    static func loginText(_ encoded: String?, _ decoded: String?) throws(RequestTargetError) -> String? {
        guard let encoded, !encoded.isEmpty else { return nil }
        // mutant url-login: true for 2 by RequestTargetTests URLHostTests
        guard let decoded, decoded.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else {
            throw .malformedLogin
        }
        return decoded
    }
}

/// The reason why a request isn't sent at all.
enum RequestTargetError: Error, Hashable {
    case noURL
    case unsupportedScheme(String)
    /// The scheme is `http`, but the host has pins, which can't be compared.
    case pinnedCleartext(ServerName, by: PolicyOwner)
    case noHost
    /// The URL has a backslash in its authority. Some parsers read the part before it as a user, others as the host.
    case backslashInAuthority
    case malformedHost(ServerNameError)
    case noPort(Int)
    /// The user or password of the URL is malformed. Neither is included in the text.
    case malformedLogin
    /// The URL is `ftp` but doesn't name a file. The text is the reason.
    case malformedFTP(String)
}

extension RequestTargetError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noURL: "the request has no URL: give it one"
        case .unsupportedScheme(let scheme): "the scheme \(HTTPExcerpt(scheme)) is not supported: use https"
        case .pinnedCleartext(let name, let owner):
            "a cleartext connection to \(name) is refused, because \(owner.pins) apply to it and it has no certificate: "
                + "use https, or wss for a WebSocket"
        case .noHost: "the URL has no host: write https://host/path"
        case .backslashInAuthority:
            "the URL has a backslash before its path: write / between host and path, and %5C in a user name"
        case .malformedHost(let error): error.description
        case .noPort(let port): "\(port) is not a port: use one from 1 to 65535"
        case .malformedLogin: "the URL's user or password is not UTF-8, or has control characters: remove them"
        case .malformedFTP(let reason): reason
        }
    }
}
