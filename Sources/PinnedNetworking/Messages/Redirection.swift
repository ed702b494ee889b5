import HTTPMessages

/// What follows from a redirect (RFC 9110, section 15.4).
enum Redirection {
    /// The most redirects in a row; curl allows 30, Apple and browsers 20.
    static let limit = 20
    /// The most bytes of a Location; browsers allow more, servers write less.
    static let locationLimit = 16 * 1024

    /// The request that a response asks for, or nil when it is no redirect and stands as the answer.
    ///
    /// `request` is the one that was answered, at `target`, and never an earlier one: what it lost on its way to another
    /// origin does not come back when a later redirect returns. `count` redirects were followed before.
    static func request(
        after request: URLRequest, to target: RequestTarget, answer head: HTTPResponseHead, count: Int
    ) throws(RedirectionError) -> URLRequest? {
        guard [301, 302, 303, 307, 308].contains(head.statusCode), let location = try location(in: head) else {
            return nil
        }
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
        let origin = try origin(of: next, location: location)
        guard origin.scheme == .https || target.origin.scheme == .http else { throw .downgrade(HTTPExcerpt(location)) }
        let staysWithin = origin == target.origin
        if !staysWithin {
            // Whoever was asked first would decide who else reads it.
            guard next.content == nil else { throw .bodyToOtherOrigin(HTTPExcerpt(origin.description)) }
            next.removeFields { field in credentialNames.contains { field.isNamed($0) } }
        }
        next.url = next.url.flatMap { url in
            var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
            // A login in a Location is the server's word, and no credential.
            components?.percentEncodedUser = staysWithin ? target.url.user() : nil
            components?.percentEncodedPassword = staysWithin ? target.url.password() : nil
            // RFC 9110, section 10.2.2.
            if url.fragment() == nil { components?.percentEncodedFragment = target.url.fragment() }
            return components?.url
        }
        guard next.url != nil else { throw .malformedLocation(HTTPExcerpt(location)) }
        return next
    }

    private static let credentialNames = ["Authorization", "Cookie", "Proxy-Authorization"]

    /// Fields that say something about a body (RFC 9110, section 15.4, where methods change).
    private static func describesContent(_ field: HTTPField) -> Bool {
        HTTPField.foldedName(field.name).hasPrefix("content-") || field.isNamed("Digest")
            || field.isNamed("Last-Modified")
    }

    /// The one Location; nil when there is none, or an empty one.
    private static func location(in head: HTTPResponseHead) throws(RedirectionError) -> String? {
        let values = head.fields.filter { $0.isNamed("Location") }.map(\.value)
        guard let location = values.first else { return nil }
        guard location.utf8.count <= locationLimit else { throw .longLocation(limit: locationLimit) }
        guard values.allSatisfy({ $0.utf8.elementsEqual(location.utf8) }) else {
            throw .differingLocations(values.count)
        }
        // Some readers take a backslash for a slash, and a tab for nothing. Spaces and letters beyond ASCII have one
        // reading: they are percent-encoded.
        guard location.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
            throw .malformedLocation(HTTPExcerpt(location))
        }
        return location.isEmpty ? nil : location
    }

    private static func origin(of request: URLRequest, location: String) throws(RedirectionError) -> HTTPOrigin {
        do throws(RequestTargetError) {
            return try RequestTarget(request).origin
        } catch .unsupportedScheme(let scheme) {
            throw .unsupportedScheme(HTTPExcerpt(scheme))
        } catch {
            throw .malformedLocation(HTTPExcerpt(location))
        }
    }
}

/// Why a redirect is not followed.
enum RedirectionError: Error, Hashable {
    /// More in a row than this.
    case tooMany(limit: Int)
    /// From `https` to `http`.
    case downgrade(HTTPExcerpt)
    case unsupportedScheme(HTTPExcerpt)
    case malformedLocation(HTTPExcerpt)
    /// More bytes than this.
    case longLocation(limit: Int)
    /// This many Location fields, and not all the same.
    case differingLocations(Int)
    /// The request's body would go to another server than the one it was meant for.
    case bodyToOtherOrigin(HTTPExcerpt)

    /// The code of the `URLError` that the request ends with.
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
            case .tooMany(let limit): "it is one more than \(limit) in a row; ask whoever runs the server"
            case .downgrade(let location): "it leads from https to \(location); request that yourself if it is meant"
            case .unsupportedScheme(let scheme): "its scheme \(scheme) is not supported; ask whoever runs the server"
            case .malformedLocation(let location): "its Location \(location) is no URL; ask whoever runs the server"
            case .longLocation(let limit):
                "its Location is longer than \(limit) bytes; ask whoever runs the server"
            case .differingLocations(let count):
                "it has \(count) Location fields that differ; ask whoever runs the server"
            case .bodyToOtherOrigin(let origin):
                "the body would go to \(origin), another server; send the request there yourself if it is meant"
            }
        return "the redirect was not followed: \(reason)"
    }
}
