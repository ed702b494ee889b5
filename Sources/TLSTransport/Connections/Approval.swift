package import CertificateTrust

/// The grounds on which a connection was approved: the policies, the trust roots, the evidence about revocation and
/// transparency, the acceptance of the server, and the identity that the client presented.
///
/// A request may only use a connection whose approval is valid for it. The code that keeps connections for reuse
/// compares the two.
package struct Approval: Sendable, Hashable {
    /// The reason why the server was accepted.
    package enum Acceptance: Sendable, Hashable {
        /// The policy accepts a verified path.
        case verified
        /// The session's delegate accepted an untrusted chain.
        case session
        /// The delegate of the task with this identifier accepted an untrusted chain.
        case task(Int)
    }

    /// The source of the client certificate that the server requested. The digests are from ``ClientIdentity``.
    package enum Identity: Sendable, Hashable {
        /// The server didn't request a certificate.
        case none
        /// The default credential of the protection space. Nil if there was none.
        case stored(digest: [UInt8]?)
        /// The session's delegate. Nil if it continued without a certificate.
        case session(digest: [UInt8]?)
        /// The delegate of the task with this identifier. Nil if it continued without a certificate.
        case task(Int, digest: [UInt8]?)
    }

    /// The policy's digest, 32 bytes, or empty without a policy.
    package var policy: [UInt8]
    /// The digest of the trust store that the chain was verified against, 32 bytes.
    package var roots: [UInt8]
    /// The profile and settings by which the chain was verified.
    package var trustPolicy: TrustPolicy
    /// The digest of the evidence about revocation, 32 bytes, or empty without evidence.
    package var revocation: [UInt8]
    /// The digest of the list of Certificate Transparency logs, 32 bytes, or empty without a list.
    package var transparency: [UInt8]
    package var acceptance: Acceptance
    package var identity: Identity

    package init(
        policy: [UInt8], roots: [UInt8], trustPolicy: TrustPolicy, revocation: [UInt8], transparency: [UInt8] = [],
        acceptance: Acceptance, identity: Identity = .none
    ) {
        self.policy = policy
        self.roots = roots
        self.trustPolicy = trustPolicy
        self.revocation = revocation
        self.transparency = transparency
        self.acceptance = acceptance
        self.identity = identity
    }
}
