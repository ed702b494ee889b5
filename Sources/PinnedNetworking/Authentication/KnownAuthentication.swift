import PinctlHTTPMessages

/// A credential that a protection space has accepted, or is about to receive, and the paths where it applies.
struct KnownAuthentication: Sendable {
    let party: AuthenticationParty
    let space: URLProtectionSpace
    /// The user in the URL when the credential was given. Requests for another user don't use the credential.
    let user: String?
    let credential: URLCredential
    var prepared: PreparedCredential
    /// The prefixes of the paths that belong to the space.
    private(set) var paths: [String] = []

    /// The maximum number of paths. If a space has more directories, the server has to challenge again in some of them.
    static let pathLimit = 32
    /// The maximum size of a path in bytes. Longer paths require a new challenge. The limit bounds the comparisons for
    /// each request, whatever a server sends.
    static let pathSizeLimit = 1_024

    init(
        _ credential: URLCredential, _ prepared: PreparedCredential, in space: URLProtectionSpace,
        for request: AuthenticationRequest
    ) {
        party = request.party
        self.space = space
        user = request.user
        self.credential = credential
        self.prepared = prepared
        for path in prepared.domain.compactMap(party.path).prefix(Self.pathLimit)
        where path.utf8.count <= Self.pathSizeLimit {
            paths.append(path)
        }
    }

    /// Whether the credential can be used for a request: for the same server or proxy, and the same user or none in
    /// both.
    func isFor(_ request: AuthenticationRequest) -> Bool {
        // mutant cached-credential: true for `user == request.user` by AuthenticationCacheTests
        //   AuthenticationExchangeTests
        party == request.party && user == request.user
            && (request.password == nil || request.password == credential.password)
    }

    /// Returns the length in bytes of the longest prefix by which a path belongs to the space, or `nil` if there is
    /// none. A path with dot segments resolves to another path, so it never belongs to the space.
    func coverage(of path: String) -> Int? { Self.hasDotSegment(path) ? nil : coverage(ofPlain: path) }

    /// Returns the same for a path without dot segments.
    func coverage(ofPlain path: String) -> Int? {
        paths.filter { path.utf8.starts(with: $0.utf8) }.map(\.utf8.count).max()
    }

    /// Whether a path has a dot segment, percent-encoded or not. The time is linear.
    static func hasDotSegment(_ path: String) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/")).contains { segment in
            segment.count <= 6 && (segment.first == UInt8(ascii: ".") || segment.first == UInt8(ascii: "%"))
                && dotSegments.contains(HTTPField.foldedName(String(Substring(segment))))
        }
    }

    private static let dotSegments: Set = [".", "..", "%2e", "%2e.", ".%2e", "%2e%2e"]

    /// Adds the directory of a path, and everything below it, to the space (RFC 7617, section 2.2).
    mutating func learn(_ path: String) {
        guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
        let directory = path[...end]
        // The size first: a long path isn't read.
        guard directory.utf8.count <= Self.pathSizeLimit, coverage(of: path) == nil else { return }
        if paths.count == Self.pathLimit { paths.removeFirst() }
        paths.append(String(directory))
    }

    /// Adds the paths that were known of the same space before.
    mutating func learn(from other: KnownAuthentication) {
        for path in other.paths.reversed() where coverage(of: path) == nil && paths.count < Self.pathLimit {
            paths.insert(path, at: 0)
        }
    }
}
