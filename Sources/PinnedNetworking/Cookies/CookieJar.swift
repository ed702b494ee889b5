import CertificateTrust

/// The cookies of a storage, as a value: RFC 6265bis, sections 5.7 (which cookies are stored) and 5.8 (which are sent).
///
/// The time is a parameter. Nothing here waits for anything.
struct CookieJar: Sendable {
    /// A stored cookie.
    struct Entry: Sendable {
        let cookie: HTTPCookie
        /// The time when the cookie was set last.
        let stored: Date
        /// The position in the order of creation. A cookie that replaces another one keeps its position.
        let order: Int
        /// The position in the order of use.
        var use: Int
        /// Whether the storage's file has the cookie.
        var isSaved = false

        func isExpired(at now: Date) -> Bool { cookie.expiresDate.map { $0 <= now } ?? false }
    }

    /// The most cookies of one domain (RFC 6265bis, section 6.1, asks for at least 50).
    static let domainLimit = 50
    /// The most cookies of one site, which is a public suffix with one more label, when servers set them. Chromium has
    /// the same limit. Otherwise the subdomains of one site could displace the cookies of all others.
    static let siteLimit = 180
    /// The most cookies (RFC 6265bis, section 6.1, asks for at least 3000).
    static let limit = 3000
    /// The most cookies in one request. curl has the same limit.
    static let requestLimit = 150
    /// The most bytes of cookies in one request. curl has the same limit, and many servers refuse longer fields.
    static let requestByteLimit = 8190

    /// The cookies by host.
    private var hosts: [ServerName: [Entry]] = [:]
    private(set) var count = 0
    private var clock = 0

    /// All cookies, in the order in which they were created.
    var entries: [Entry] { hosts.values.joined().sorted { $0.order < $1.order } }

    // MARK: Storing

    /// Stores a cookie of the program and replaces one with the same name, host and path. One that has expired only
    /// removes the other one. Returns whether anything changed.
    @discardableResult
    mutating func store(_ cookie: HTTPCookie, at now: Date) -> Bool {
        defer { if count > Self.limit { evict(at: now) } }
        return insert(cookie, at: now, isSaved: false)
    }

    private mutating func insert(_ cookie: HTTPCookie, at now: Date, isSaved: Bool) -> Bool {
        let host = cookie.content.host
        var entries = hosts.removeValue(forKey: host) ?? []
        let count = entries.count
        let old = entries.firstIndex { $0.cookie.hasSameIdentity(as: cookie) }.map { entries.remove(at: $0) }
        let tick = nextTick()
        let new = Entry(cookie: cookie, stored: now, order: old?.order ?? tick, use: tick, isSaved: isSaved)
        let isKept = !new.isExpired(at: now)
        if isKept { entries.append(new) }
        // mutant cookie-count: false by CookieAttackTests CookieJarTests
        if entries.count > Self.domainLimit {
            entries.removeAll { $0.isExpired(at: now) }
            while entries.count > Self.domainLimit, let victim = Self.victim(among: entries) {
                entries.remove(at: victim)
            }
        }
        if !entries.isEmpty { hosts[host] = entries }
        self.count += entries.count - count
        return isKept || old != nil
    }

    /// Stores a cookie of a response, if the request and the cookies of secure connections allow it.
    ///
    /// Without TLS, no cookie can replace or hide one that only TLS may carry (RFC 6265bis, section 5.7, step 16).
    @discardableResult
    mutating func store(
        _ cookie: HTTPCookie, from request: CookieRequest, _ suffixes: PublicSuffixes, at now: Date
    ) -> Bool {
        // mutant cookie-same-site-set: true by CookieAttackTests CookieStorageTests
        guard cookie.content.sameSite == .unrestricted || !request.hasDocument || request.isSameSite(suffixes) else {
            return false
        }
        // mutant cookie-cleartext-replaces: true by CookieAttackTests CookieStorageTests
        guard request.isSecure || !isProtected(cookie) else { return false }
        defer { limitSite(of: cookie.content.host, suffixes) }
        return store(cookie, at: now)
    }

    /// Removes the cookies of a site that were used least recently, if it has too many.
    private mutating func limitSite(of host: ServerName, _ suffixes: PublicSuffixes) {
        // Without a list of public suffixes, the last two labels stand for the site.
        let site = suffixes.isKnown ? suffixes.site(of: host) : host.lastTwoLabels
        var uses = hosts.filter { $0.key.matches(domain: site) }.values.joined().map(\.use)
        guard uses.count > Self.siteLimit else { return }
        uses.sort()
        let oldest = Set(uses.prefix(uses.count - Self.siteLimit))
        _ = remove { oldest.contains($0.use) }
    }

    private func isProtected(_ new: HTTPCookie) -> Bool {
        hosts.contains { host, entries in
            guard host.matches(domain: new.content.host) || new.content.host.matches(domain: host) else { return false }
            return entries.contains { entry in
                entry.cookie.isSecure && entry.cookie.content.name == new.content.name
                    && CookiePath.matches(new.path, entry.cookie.path)
            }
        }
    }

