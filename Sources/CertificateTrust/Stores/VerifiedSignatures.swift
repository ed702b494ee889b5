import OpenSSLBridge
import PinctlBasics

/// The signatures in paths to a store's anchors that OpenSSL has verified, so that it verifies none of them twice.
///
/// Whether a signature verifies depends only on the bytes of the certificate and of its issuer, which are compared.
/// Everything else about a path is checked each time, by rules and by OpenSSL. Failures aren't kept.
final class VerifiedSignatures: Sendable {
    /// The most certificates kept. When it is reached, all are forgotten, and each is verified once more.
    static let limit = 256

    /// The largest certificate kept, in bytes. With its parsed forms, a certificate takes up to forty times as much.
    static let sizeLimit = 8 * 1024

    /// For each certificate, the issuers whose key verified its signature.
    private let issuers = Locked<[X509Certificate: [X509Certificate]]>([:])

    var count: Int { issuers.withLock { $0.count } }

    /// Returns what is known of a path, leaf first and anchor last: its certificates, those that are kept with what
    /// OpenSSL parsed of them, and the depths of those whose signature by the next one has been verified.
    func known(of path: [X509Certificate]) -> (certificates: [X509Certificate], verified: SignatureDepths) {
        var (certificates, verified) = (path, SignatureDepths())
        issuers.withLock { issuers in
            guard !issuers.isEmpty else { return }
            for depth in path.indices.dropLast() {
                guard let index = issuers.index(forKey: path[depth]) else { continue }
                certificates[depth] = issuers.keys[index]
                // mutant known-signatures: true by VerifiedSignaturesTests
                if issuers.values[index].contains(path[depth + 1]) { verified.insert(depth) }
            }
        }
        return (certificates, verified)
    }

    /// Keeps a path that OpenSSL has verified, leaf first and anchor last.
    func insert(_ path: [X509Certificate]) {
        issuers.withLock { issuers in
            // mutant known-signatures-limit: false by VerifiedSignaturesTests/limit
            if issuers.count + path.count - 1 > Self.limit { issuers.removeAll() }
            for (certificate, issuer) in zip(path, path.dropFirst())
            where max(certificate.derBytes.count, issuer.derBytes.count) <= Self.sizeLimit {
                Self.insert(issuer, in: &issuers[certificate, default: []])
            }
        }
    }

    private static func insert(_ issuer: X509Certificate, in issuers: inout [X509Certificate]) {
        if !issuers.contains(issuer) { issuers.append(issuer) }
    }
}
