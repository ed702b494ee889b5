import PinctlBasics

/// The number of the settings by which connections are approved. Each replacement of the settings gets the next.
///
/// Replacing the settings and passing bytes to the kernel exclude each other. So once ``replace(_:)`` has returned, no
/// byte is sent that only earlier settings permit.
package final class ApprovalNumber: Sendable {
    private let number = Locked(0)

    package init() {}

    /// Calls `change`, which replaces the settings, with their number.
    package func replace(_ change: (Int) -> Void) {
        number.withLock { number in
            number += 1
            change(number)
        }
    }

    fileprivate func isCurrent(_ known: Int) -> Bool { number.withLock { $0 == known } }

    fileprivate func whileCurrent<Value>(_ known: Int, _ body: () -> Value) -> Value? {
        // mutant send-permit: true for `$0 == known` by ReplacedSettingsTests/replaced
        number.withLock { $0 == known ? body() : nil }
    }
}

/// The permission to send the bytes of a request, which ends when the settings that approve its connection are
/// replaced.
package struct SendPermit: Sendable {
    private let settings: ApprovalNumber
    private let number: Int

    /// Creates a permission under the settings with this number.
    package init(_ settings: ApprovalNumber, number: Int) {
        self.settings = settings
        self.number = number
    }

    /// Whether the settings haven't been replaced.
    package var isCurrent: Bool { settings.isCurrent(number) }

    /// Calls `body`, which passes bytes to the kernel and never waits. Returns nil without calling it if the settings
    /// were replaced.
    func whileCurrent<Value>(_ body: () -> Value) -> Value? { settings.whileCurrent(number, body) }
}
