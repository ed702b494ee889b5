public import CertificatePinning

/// An error for a policy that a dialect can't express, because the policy wasn't converted to that dialect first.
public struct DialectWriteError: Error, Sendable, Hashable {
    /// The problem and its remedy.
    public let message: String
    /// The position of the cause.
    public let location: PolicyLocation?

    package init(_ message: String, at location: PolicyLocation? = nil) {
        self.message = message
        self.location = location
    }
}

extension DialectWriteError: CustomStringConvertible {
    /// The error in one line: `pins.jsonc:14:5: …`.
    public var description: String { (location.map { "\($0): " } ?? "") + message }
}
