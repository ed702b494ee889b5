import PinctlBasics
import PinctlTLSTransport

/// The trust settings of a session, which can be replaced at any time, from any thread.
///
/// An object of its own, so that ``ProcessPinning`` can replace the process's policy in every session without a
/// reference to the session, which would keep it alive or slow down its use.
final class SessionTrust: Sendable {
    /// The number of the trust settings, which ends the permission to send under earlier ones.
    private let approvals = ApprovalNumber()
    private let permitting: Locked<PermittingTrust>
    /// Held while the trust settings are replaced, so that no replacement loses another.
    private let replacement = Locked(())
    /// Whether the session has a policy in place of the process's.
    let overridesProcess: Bool

    init(_ settings: TrustSettings, overridesProcess: Bool) {
        permitting = Locked(PermittingTrust(settings, SendPermit(approvals, number: 0)))
        self.overridesProcess = overridesProcess
    }

    /// The current trust settings, with the permission to send under them.
    var current: PermittingTrust { permitting.withLock { $0 } }

    /// Changes the trust settings. When this returns, no byte of a request is sent that only the earlier ones permit.
    func replace(_ change: (inout TrustSettings) -> Void) {
        // mutant settings-lost: Locked(()) for `replacement` by TrustSettingsTests/concurrent
        replacement.withLock { _ in
            // Computes digests, so it isn't done under the locks that the event loop waits for.
            var settings = current.settings
            change(&settings)
            approvals.replace { number in
                let replacing = PermittingTrust(settings, SendPermit(approvals, number: number))
                permitting.withLock { $0 = replacing }
            }
        }
    }
}
