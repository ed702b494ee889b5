import PinctlHTTPMessages

/// The rules for following a redirect (RFC 9110, section 15.4).
enum Redirection {
    /// The most redirects in a row. curl allows 30, Apple and browsers 20.
    static let limit = 20
    /// The longest Location, in bytes. Browsers allow more, but servers send less.
    static let locationLimit = 16 * 1024

    /// Returns the request that a redirect leads to, or nil if the response isn't a redirect and is the final answer.
    ///
    /// `request` is the one that was answered, at `target`, and not an earlier one. Fields that were removed for
    /// another origin therefore don't return if a later redirect leads back. `count` is the number of redirects
    /// followed before.
    static func request(
        after request: URLRequest, to target: RequestTarget, answer head: HTTPResponseHead, count: Int
    ) throws(RedirectionError) -> URLRequest? {
        guard isRedirect(head.statusCode), let location = try location(in: head) else {
            return nil
        }
        // mutant redirect-count: true by RedirectionTests
        guard count < limit else { throw .tooMany(limit: limit) }

        var next = request
        if head.statusCode == 303 && target.method != "HEAD"
            || [301, 302].contains(head.statusCode) && target.method == "POST"
        {
            next.httpMethod = "GET"
            next.content = nil
            next.removeFields { describesContent($0) }
        }

        next.url = URL(string: location, relativeTo: target.url)?.absoluteURL
        let origin = try origin(of: next, location: location, isWebSocket: target.isWebSocket)
        // mutant redirect-downgrade: true by RedirectionTests
        guard origin.scheme == .https || target.origin.scheme == .http else { throw .downgrade(HTTPExcerpt(location)) }
        // mutant redirect-origin: origin.name == target.origin.name by RedirectionTests
        let staysWithin = origin == target.origin
        if !staysWithin {
            // Otherwise the first server would decide who else receives the body.
            // mutant redirect-body: true by RedirectionTests
            guard next.content == nil else { throw .bodyToOtherOrigin(HTTPExcerpt(origin.description)) }
            // mutant redirect-credentials: {} by RedirectionTests
            next.removeFields { field in boundNames.contains { field.isNamed($0) } }
        }
        next.url = next.url.flatMap { url in
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
            // A login in a Location comes from the server and isn't used as a credential.
            // mutant redirect-login: true for `staysWithin` by RedirectionTests
            components?.percentEncodedUser = staysWithin ? target.url.user() : nil
            components?.percentEncodedPassword = staysWithin ? target.url.password() : nil
            // The fragment is inherited (RFC 9110, section 10.2.2).
            if url.fragment() == nil { components?.percentEncodedFragment = target.url.fragment() }
            return components?.url
        }
        // mutant redirect-referer: { next.setValue(request.url?.absoluteString, forHTTPHeaderField: "Referer") } by
        //   RedirectionTests/referer
        guard next.url != nil else { throw .malformedLocation(HTTPExcerpt(location)) }
        return next
    }

    static func isRedirect(_ statusCode: Int) -> Bool { [301, 302, 303, 307, 308].contains(statusCode) }

    /// Fields that are for one server.
    private static let boundNames = [
        "Authorization", "Cookie", "Host", "Proxy-Authorization", "Sec-WebSocket-Protocol",
    ]

    /// Returns whether a field describes a body (RFC 9110, section 15.4, on changing the method).
    private static func describesContent(_ field: HTTPField) -> Bool {
        HTTPField.foldedName(field.name).hasPrefix("content-") || field.isNamed("Digest")
            || field.isNamed("Last-Modified")
    }

    /// Returns the value of Location, or nil if it is missing or empty. Throws if several fields differ.
    private static func location(in head: HTTPResponseHead) throws(RedirectionError) -> String? {
        let values = head.fields.filter { $0.isNamed("Location") }.map(\.value)
        guard let location = values.first else { return nil }
        // mutant redirect-length: true by RedirectionTests
        guard location.utf8.count <= locationLimit else { throw .longLocation(limit: locationLimit) }
        // mutant redirect-locations: true by RedirectionTests
        guard values.allSatisfy({ $0.utf8.elementsEqual(location.utf8) }) else {
            throw .differingLocations(values.count)
        }
        // Some parsers treat a backslash as a slash, and ignore a tab. Spaces and letters beyond ASCII have only one
        // interpretation and are percent-encoded.
        guard location.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw .malformedLocation(HTTPExcerpt(location))
        }
        return location.isEmpty ? nil : location
    }

    private static func origin(
        of request: URLRequest, location: String, isWebSocket: Bool
    ) throws(RedirectionError) -> HTTPOrigin {
        do throws(RequestTargetError) {
            return try RequestTarget(request, isWebSocket: isWebSocket).origin
        } catch .unsupportedScheme(let scheme) {
            throw .unsupportedScheme(HTTPExcerpt(scheme))
        } catch {
            throw .malformedLocation(HTTPExcerpt(location))
        }
    }
}

/// The reason why a redirect isn't followed.
enum RedirectionError: Error, Hashable {
    /// More than this many redirects in a row.
    case tooMany(limit: Int)
    /// A redirect from `https` to `http`.
    case downgrade(HTTPExcerpt)
    case unsupportedScheme(HTTPExcerpt)
    case malformedLocation(HTTPExcerpt)
    /// A Location with more than this many bytes.
    case longLocation(limit: Int)
    /// This many Location fields, which aren't all the same.
    case differingLocations(Int)
    /// The request's body would go to another server than the intended one.
    case bodyToOtherOrigin(HTTPExcerpt)

    /// The code of the `URLError` that ends the request.
    var code: URLError.Code {
        switch self {
        case .tooMany: .httpTooManyRedirects
        case .downgrade: .appTransportSecurityRequiresSecureConnection
        case .unsupportedScheme: .unsupportedURL
        case .malformedLocation, .longLocation, .differingLocations: .badServerResponse
        case .bodyToOtherOrigin: .redirectToNonExistentLocation
        }
    }
}

extension RedirectionError: CustomStringConvertible {
    var description: String {
        let reason =
            switch self {
            case .tooMany(let limit): "(too many redirects, more than \(limit) in a row): contact the server's operator"
            case .downgrade(let location): "(from https to \(location)): request that URL yourself if this is intended"
            case .unsupportedScheme(let scheme): "(unsupported scheme \(scheme)): contact the server's operator"
            case .malformedLocation(let location): "(Location \(location) is not a URL): contact the server's operator"
            case .longLocation(let limit):
                "(Location is longer than \(limit) bytes): contact the server's operator"
            case .differingLocations(let count):
                "(\(count) Location fields that differ): contact the server's operator"
            case .bodyToOtherOrigin(let origin):
                "(the body would go to another server, \(origin)): send the request there yourself if this is intended"
            }
        return "the redirect was not followed \(reason)"
    }
}
