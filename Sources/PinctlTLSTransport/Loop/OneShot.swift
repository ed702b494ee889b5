import CertificateTrust
import PinctlBasics

/// A result that several parties may give. Only the first one counts. One caller waits for it.
final class OneShot<Value: Sendable>: Sendable {
    private enum State {
        case empty
        case awaited(CheckedContinuation<Result<Value, TransportError>, Never>)
        case given(Result<Value, TransportError>)
    }

    private let state = Locked(State.empty)

    /// Gives the result. Has no effect if there already is one.
    func give(_ result: Result<Value, TransportError>) {
        let waiting = state.withLock { state -> CheckedContinuation<Result<Value, TransportError>, Never>? in
            switch state {
            case .empty:
                state = .given(result)
                return nil
            case .awaited(let continuation):
                state = .given(result)
                return continuation
            case .given:
                return nil
            }
        }
        waiting?.resume(returning: result)
    }

    /// Waits for the result. Throws ``TransportError/cancelled`` if the task is cancelled first. Call it only once.
    func value() async throws(TransportError) -> Value {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let given = state.withLock { state -> Result<Value, TransportError>? in
                    if case .given(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let given { continuation.resume(returning: given) }
            }
        } onCancel: {
            give(.failure(.cancelled))
        }
        return try result.get()
    }
}
