import CertificateTrust
import PinctlBasics

/// The current policy of a program that receives new policies while it runs.
///
/// A policy never changes. The store replaces it with another one and notifies its observers. A session can follow the
/// store:
///
///     let store = PolicyStore(try PinningPolicy(contentsOfFile: path))
///     store.observe { [weak session] policy in session?.pinning = policy }
///     …
///     store.replace(with: try PinningPolicy(contentsOfFile: path))
///
/// An invalid file throws an error before anything is replaced. Requests in progress finish under the policy they were
/// sent under. A connection that was accepted under another policy isn't reused.
public final class PolicyStore: Sendable {
    /// A registered observer. It is notified until it is cancelled or the store is deallocated.
    public final class Observation: Sendable {
        fileprivate let body: @Sendable (PinningPolicy) -> Void
        private let isActive = Locked(true)

        fileprivate init(_ body: @escaping @Sendable (PinningPolicy) -> Void) { self.body = body }

        /// Cancels the observation. Doesn't wait for a call in progress.
        public func cancel() { isActive.withLock { $0 = false } }

        fileprivate var isCancelled: Bool { isActive.withLock { !$0 } }

        fileprivate func report(_ policy: PinningPolicy) {
            if !isCancelled { body(policy) }
        }
    }

    private struct State {
        var policy: PinningPolicy
        var observations: [Observation] = []
        /// The pending notifications, in order.
        var calls: [(Observation, PinningPolicy)] = []
        var isNotifying = false
    }

    private let state: Locked<State>

    /// Creates a store with this policy.
    public init(_ policy: PinningPolicy) { state = Locked(State(policy: policy)) }

    /// The current policy.
    public var policy: PinningPolicy { state.withLock { $0.policy } }

    /// Replaces the current policy. Observers aren't notified if the new policy decides alike
    /// (``PinningPolicy/digest``).
    public func replace(with policy: PinningPolicy) {
        state.withLock { state in
            let isNew = state.policy.digest != policy.digest
            state.policy = policy
            guard isNew else { return }
            state.observations.removeAll(where: \.isCancelled)
            state.calls += state.observations.map { ($0, policy) }
        }
        report()
    }

    /// Calls `body` with the current policy and with each later one.
    ///
    /// The calls are made one at a time, in the order of the policies. They run on the thread that replaces the policy
    /// or, while an earlier call is running, on the thread of that call. `body` may use the store.
    @discardableResult
    public func observe(_ body: @escaping @Sendable (PinningPolicy) -> Void) -> Observation {
        let observation = Observation(body)
        state.withLock { state in
            state.observations.append(observation)
            state.calls.append((observation, state.policy))
        }
        report()
        return observation
    }

    /// Delivers the pending notifications. No lock is held during a call, and no two calls run at the same time. If
    /// another thread is already delivering, that thread also delivers the new ones.
    private func report() {
        var isFirst = true
        func next() -> (Observation, PinningPolicy)? {
            state.withLock { state in
                guard !isFirst || !state.isNotifying else { return nil }
                isFirst = false
                state.isNotifying = !state.calls.isEmpty
                return state.calls.isEmpty ? nil : state.calls.removeFirst()
            }
        }
        while let (observation, policy) = next() { observation.report(policy) }
    }
}
