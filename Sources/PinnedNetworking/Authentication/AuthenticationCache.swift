import CertificateTrust
import PinctlBasics

/// The accepted credentials of a session by protection space, shared by all of its tasks.
///
/// Each server and each proxy has its own limits, so nothing that one of them sends can remove the entries of another.
/// A credential of persistence `.none` is never stored here.
final class AuthenticationCache: Sendable {
    /// The maximum number of servers and proxies. The least recently used one is removed.
    static let partyLimit = 256
    /// The maximum number of spaces for one server or proxy. The oldest one is removed.
    static let spaceLimit = 32
    /// The maximum number of nonces for one server or proxy. The least recently used one is removed.
    static let nonceLimit = 128

    private struct Nonce {
        var count: UInt32
        var lastUse: UInt64
    }

    private struct Entry {
        /// The accepted credentials, oldest first.
        var known: [KnownAuthentication] = []
        var nonces: [[UInt8]: Nonce] = [:]
        var lastUse: UInt64 = 0

        func index(of known: KnownAuthentication) -> Int? {
            self.known.firstIndex { $0.user == known.user && $0.space == known.space }
        }
    }

    private struct State {
        var entries: [AuthenticationParty: Entry] = [:]
        /// A counter of changes, used as a clock.
        var now: UInt64 = 0

        /// Changes the entry of a server or proxy. Creates the entry if it is missing.
        mutating func change<Result>(_ party: AuthenticationParty, _ body: (inout Entry, UInt64) -> Result) -> Result {
            now += 1
            if entries[party] == nil, entries.count >= AuthenticationCache.partyLimit,
                let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })?.key
            {
                entries[oldest] = nil
            }
            entries[party, default: Entry()].lastUse = now
            return body(&entries[party, default: Entry()], now)
        }
    }

    private let state = Locked(State())

    /// Whether no credential is known, so none can be sent in advance.
    var isEmpty: Bool { state.withLock { !$0.entries.values.contains { !$0.known.isEmpty } } }

    /// Removes every credential. Nonces keep their counts, since a server may issue the same nonce again.
    func removeAll() {
        state.withLock { state in
            for party in state.entries.keys { state.entries[party]?.known = [] }
        }
    }

    /// Returns the authentication to send with a request before a challenge: that of the space with the longest path
    /// that covers the request.
    func authentication(ahead request: AuthenticationRequest) -> KnownAuthentication? {
        let known = known(at: request.party).filter { $0.isFor(request) }
        guard !known.isEmpty else { return nil }
        let path = request.path
        // mutant cached-path: true by AuthenticationCacheTests
        guard !KnownAuthentication.hasDotSegment(path) else { return nil }
        return known.compactMap { known in known.coverage(ofPlain: path).map { (known: known, depth: $0) } }
            .max { $0.depth < $1.depth }?.known
    }

    /// Returns the authentication that a space has accepted before. The pages of one realm share a credential.
    func authentication(for request: AuthenticationRequest, in space: URLProtectionSpace) -> KnownAuthentication? {
        known(at: request.party).first { $0.isFor(request) && $0.space == space }
    }

    private func known(at party: AuthenticationParty) -> [KnownAuthentication] {
        state.withLock { $0.entries[party]?.known ?? [] }
    }

    /// Records that a space accepted a credential. `isNewer` means that the prepared credential answers a newer
    /// challenge, or has a newer nonce, than one that may already be known.
    func note(_ known: KnownAuthentication, isNewer: Bool) {
        state.withLock { state in
            state.change(known.party) { entry, _ in
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

    /// Removes a refused credential, unless the space has accepted another one in the meantime.
    func forget(_ known: KnownAuthentication) {
        state.withLock { state in
            guard let entry = state.entries[known.party], let index = entry.index(of: known),
                entry.known[index].credential == known.credential
            else { return }
            state.entries[known.party]?.known.remove(at: index)
        }
    }

    /// Returns the number of uses of a nonce at a server or proxy, including this one. It starts at 1 and never repeats
    /// (RFC 7616, section 3.4, `nc`), even with concurrent requests.
    func nextCount(of nonce: [UInt8], at party: AuthenticationParty) -> UInt32 {
        state.withLock { state in
            state.change(party) { entry, now in
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
