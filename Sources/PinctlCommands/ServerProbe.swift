import CertificatePinning
import CertificateTrust
import FoundationEssentials
import TLSTransport

/// Asks servers for their chains and judges them.
struct ServerProbe: Sendable {
    private let store: TrustStore
    private let policy: TrustPolicy
    private let time: Date
    private let options: DialOptions

    /// By the flags for trust, time and time limits.
    init(_ arguments: Arguments, in environment: CommandEnvironment) throws(UsageError) {
        time = try arguments.time(in: environment)
        var options = DialOptions()
        options.totalTimeout = try arguments.seconds(.timeout, default: 10)
        options.connectTimeout = try arguments.seconds(.connectTimeout, default: 5)
        // The whole is what is limited.
        options.resolveTimeout = options.totalTimeout
        options.handshakeTimeout = options.totalTimeout
        self.options = options
        store = try arguments.trustStore(in: environment)
        policy = try arguments.trustPolicy()
    }

    /// Connects, takes the chain, and hangs up without having sent more than the handshake.
    func presentedChain(of endpoint: Endpoint) async throws(TransportError) -> PresentedChain {
        let connection = try await Transport.shared.dial(endpoint, options: options)
        let chain = connection.presented
        await connection.refuse()
        return chain
    }

    /// Connects, takes the chain, hangs up without having sent more than the handshake, and judges.
    func judge(_ endpoint: Endpoint, expecting expectation: Expectation) async -> VerdictText {
        var presented: [X509Certificate] = []
        let verdict: Verdict
        var causes: [PinFailureCause] = []
        if case .unlisted(let file) = expectation {
            verdict = .unlisted(policy: file.path)
            causes = PinDiagnosis(ofUnlisted: endpoint.name, in: file.policy).causes
        } else {
            do throws(TransportError) {
                let chain = try await presentedChain(of: endpoint)
                presented = chain.certificates
                let trust = ServerTrust(presented: chain, name: endpoint.name, store: store, policy: policy)
                verdict = Verdict(on: trust, port: endpoint.port, expecting: expectation, time: time)
                causes = expectation.causes(of: trust, port: endpoint.port, at: time)
            } catch {
                verdict = .unreachable(error.description)
            }
        }
        return VerdictText(
            verdict: verdict, subject: endpoint.description, source: "served", presented: presented, now: time,
            causes: causes)
    }
}
