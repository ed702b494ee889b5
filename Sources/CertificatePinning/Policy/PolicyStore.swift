import CertificateTrust

/// The policy of a program that gets new ones while it runs.
///
/// A policy never changes; the store swaps one for another, whole, and tells its observers. A session follows it:
///
///     let store = PolicyStore(try PinningPolicy(contentsOfFile: path))
///     store.observe { [weak session] policy in session?.pinning = policy }
///     …
///     store.replace(with: try PinningPolicy(contentsOfFile: path))
///
/// A file that is no policy throws before anything is replaced. Requests on their way are finished under the policy
/// they were sent under; no connection that was accepted under another one is used again.
public final class PolicyStore: Sendable {
    /// Hears of policies until it is cancelled or the store is gone.
    public final class Observation: Sendable {
        fileprivate let body: @Sendable (PinningPolicy) -> Void
        private let isActive = Locked(true)

        fileprivate init(_ body: @escaping @Sendable (PinningPolicy) -> Void) { self.body = body }

        /// Ends it. A call on its way is not waited for.
        public func cancel() { isActive.withLock { $0 = false } }

        fileprivate var isCancelled: Bool { isActive.withLock { !$0 } }

        fileprivate func tell(_ policy: PinningPolicy) {
            if !isCancelled { body(policy) }
        }
    }

    private struct State {
        var policy: PinningPolicy
        var observations: [Observation] = []
        /// What is still to be told, in order.
        var calls: [(Observation, PinningPolicy)] = []
        var isTelling = false
    }

    private let state: Locked<State>

    /// Begins with a policy.
    public init(_ policy: PinningPolicy) { state = Locked(State(policy: policy)) }

    /// The policy that holds now.
    public var policy: PinningPolicy { state.withLock { $0.policy } }

    /// Puts another policy in place of the one that holds; one that decides alike (``PinningPolicy/digest``) is taken
    /// without a word.
    public func replace(with policy: PinningPolicy) {
        state.withLock { state in
            let isNew = state.policy.digest != policy.digest
            state.policy = policy
            guard isNew else { return }
            state.observations.removeAll(where: \.isCancelled)
            state.calls += state.observations.map { ($0, policy) }
        }
        tell()
    }

    /// Calls `body` with the policy that holds now, and with each that comes after it.
    ///
    /// Calls come one at a time in the order of the policies, on the thread that replaces one or, while that is busy
    /// with an earlier call, on the thread that is in it. `body` may use the store.
    @discardableResult
    public func observe(_ body: @escaping @Sendable (PinningPolicy) -> Void) -> Observation {
        let observation = Observation(body)
        state.withLock { state in
            state.observations.append(observation)
            state.calls.append((observation, state.policy))
        }
        tell()
        return observation
    }

    /// No lock is held during a call, and no two are at the same time: who comes meanwhile leaves its calls to whoever
    /// is telling.
    private func tell() {
        var isFirst = true
        while true {
            let next = state.withLock { state -> (Observation, PinningPolicy)? in
                guard !isFirst || !state.isTelling else { return nil }
                isFirst = false
                state.isTelling = !state.calls.isEmpty
                return state.calls.isEmpty ? nil : state.calls.removeFirst()
            }
            guard let (observation, policy) = next else { return }
            observation.tell(policy)
        }
    }
}
