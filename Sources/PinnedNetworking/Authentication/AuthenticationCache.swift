import CertificateTrust

/// What a session knows of the protection spaces that accepted a credential, shared by all of its tasks.
///
/// Each server and each proxy has room of its own: whatever one of them sends, nothing known of another is forgotten.
/// A credential of persistence `.none` is never put here.
final class AuthenticationCache: Sendable {
    /// Servers and proxies that are remembered; the one that was used longest ago makes room.
    static let placeLimit = 256
    /// Spaces of one place; the oldest makes room.
    static let spaceLimit = 32
    /// Nonces of one place; the one that was used longest ago makes room.
    static let nonceLimit = 128

    private struct Nonce {
        var count: UInt32
        var lastUse: UInt64
    }

    private struct Entry {
        /// Oldest first.
        var known: [KnownAuthentication] = []
        var nonces: [[UInt8]: Nonce] = [:]
        var lastUse: UInt64 = 0

        func index(of known: KnownAuthentication) -> Int? {
            self.known.firstIndex { $0.user == known.user && $0.space == known.space }
        }
    }

    private struct State {
        var entries: [AuthenticationPlace: Entry] = [:]
        /// Counts what is noted, as a clock.
        var now: UInt64 = 0

        /// Changes the entry of a place, which is made where it is missing.
        mutating func change<Result>(_ place: AuthenticationPlace, _ body: (inout Entry, UInt64) -> Result) -> Result {
            now += 1
            if entries[place] == nil, entries.count >= AuthenticationCache.placeLimit,
                let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
            {
                entries[oldest] = nil
            }
            entries[place, default: Entry()].lastUse = now
            return body(&entries[place, default: Entry()], now)
        }
    }

    private let state = Locked(State())

    /// Whether nothing is known, so that nothing is to be sent ahead.
    var isEmpty: Bool { state.withLock { $0.entries.values.allSatisfy(\.known.isEmpty) } }

    /// Forgets every credential. Nonces keep their counts, since a server may give one again.
    func removeAll() {
        state.withLock { state in
            for place in state.entries.keys { state.entries[place]?.known = [] }
        }
    }

    /// What to send with a request before it is asked for: that of the space in whose paths it lies deepest.
    func authentication(ahead request: AuthenticationRequest) -> KnownAuthentication? {
        let known = known(at: request.place).filter { $0.isFor(request) }
        guard !known.isEmpty else { return nil }
        let path = request.path
        guard !KnownAuthentication.hasDotSegment(path) else { return nil }
        return known.compactMap { known in known.coverage(ofPlain: path).map { (known: known, depth: $0) } }
            .max { $0.depth < $1.depth }?.known
    }

    /// What a space has accepted before: the pages of one realm share a credential.
    func authentication(for request: AuthenticationRequest, in space: URLProtectionSpace) -> KnownAuthentication? {
        known(at: request.place).first { $0.isFor(request) && $0.space == space }
    }

    private func known(at place: AuthenticationPlace) -> [KnownAuthentication] {
        state.withLock { $0.entries[place]?.known ?? [] }
    }

    /// Notes that a space accepted a credential. `isNewer` says that what is prepared answers a newer challenge, or a
    /// newer nonce, than what may be known already.
    func note(_ known: KnownAuthentication, isNewer: Bool) {
        state.withLock { state in
            state.change(known.place) { entry, _ in
                var known = known
                if let index = entry.index(of: known) {
                    let before = entry.known.remove(at: index)
                    if before.credential == known.credential {
                        if !isNewer { known.prepared = before.prepared }
                        known.learn(from: before)
                    }
                }
                entry.known.append(known)
                if entry.known.count > Self.spaceLimit { entry.known.removeFirst() }
            }
        }
    }

    /// Forgets a credential that was refused, unless the space knows another by now.
    func forget(_ known: KnownAuthentication) {
        state.withLock { state in
            guard let entry = state.entries[known.place], let index = entry.index(of: known),
                entry.known[index].credential == known.credential
            else { return }
            state.entries[known.place]?.known.remove(at: index)
        }
    }

    /// How often a nonce was used at a place, this time included: 1 at first, and never the same again (RFC 7616,
    /// section 3.4, `nc`), however many requests go on at once.
    func nextCount(of nonce: [UInt8], at place: AuthenticationPlace) -> UInt32 {
        state.withLock { state in
            state.change(place) { entry, now in
                let count = (entry.nonces[nonce]?.count ?? 0) &+ 1
                entry.nonces[nonce] = Nonce(count: count, lastUse: now)
                if entry.nonces.count > Self.nonceLimit,
                    let oldest = entry.nonces.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
                {
                    entry.nonces[oldest] = nil
                }
                return count
            }
        }
    }
}
