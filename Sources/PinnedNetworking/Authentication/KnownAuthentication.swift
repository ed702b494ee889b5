import HTTPMessages

/// A credential that a protection space has accepted, or is about to see, and where in it.
struct KnownAuthentication: Sendable {
    let place: AuthenticationPlace
    let space: URLProtectionSpace
    /// The user whom the URL named when the credential was given: a request for another does not get it.
    let user: String?
    let credential: URLCredential
    var prepared: PreparedCredential
    /// Prefixes of the paths that belong to the space.
    private(set) var paths: [String] = []

    /// A server with more directories than this in one space is asked again in some of them.
    static let pathLimit = 32
    /// Bytes of a path. What lies deeper is asked for again: whatever a server names, little is compared with each
    /// request.
    static let pathSizeLimit = 1_024

    init(
        _ credential: URLCredential, _ prepared: PreparedCredential, in space: URLProtectionSpace,
        for request: AuthenticationRequest
    ) {
        place = request.place
        self.space = space
        user = request.user
        self.credential = credential
        self.prepared = prepared
        for path in prepared.domain.compactMap(place.path).prefix(Self.pathLimit)
        where path.utf8.count <= Self.pathSizeLimit {
            paths.append(path)
        }
    }

    /// Whether the credential may answer for a request: at its place, and for the user it names, or for nobody in both.
    func isFor(_ request: AuthenticationRequest) -> Bool {
        place == request.place && user == request.user
            && (request.password == nil || request.password == credential.password)
    }

    /// How many bytes of a path say that it lies in the space; nil when nothing does. A path with dot segments leads
    /// elsewhere than it says, so nothing says it of one.
    func coverage(of path: String) -> Int? { Self.hasDotSegment(path) ? nil : coverage(ofPlain: path) }

    /// The same for a path without dot segments.
    func coverage(ofPlain path: String) -> Int? {
        paths.filter { path.utf8.starts(with: $0.utf8) }.map(\.utf8.count).max()
    }

    /// Whether a path has a segment that means another directory, percent-encoded or not. Looks at each byte once.
    static func hasDotSegment(_ path: String) -> Bool {
        path.utf8.split(separator: UInt8(ascii: "/")).contains { segment in
            segment.count <= 6 && (segment.first == UInt8(ascii: ".") || segment.first == UInt8(ascii: "%"))
                && dotSegments.contains(HTTPField.foldedName(String(Substring(segment))))
        }
    }

    private static let dotSegments: Set = [".", "..", "%2e", "%2e.", ".%2e", "%2e%2e"]

    /// Takes in that the directory of a path lies in the space, with all below it (RFC 7617, section 2.2).
    mutating func learn(_ path: String) {
        guard coverage(of: path) == nil, let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return }
        let directory = path[...end]
        guard directory.utf8.count <= Self.pathSizeLimit else { return }
        if paths.count == Self.pathLimit { paths.removeFirst() }
        paths.append(String(directory))
    }

    /// Takes in what was known of the same space before.
    mutating func learn(from other: KnownAuthentication) {
        for path in other.paths.reversed() where coverage(of: path) == nil && paths.count < Self.pathLimit {
            paths.insert(path, at: 0)
        }
    }
}
