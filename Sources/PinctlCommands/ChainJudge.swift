import CertificatePinning
import CertificateTrust
import FoundationEssentials
import TLSTransport

/// Judges chains: by the roots, the profile and the time of a run.
struct ChainJudge: Sendable {
    let store: TrustStore
    let policy: TrustPolicy
    let time: Date

    /// By the flags for trust and time.
    init(_ arguments: Arguments, in environment: CommandEnvironment) throws(UsageError) {
        time = try arguments.time(in: environment)
        store = try arguments.trustStore(in: environment)
        policy = try arguments.trustPolicy()
    }

    /// What becomes of a target after this probe.
    func verdict(on probe: Probe, expecting expectation: Expectation) -> VerdictText {
        var presented: [X509Certificate] = []
        let verdict: Verdict
        var causes: [PinFailureCause] = []
        let endpoint = probe.target.endpoint
        switch probe.outcome {
        case .success(let served):
            presented = served.presented.certificates
            let trust = ServerTrust(presented: served.presented, name: endpoint.name, store: store, policy: policy)
            verdict = Verdict(on: trust, port: endpoint.port, expecting: expectation, time: time)
            causes = expectation.causes(of: trust, port: endpoint.port, at: time)
        case .failure(let error):
            verdict = .unreachable(error.description)
        }
        return VerdictText(
            verdict: verdict, subject: probe.target.description, source: "served", presented: presented, now: time,
            causes: causes)
    }

    /// What is said of a target that the policy has no rule for; nobody connects to it.
    func verdict(onUnlisted target: Target, in file: PolicyFile) -> VerdictText {
        VerdictText(
            verdict: .unlisted(policy: file.path), subject: target.description, source: "served", presented: [],
            now: time, causes: PinDiagnosis(ofUnlisted: target.endpoint.name, in: file.policy).causes)
    }
}
