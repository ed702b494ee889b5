import CertificateTrust
import PinctlHTTPMessages

/// The parts of a request that decide which cookies it carries, and which cookies its response may set.
struct CookieRequest: Sendable {
    /// The document that a request is made for, according to ``URLRequest/mainDocumentURL``.
    private enum Document: Sendable {
        case none
        case site(ServerName, isSecure: Bool)
        /// A document whose URL has no host. It has no site in common with any server.
        case other
    }

    let host: ServerName
    let port: UInt16
    /// The path without the query, percent-encoded.
    let path: String
    /// Whether the request is protected by TLS. The name of the host, such as `localhost`, makes no difference.
    let isSecure: Bool
    private let document: Document

    /// Creates the parts of a request for this target. Returns nil for FTP.
    init?(_ target: RequestTarget, mainDocument: URL? = nil) {
        guard target.origin.scheme != .ftp else { return nil }
        host = target.name
        port = target.port
        path = String(target.path.prefix { $0 != "?" })
        isSecure = target.origin.scheme == .https
        guard let mainDocument else {
            document = .none
            return
        }
        let owner = try? RequestTarget(URLRequest(url: mainDocument))
        document = owner.map { .site($0.name, isSecure: $0.origin.scheme == .https) } ?? .other
    }

    /// Creates the parts of a request for a URL. Returns nil unless the URL is one of a server over `http` or `https`.
    init?(_ url: URL, mainDocument: URL? = nil) {
        guard let target = try? RequestTarget(URLRequest(url: url)) else { return nil }
        self.init(target, mainDocument: mainDocument)
    }

    /// Whether the request is made for a document.
    var hasDocument: Bool { if case .none = document { false } else { true } }

    /// Returns whether the request is made for a document of the same site, with the same scheme, or for none
    /// (RFC 6265bis, section 5.2).
    func isSameSite(_ suffixes: PublicSuffixes) -> Bool {
        switch document {
        case .none: true
        case .site(let name, let isSecure):
            isSecure == self.isSecure && (name == host || suffixes.site(of: name) == suffixes.site(of: host))
        case .other: false
        }
    }

    /// Returns whether the host of the document, if any, is on the same site. The scheme makes no difference.
    func isFirstParty(_ suffixes: PublicSuffixes) -> Bool {
        switch document {
        case .none: true
        case .site(let name, _): name == host || suffixes.site(of: name) == suffixes.site(of: host)
        case .other: false
        }
    }

    /// The path of a cookie without a `Path`: everything before the last slash (RFC 6265bis, section 5.1.4).
    var defaultPath: String {
        guard let slash = path.lastIndex(of: "/"), slash != path.startIndex, path.hasPrefix("/") else { return "/" }
        return String(path[..<slash])
    }
}

/// The rules by which paths match (RFC 6265bis, section 5.1.4).
enum CookiePath {
    /// Returns whether a request for `path` carries cookies of `cookiePath`. All bytes are compared as they are.
    static func matches(_ path: String, _ cookiePath: String) -> Bool {
        let path = path.utf8
        let prefix = cookiePath.utf8
        guard path.starts(with: prefix) else { return false }
        return path.count == prefix.count || prefix.last == UInt8(ascii: "/")
            || path.dropFirst(prefix.count).first == UInt8(ascii: "/")
    }
}

extension ServerName {
    /// The domains above a DNS name, from the longest one. An address has none.
    var parents: [ServerName] {
        labels.indices.dropFirst().compactMap { try? ServerName(labels[$0...].joined(separator: ".")) }
    }

    /// The last two labels of a DNS name. An address, and a name with fewer labels, unchanged.
    var lastTwoLabels: ServerName { parents.dropLast().last ?? self }

    /// Whether the name is `domain` or a subdomain of it (RFC 6265bis, section 5.1.3).
    func matches(domain: ServerName) -> Bool { self == domain || isSubdomain(of: domain) }
}

extension PublicSuffixes {
    /// Returns the public suffix of a name with one more label, which is the largest domain of one owner. A suffix, an
    /// address, and any name if there is no list are sites of their own.
    func site(of name: ServerName) -> ServerName {
        guard isKnown, !contains(name) else { return name }
        var site = name
        for parent in name.parents {
            if contains(parent) { break }
            site = parent
        }
        return site
    }
}
