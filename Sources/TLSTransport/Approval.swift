/// Everything that decided that a connection may be used: the policy, the trust roots, who accepted the server, and
/// which identity the client showed.
///
/// A request may only use a connection whose approval holds for it; whoever keeps connections compares.
package struct Approval: Sendable, Hashable {
    /// Who accepted the server.
    package enum Acceptance: Sendable, Hashable {
        /// A verified path that the policy accepts.
        case verified
        /// The session's delegate, for an untrusted chain.
        case session
        /// The delegate of the task with this identifier, for an untrusted chain.
        case task(Int)
    }

    /// Where the identity came from that the server asked for. The digests are ``ClientIdentity``'s.
    package enum Identity: Sendable, Hashable {
        /// The server asked for none.
        case none
        /// The default credential of the protection space; nil when there was none.
        case stored(digest: [UInt8]?)
        /// The session's delegate; nil when it went on without one.
        case session(digest: [UInt8]?)
        /// The delegate of the task with this identifier; nil when it went on without one.
        case task(Int, digest: [UInt8]?)
    }

    /// The policy's digest, 32 bytes; empty without a policy.
    package var policy: [UInt8]
    /// The digest of the trust store that the chain was verified to, 32 bytes.
    package var roots: [UInt8]
    package var acceptance: Acceptance
    package var identity: Identity

    package init(policy: [UInt8], roots: [UInt8], acceptance: Acceptance, identity: Identity = .none) {
        self.policy = policy
        self.roots = roots
        self.acceptance = acceptance
        self.identity = identity
    }
}
