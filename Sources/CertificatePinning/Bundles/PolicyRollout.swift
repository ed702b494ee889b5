import CertificateTrust
import PinctlBasics
public import PinctlFoundation

/// A stage in which only a share of all installations puts a bundle in force. The others keep their policy and report
/// which servers the new one would refuse.
public struct PolicyRollout: Sendable, Hashable {
    /// The share of the installations, in percent: 0 to 99.
    public let share: Int
    /// The time from which every installation puts the bundle in force.
    public let until: Date

    package init(share: Int, until: Date) {
        self.share = share
        self.until = until
    }

    static let shape = PolicyShape.object([
        PolicyKey("share", .number(0...99), isRequired: true), PolicyKey("until", .string, isRequired: true),
    ])

    init?(_ value: JSONValue) {
        guard let share = value["share"]?.integer, let until = value["until"]?.string.flatMap({ Date(rfc3339: $0) })
        else { return nil }
        self.init(share: share, until: until)
    }

    var json: JSON { ["share": .integer(share), "until": .string(until.rfc3339)] }

    /// Returns whether an installation, which a random number identifies, is in the share. Each bundle has a share of
    /// its own, so the same installations aren't always the first.
    package func includes(installation: [UInt8], of bundle: PolicyBundle) -> Bool {
        let bytes = installation + bundle.document.payload
        let digest = sha256Digest(bytes.span)
        return Int(digest.prefix(4).reduce(0) { $0 << 8 | UInt64($1) } % 100) < share
    }
}
