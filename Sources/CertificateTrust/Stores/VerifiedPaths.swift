import Basics
import OpenSSLBridge

/// The paths to a store's anchors that OpenSSL has verified, so that it doesn't verify a path twice.
///
/// OpenSSL's answer depends only on the certificates' bytes and on the parameters in ``Entry``. What depends on the
/// server or on the time (names, validity, purposes, revocation) is checked by rules, each time. Refusals aren't kept.
final class VerifiedPaths: Sendable {
    /// A path and the parameters that OpenSSL verified it with.
    struct Entry: Hashable, Sendable {
        /// Leaf first and anchor last. They are compared byte by byte.
        let certificates: [X509Certificate]
        let strength: TrustPolicy.Strength
        let policies: PolicyProcessing?
    }

    /// The most paths kept. When it is reached, all are forgotten, and each is verified once more.
    static let limit = 256

    private let entries = Locked<Set<Entry>>([])

    var count: Int { entries.withLock { $0.count } }

    func contains(_ entry: Entry) -> Bool { entries.withLock { $0.contains(entry) } }

    func insert(_ entry: Entry) {
        entries.withLock {
            if $0.count >= Self.limit { $0.removeAll() }
            $0.insert(entry)
        }
    }
}
