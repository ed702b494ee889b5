import PinctlBasics
import PinctlHTTPMessages

/// The remaining work for a response that is delivered to the task.
struct AuthenticationOutcome: Sendable {
    /// A proof that covers the body. The response is accepted as the server's only if the proof is valid.
    struct BodyProof: Sendable {
        private let proof: DigestProof
        private let information: [String: String]
        private let space: URLProtectionSpace

        init(_ proof: DigestProof, _ information: [String: String], _ space: URLProtectionSpace) {
            self.proof = proof
            self.information = information
            self.space = space
        }

        func check(_ body: [UInt8]) throws(AuthenticationError) {
            guard proof.verdict(on: information, body: body) == .valid else { throw .forgedResponse(space) }
        }
    }

    static let plain = AuthenticationOutcome()

    /// The credential that a delegate provided and the server accepted. Its persistence decides where it is stored.
    var accepted: (credential: URLCredential, space: URLProtectionSpace)?
    var bodyProof: BodyProof?
}

/// The proofs of a server and of a proxy that cover the body of a response (RFC 7616, section 3.5). The body is
/// collected only if there is a proof.
struct BodyProofs: Sendable {
    private var proofs: [AuthenticationOutcome.BodyProof] = []
    private var body: [UInt8] = []

    mutating func add(_ proof: AuthenticationOutcome.BodyProof) { proofs.append(proof) }

    /// Adds the next part of the body. A proof can only be checked against the whole body. The server decides whether
    /// there is a proof, so the size is limited.
    mutating func add(_ part: ArraySlice<UInt8>, limit: Int) throws(HTTPResponseError) {
        guard !proofs.isEmpty else { return }
        guard part.count <= limit - body.count else { throw .bodyTooLarge(limit: limit) }
        body += part
    }

    /// Checks the proofs at the end of the body.
    func check() throws(AuthenticationError) {
        for proof in proofs { try proof.check(body) }
    }
}

/// The reason why authentication ends a task.
enum AuthenticationError: Error, Hashable {
    /// A delegate cancelled the challenge.
    case cancelled(URLProtectionSpace)
    /// A delegate provided a credential that the scheme can't send.
    case unusableCredential(CredentialProblem)
    /// The response doesn't prove that its sender knows the password (RFC 7616, section 3.5, `rspauth`).
    case forgedResponse(URLProtectionSpace)
    /// The server's last Negotiate message doesn't prove its identity (RFC 4559, section 5).
    case unprovenServer(URLProtectionSpace)
}

extension AuthenticationError: CustomStringConvertible {
    var description: String {
        switch self {
        case .cancelled(let space):
            "a delegate cancelled the challenge of \(visibleText(space.host)): check the delegate for the reason"
        case .unusableCredential(let problem): problem.description
        case .forgedResponse(let space):
            "the response of \(visibleText(space.host)) does not prove that it knows the password (rspauth): "
                + "check whether the connection is intercepted, and change the password"
        case .unprovenServer(let space):
            "\(visibleText(space.host)) does not prove its identity by Kerberos: "
                + "check whether the connection is intercepted"
        }
    }
}