    /// Removes cookies, and returns whether there were any.
    mutating func remove(where isUnwanted: (Entry) -> Bool) -> Bool {
        let before = count
        for (host, entries) in hosts {
            let kept = entries.filter { !isUnwanted($0) }
            guard kept.count < entries.count else { continue }
            hosts[host] = kept.isEmpty ? nil : kept
            count -= entries.count - kept.count
        }
        return count < before
    }

    /// Removes the cookies that have expired.
    mutating func removeExpired(at now: Date) { _ = remove { $0.isExpired(at: now) } }

    /// Removes cookies until the limit is kept: those that have expired, and then those that were used least recently.
    /// No domain has more than its own limit, which would come first.
    private mutating func evict(at now: Date) {
        removeExpired(at: now)
        guard count > Self.limit else { return }
        let oldest = Set(hosts.values.joined().map(\.use).sorted().prefix(count - Self.limit))
        _ = remove { oldest.contains($0.use) }
    }

    /// Returns the cookie of a full domain to remove: one that isn't secure if there is one, of these the one that was
    /// used least recently.
    private static func victim(among entries: [Entry]) -> Int? {
        entries.indices.min { left, right in
            let (left, right) = (entries[left], entries[right])
            return left.cookie.isSecure == right.cookie.isSecure
                ? left.use < right.use : !left.cookie.isSecure
        }
    }

    private mutating func nextTick() -> Int {
        clock += 1
        return clock
    }

    // MARK: Sending

    /// Returns the cookies that a request carries, longer paths first, and older cookies first among paths of one
    /// length.
    mutating func cookies(for request: CookieRequest, _ suffixes: PublicSuffixes, at now: Date) -> [HTTPCookie] {
        var found: [Entry] = []
        var isSameSite: Bool?
        for (host, isExact) in Self.domains(of: request.host) {
            guard var entries = hosts[host] else { continue }
            for index in entries.indices {
                let entry = entries[index]
                // mutant cookie-host-only: true for 1 by CookieAttackTests CookieStorageTests CookieJarTests
                guard isExact || !entry.cookie.content.isHostOnly, !entry.isExpired(at: now),
                    entry.cookie.matches(request)
                else { continue }
                if request.hasDocument, entry.cookie.content.sameSite != .unrestricted {
                    let known = isSameSite ?? request.isSameSite(suffixes)
                    isSameSite = known
                    // mutant cookie-same-site: true by CookieAttackTests CookieStorageTests
                    guard known else { continue }
                }
                entries[index].use = nextTick()
                found.append(entry)
            }
            hosts[host] = entries
        }
        found.sort { left, right in
            let (leftCount, rightCount) = (left.cookie.path.utf8.count, right.cookie.path.utf8.count)
            return leftCount == rightCount ? left.order < right.order : leftCount > rightCount
        }
        return Self.limited(found.map(\.cookie))
    }

    /// The host and the domains above it, from the longest one.
    private static func domains(of host: ServerName) -> [(ServerName, isExact: Bool)] {
        [(host, true)] + host.parents.map { ($0, false) }
    }

    /// Returns the cookies that fit into a request.
    private static func limited(_ cookies: [HTTPCookie]) -> [HTTPCookie] {
        var size = 0
        return Array(
            cookies.prefix(requestLimit).prefix { cookie in
                size += cookie.content.name.count + cookie.content.value.count + 3
                return size <= requestByteLimit
            })
    }

    // MARK: The storage's file

    /// The cookies that last longer than the session.
    var persistent: [Entry] { entries.filter { $0.cookie.expiresDate != nil && !$0.cookie.isSessionOnly } }

    /// Marks the persistent cookies as contained in the file.
    mutating func markSaved() {
        for (host, entries) in hosts {
            hosts[host] = entries.map { entry in
                var entry = entry
                entry.isSaved = entry.cookie.expiresDate != nil && !entry.cookie.isSessionOnly
                return entry
            }
        }
    }

    /// Replaces the cookies that the file had by those that it has now. Cookies that it never had stay.
    mutating func replaceSaved(with saved: [SavedCookies.Cookie], at now: Date) {
        _ = remove { $0.isSaved }
        let own = persistent
        for saved in saved where !own.contains(where: { $0.cookie.hasSameIdentity(as: saved.cookie) }) {
            _ = insert(saved.cookie, at: saved.stored, isSaved: true)
        }
        removeExpired(at: now)
        if count > Self.limit { evict(at: now) }
    }
}

extension HTTPCookie {
    /// Whether one cookie replaces the other: name, domain and path are the same.
    func hasSameIdentity(as other: HTTPCookie) -> Bool {
        let (own, other) = (content, other.content)
        return own.host == other.host && own.isHostOnly == other.isHostOnly && own.name == other.name
            && own.path.utf8.elementsEqual(other.path.utf8)
    }

    /// Whether a request to the cookie's host carries it, considering its path, its port and TLS.
    fileprivate func matches(_ request: CookieRequest) -> Bool {
        // mutant cookie-secure: true for `request.isSecure || !isSecure` by CookieAttackTests CookieStorageTests
        // mutant cookie-path: true for `CookiePath.matches(request.path, path)` by CookieAttackTests CookieStorageTests
        //   CookieParsingTests
        CookiePath.matches(request.path, path) && (request.isSecure || !isSecure)
            && content.ports?.contains(request.port) ?? true
    }
}
