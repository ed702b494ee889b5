import PinctlBasics
package import PinctlFoundation

/// A log of Certificate Transparency, as a list describes it.
package struct TransparencyLog: Sendable, Hashable {
    /// A log's state in a list (Chrome's "Certificate Transparency Log Lifecycle").
    package enum State: String, Sendable, Hashable {
        case pending, qualified, usable, readonly, retired, rejected
        /// The list gives no state, several, or one that isn't known here. The log's timestamps don't count.
        case unknown
    }

    /// The SHA-256 of ``key``, 32 bytes.
    package let identifier: [UInt8]
    let key: SubjectPublicKeyInfo
    /// The name of the log, such as `Example 2026h1`.
    package let name: String
    /// Whether the log has the interface of RFC 6962, and not that of static-ct-api.
    let isRFC6962: Bool
    let state: State
    /// The time when the log entered its state.
    let stateStart: Date
    /// The times between which a certificate must expire for the log to accept it. `nil` means any.
    let expiryInterval: Range<Date>?
    /// The name of the organization that runs the log.
    let operatorName: String
    /// The organizations that ran the log before, with the end of their time.
    let previousOperators: [(name: String, end: Date)]
    /// Whether the log is one of the ``mimics``.
    let isMimic: Bool

    package static func == (left: Self, right: Self) -> Bool { left.identifier == right.identifier }
    package func hash(into hasher: inout Hasher) { hasher.combine(identifier) }

    /// The identifiers of two "mimic" logs, whose private keys are public, so that anyone can sign their timestamps.
    /// They log nothing. Google adds them to the lists that it serves to other programs than Chrome.
    ///
    /// These are the SHA-256 of the public keys in `mimics/mimic1.pem` and `mimics/mimic2.pem` of
    /// `github.com/GoogleChrome/CertificateTransparency` (read on 2026-11-26; the reason is in `3p_libraries.md`
    /// there).
    static let mimics: Set<[UInt8]> = Set(
        ["9EGV1vAOLbVUNcrdV3iS5T4VrUFwWPh44U/2uRh0FYk=", "si9+3rWvav5QPeBAgbLXTBJThJL+3yyypSZQPO9TztI="]
            .compactMap { Base64.decodeCanonical(Array($0.utf8)) })

    /// Returns the organization that ran the log at a given time.
    package func operatorName(at time: Date) -> String {
        previousOperators.filter { time < $0.end }.min { $0.end < $1.end }?.name ?? operatorName
    }

    /// The extent to which the log's timestamps count.
    enum Recognition {
        /// Browsers accept the log today.
        case current
        /// Browsers accepted the log when it made the timestamp.
        case once
        case none
    }

    /// Returns the extent to which a timestamp counts at `time`. Chrome and Apple recognize qualified, usable and
    /// read-only logs, and the timestamps that a log made before it retired.
    func recognition(of timestamp: SignedCertificateTimestamp, at time: Date) -> Recognition {
        switch state {
        case .qualified, .usable, .readonly: .current
        case .retired where time < stateStart: .current
        case .retired where timestamp.date < stateStart: .once
        case .retired, .pending, .rejected, .unknown: .none
        }
    }
}
