// Stands in for CertificateTrust until its chain types are merged; then this file goes.
package import CertificateTrust

package struct X509Certificate: Sendable, Hashable {
    package let derBytes: [UInt8]
    package init(derBytes: [UInt8]) throws(DERError) { self.derBytes = derBytes }
}

package struct PresentedChain: Sendable, Hashable {
    package let leaf: X509Certificate
    package let intermediates: [X509Certificate]
    package init(derCertificates: [[UInt8]]) throws(PresentedChainError) {
        do {
            let certificates = try derCertificates.map { bytes throws(DERError) in try X509Certificate(derBytes: bytes) }
            guard let leaf = certificates.first else { throw PresentedChainError() }
            self.leaf = leaf
            intermediates = Array(certificates.dropFirst())
        } catch { throw PresentedChainError() }
    }
}

package struct PresentedChainError: Error, Hashable, Sendable {}

package struct VerifiedPath: Sendable, Hashable {
    package let certificates: [X509Certificate]
    package let name: ServerName
    package var leaf: X509Certificate { certificates[0] }
    package init(certificates: [X509Certificate], name: ServerName) {
        self.certificates = certificates
        self.name = name
    }
}
