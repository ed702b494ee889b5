/// The grounds on which a server was approved: the trust settings, the source of the acceptance, and the source of the
/// identity that the client presented.
///
/// A request may only use a connection whose approvals are valid for it: ``ServerEvaluator``.
struct Approval: Sendable {
    /// The source of a server's acceptance.
    enum Acceptance: Sendable, Equatable {
        /// The policy accepts a verified path.
        case verified
        /// The session's delegate accepted an untrusted chain.
        case session
        /// The delegate of the task with this identifier accepted an untrusted chain.
        case task(Int)
    }

    /// The source of the client certificate that the server requested. The digests are from `ClientIdentity`.
    enum Identity: Sendable, Equatable {
        /// The server didn't request a certificate.
        case none
        /// The default credential of the protection space. Nil if there was none.
        case stored(digest: [UInt8]?)
        /// The session's delegate. Nil if it continued without a certificate.
        case session(digest: [UInt8]?)
        /// The delegate of the task with this identifier. Nil if it continued without a certificate.
        case task(Int, digest: [UInt8]?)
    }

    /// The trust settings under which the server was evaluated.
    let settings: TrustSettings.Digest
    let acceptance: Acceptance
    var identity = Identity.none
}
