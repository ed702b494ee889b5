public import CertificatePinning

/// Something in a policy that a dialect has no words for: it was not converted to that dialect before.
public struct DialectWriteError: Error, Sendable, Hashable {
    /// What it is, and what to do.
    public let message: String
    /// Where it stands.
    public let location: PolicyLocation?

    package init(_ message: String, at location: PolicyLocation? = nil) {
        self.message = message
        self.location = location
    }
}

extension DialectWriteError: CustomStringConvertible {
    /// `pins.jsonc:14:5: …`, one line.
    public var description: String { (location.map { "\($0): " } ?? "") + message }
}
