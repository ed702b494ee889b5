import CertificateTrust

/// What a session knows of the protection spaces that accepted a credential, shared by all of its tasks.
///
/// A credential of persistence `.none` is never put here.
final class AuthenticationCache: Sendable {
    /// How many spaces and nonces are kept. The oldest make room.
    static let limit = 1_000

    private struct Nonce: Hashable {
        let place: AuthenticationPlace
        let value: String
    }

    private struct State {
        /// Oldest first.
        var known: [KnownAuthentication] = []
        var counts: [Nonce: UInt32] = [:]
        var nonces: [Nonce] = []

        func index(of known: KnownAuthentication) -> Int? {
            self.known.firstIndex {
                $0.place == known.place && $0.user == known.user && $0.space == known.space
            }
        }
    }

    private let state = Locked(State())

    /// Whether nothing is known, so that nothing is to be sent ahead.
    var isEmpty: Bool { state.withLock { $0.known.isEmpty } }

    /// Forgets every credential. Nonces keep their counts, since a server may give one again.
    func removeAll() { state.withLock { $0.known = [] } }

    /// What to send with a request before it is asked for: that of the space in whose paths it lies deepest.
    func authentication(ahead request: AuthenticationRequest) -> KnownAuthentication? {
        let known = state.withLock({ $0.known }).filter { $0.isFor(request) }
        guard !known.isEmpty else { return nil }
        let path = request.path
        return known.compactMap { known in known.coverage(of: path).map { (known: known, depth: $0) } }
            .max { $0.depth < $1.depth }?.known
    }

    /// What a space has accepted before: the pages of one realm share a credential.
    func authentication(for request: AuthenticationRequest, in space: URLProtectionSpace) -> KnownAuthentication? {
        state.withLock({ $0.known }).first { $0.isFor(request) && $0.space == space }
    }

    /// Notes that a space accepted a credential. `isNewer` says that what is prepared answers a newer challenge, or a
    /// newer nonce, than what may be known already.
    func note(_ known: KnownAuthentication, isNewer: Bool) {
        state.withLock { state in
            var known = known
            if let index = state.index(of: known) {
                let before = state.known.remove(at: index)
                if before.credential == known.credential {
                    if !isNewer { known.prepared = before.prepared }
                    known.learn(from: before)
                }
            }
            state.known.append(known)
            if state.known.count > Self.limit { state.known.removeFirst() }
        }
    }

    /// Forgets a credential that was refused, unless the space knows another by now.
    func forget(_ known: KnownAuthentication) {
        state.withLock { state in
            guard let index = state.index(of: known), state.known[index].credential == known.credential else { return }
            state.known.remove(at: index)
        }
    }

    /// How often a nonce was used at a place, this time included: 1 at first, and never the same again (RFC 7616,
    /// section 3.4, `nc`), however many requests go on at once.
    func nextCount(of nonce: String, at place: AuthenticationPlace) -> UInt32 {
        let nonce = Nonce(place: place, value: nonce)
        return state.withLock { state in
            guard let count = state.counts[nonce] else {
                state.nonces.append(nonce)
                if state.nonces.count > Self.limit { state.counts[state.nonces.removeFirst()] = nil }
                state.counts[nonce] = 1
                return 1
            }
            state.counts[nonce] = count &+ 1
            return count &+ 1
        }
    }
}
