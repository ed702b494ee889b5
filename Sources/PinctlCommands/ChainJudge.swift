import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

/// A judge of chains with the roots, profile and time of a run.
struct ChainJudge: Sendable {
    let store: TrustStore
    let policy: TrustPolicy
    /// The available revocation data, apart from what servers staple.
    let revocation: RevocationEvidence
    /// The recognized logs of Certificate Transparency, if a list was given.
    let logs: TransparencyLogList?
    let time: Date
    /// Whether the time was given, so that it isn't that of the clock.
    let isTimeChosen: Bool
    /// The operating system's trust store if other roots are trusted in addition to it, or `nil` if there is nothing to
    /// distinguish.
    var systemRoots: TrustStore?
    /// The time before an expiry in which to warn about it, or `nil` for no warnings at all.
    var warningPeriod: WarningPeriod?
    /// The trust stores of other clients, each with its name. A good verdict gets a warning if it isn't good there.
    var clientStores: [(name: String, store: TrustStore)] = []
    /// The signed bundle that the policy is in, if it is.
    var bundle: PolicyBundle?
    /// The files that the policy exports, whose clients must accept the chain too.
    var exports: [ExportedPins] = []

    /// Creates a judge from the flags for trust and time.
    init(_ arguments: Arguments, in environment: CommandEnvironment) throws(UsageError) {
        time = try arguments.time(in: environment)
        isTimeChosen = arguments.has(.at)
        var policy = try arguments.trustPolicy()
        (policy.revocation, revocation) = try arguments.revocation()
        (policy.certificateTransparency, logs) = try arguments.transparency()
        self.policy = policy
        let store = try arguments.trustStore(in: environment)
        guard arguments.has(.systemRoots) else {
            self.store = store
            return
        }
        let system = try Arguments.systemStore(in: environment)
        systemRoots = system
        self.store = TrustStore(combining: [store, system])
    }

    /// Returns the result for this probe.
    func result(of probe: Probe, expecting pins: PinSource) -> CheckResult {
        let (subject, endpoint) = (probe.target.description, probe.target.endpoint)
        var result =
            switch probe.outcome {
            case .success(let served):
                result(
                    of: served.presented, name: endpoint.name, port: endpoint.port, subject: subject, source: .served,
                    staple: served.staple, timestamps: served.timestamps, expecting: pins)
            case .failure(let error):
                CheckResult(
                    verdict: .unreachable(error), subject: subject, source: .served, presented: [], now: time)
            }
        result.add(probe)
        return result
    }

    /// Returns the result for a chain and this hostname.
    func result(
        of presented: PresentedChain, name: ServerName, port: UInt16, subject: String, source: ChainOrigin,
        staple: [UInt8]? = nil, timestamps: [UInt8]? = nil, expecting pins: PinSource
    ) -> CheckResult {
        var evidence = revocation
        evidence.stapledOCSP = staple
        let trust = ServerTrust(
            presented: presented, name: name, store: store, policy: policy, revocation: evidence,
            transparency: TransparencyEvidence(logs: logs, handshakeTimestamps: timestamps))
        let verdict = Verdict(on: trust, port: port, expecting: pins, time: time, from: source)
        let refusals = refusals(of: trust, port: port, after: verdict)
        let whole = refusals.filter(\.isWhole)
        let rule = pins.rule(for: name, port: port)
        // mutant check-export: false for 2 by ExportedFileTests
        if verdict.isGood, !whole.isEmpty {
            return CheckResult(
                verdict: verdict.refused(by: whole), subject: subject, source: source,
                presented: presented.certificates, now: time, refusals: whole, endpoint: (name, port), rule: rule)
        }
        var causes =
            verdict.word == .ok ? [] : pins.causes(of: trust, port: port, at: time, systemRoots: systemRoots)
        // mutant cause-clock: false by TrustSituationTests/givenTime
        if isTimeChosen { causes.removeAll(where: \.isOfClock) }
        return CheckResult(
            verdict: verdict, subject: subject, source: source, presented: presented.certificates, now: time,
            causes: verdict.causes(among: causes).map(\.namingFormerSubjects),
            warnings: warnings(
                beside: verdict, of: trust, port: port, from: source, expecting: pins,
                refusals: refusals.filter { !$0.isWhole }),
            refusals: whole, endpoint: (name, port), rule: rule)
    }

    /// Returns the exported files that reject the chain, or none if the chain isn't trusted.
    private func refusals(of trust: ServerTrust, port: UInt16, after verdict: Verdict) -> [ExportRefusal] {
        guard !exports.isEmpty, let path = verdict.path else { return [] }
        let claim = verdict.rule.map { trust.under($0) } ?? trust
        let paths = (try? claim.allPaths(beside: path, at: time, limit: Self.pathLimit)) ?? [path]
        return exports.compactMap { $0.refusal(of: paths, to: trust.name, port: port, at: time) }
    }

    /// Returns the result for a target without a rule in the policy. Such a target isn't connected to.
    func result(ofUnlisted target: Target, in file: PolicyFile) -> CheckResult {
        CheckResult(
            verdict: .unlisted(by: file.path), subject: target.description, source: .served, presented: [],
            now: time, causes: file.policy.failureCauses(forUnlisted: target.endpoint.name),
            endpoint: (target.endpoint.name, target.endpoint.port))
    }
}

extension PinFailureCause {
    /// Whether the cause is this machine's clock, which doesn't matter if the time was given.
    var isOfClock: Bool {
        switch self {
        case .clockBehind, .clockAhead: true
        default: false
        }
    }

    /// The same cause, where pins of the former CA are named by the subjects of their certificate files.
    fileprivate var namingFormerSubjects: PinFailureCause {
        guard case .authorityChanged(let pins, let anchor) = self else { return self }
        return .authorityChanged(from: pins.map(\.namedBySubject), to: anchor)
    }
}

extension Pin {
    /// The same pin, also named by the subject of its certificate if the policy gives the file.
    fileprivate var namedBySubject: Pin {
        guard let from, case .publicKey(let key) = fingerprint, let file = try? InputFile(path: from) else {
            return self
        }
        var subject: X509Name?
        do throws(KeyFile.Failure) {
            try KeyFile.read(file) { item in
                guard case .success(let material) = item.content, material.fingerprint == key else { return }
                subject = subject ?? material.subject
            }
        } catch {
            return self
        }
        guard let subject else { return self }
        return Pin(
            fingerprint, role: role, isBackup: isBackup, name: name.map { "\(subject) (\($0))" } ?? "\(subject)",
            note: note)
    }
}
