public import CertificateTrust
public import FoundationEssentials

/// What is behind a server that was refused, or that the pins said nothing of. It explains and never accepts.
///
/// A policy is asked once more about the same claim; what was presented and not verified is looked at too, so that a
/// cause is a likelihood and no proof.
public struct PinDiagnosis: Sendable, Hashable {
    /// What holds, the likeliest first; empty when there is nothing to say beyond the refusal itself.
    public let causes: [PinFailureCause]

    /// Looks for causes.
    ///
    /// With `systemRoots`, a chain that ends at another anchor is told as inspected; leave them out where the caller
    /// trusts roots of its own. A rule with its own anchors is never held against them.
    public init(
        of trust: ServerTrust, port: Int, by policy: PinningPolicy, at time: Date, systemRoots: TrustStore? = nil
    ) {
        causes =
            Examination(trust: trust, port: port, policy: policy, time: time, systemRoots: systemRoots).causes
    }
}

extension PinDiagnosis {
    /// Looks for the rule that was meant for a host which none reaches.
    public init(ofUnlisted host: ServerName, in policy: PinningPolicy) {
        var nearest: (miss: HostMiss, rule: PinningRule)?
        for rule in policy.rules {
            guard let miss = HostMiss(host, rule), nearest.map({ miss.rank < $0.miss.rank }) ?? true else { continue }
            nearest = (miss, rule)
        }
        causes = nearest.map { [.hostMissed(host, $0.miss, $0.rule.identity)] } ?? []
    }
}

extension PinDiagnosis: CustomStringConvertible {
    /// A line for each cause.
    public var description: String { causes.map(\.description).joined(separator: "\n") }
}

/// One claim, and what is asked of it.
private struct Examination {
    let trust: ServerTrust
    let port: Int
    let policy: PinningPolicy
    let time: Date
    let systemRoots: TrustStore?

    /// Certificates that are looked into; a peer may present any number.
    private static let limit = 20
    private static let day = 86_400.0

    var causes: [PinFailureCause] {
        do throws(PinningError) {
            let accepted = try policy.evaluate(trust, port: port, at: time)
            switch accepted.decision {
            case .matched(let matches, _):
                return matches.allSatisfy(\.pin.isBackup) ? [.onlyBackup(matches.map(\.pin))] : []
            case .forgiven(let mismatch), .bypassed(let mismatch): return causes(of: mismatch)
            case .stopped(let rule): return ended(rule)
            case .unpinned(nil): return PinDiagnosis(ofUnlisted: trust.name, in: policy).causes
            case .unpinned: return []
            }
        } catch {
            switch error {
            case .denied(let match, _, _): return [.denied(match.pin)]
            case .expired(let rule, _, _): return ended(rule)
            case .mismatch(let mismatch): return causes(of: mismatch)
            case .unlisted: return PinDiagnosis(ofUnlisted: trust.name, in: policy).causes
            case .untrusted(let finding): return causes(of: finding)
            }
        }
    }

    private func ended(_ rule: PinningRule) -> [PinFailureCause] {
        rule.expiry.map { [.ruleEnded(rule.identity, $0)] } ?? []
    }

    private var presented: [X509Certificate] { Array(trust.presented.certificates.prefix(Self.limit)) }
}

// MARK: - The chain is trusted, the pins are elsewhere

extension Examination {
    private func causes(of mismatch: PinMismatch) -> [PinFailureCause] {
        let rule = mismatch.rule
        let path = mismatch.path
        var causes = mismatch.expiry == nil ? [] : ended(rule)
        let roots = systemRoots ?? rule.pinsBypassedOutside
        let isInspected = rule.anchors == nil && roots?.contains(path.anchor) == false
        if isInspected { causes.append(.inspected(by: path.anchor.subject)) }
        let missing = rule.pins.filter { pin in
            !mismatch.matches.contains { $0.pin == pin } && mismatch.unmetRoles.contains { $0.overlaps(pin.role) }
        }
        let attempts = attempts(by: rule)
        var gone: [Pin] = []
        for pin in missing {
            if let cause = cause(of: pin, in: mismatch, attempts) {
                causes.append(cause)
            } else if !pin.isBackup {
                gone.append(pin)
            }
        }
        // To ship the key of somebody between would be the wrong thing to do.
        guard !isInspected else { return causes }
        return Self.ordered(causes) + rotation(of: gone, on: path)
    }

    /// Why this pin does not match, if it has to do with what is served at all.
    private func cause(of pin: Pin, in mismatch: PinMismatch, _ attempts: [TrustAttempt]) -> PinFailureCause? {
        let path = mismatch.path.certificates
        func holdsPin(_ certificate: X509Certificate) -> Bool {
            mismatch.rule.pins.objects(of: certificate).contains(pin.object)
        }
        if let index = path.firstIndex(where: holdsPin) {
            return .wrongPosition(pin, PinRole(index: index, of: path.count))
        }
        if let certificate = (presented + anchors(by: mismatch.rule)).first(where: holdsPin) {
            return .offPath(pin, certificate, attempts.lazy.compactMap { $0.failure(at: certificate) }.first)
        }
        return wrongBytes(pin, among: path + presented.filter { !path.contains($0) })
    }

    /// Each path that was walked for the claim.
    private func attempts(by rule: PinningRule) -> [TrustAttempt] {
        var attempts: [TrustAttempt] = []
        let claim = rule.anchors.map { trust.replacingStore($0) } ?? trust
        _ = try? claim.evaluate(at: time, accepting: { _ in false }, tracing: { attempts.append($0) })
        return attempts
    }

    /// Anchors that may have issued what was presented: a server does not send them.
    private func anchors(by rule: PinningRule) -> [X509Certificate] {
        let store = rule.anchors ?? trust.store
        return presented.flatMap { store.issuers(of: $0) }
    }

    private func wrongBytes(_ pin: Pin, among certificates: [X509Certificate]) -> PinFailureCause? {
        let bytes: [32 of UInt8]
        let right: DigestInput
        switch pin.object {
        case .publicKey(let fingerprint): (bytes, right) = (fingerprint.bytes, .publicKey)
        case .certificate(let fingerprint): (bytes, right) = (fingerprint.bytes, .certificate)
        }
        let found = DigestText(bytes: bytes.indices.map { bytes[$0] })
            .map { DigestExplanation.all(of: $0, among: certificates.map { KeyHolder($0) }) }
        guard let explanation = found?.first(where: { $0.input != right }), let index = explanation.index else {
            return nil
        }
        return .wrongBytes(pin, explanation.input, of: certificates[index])
    }

    /// Mistakes in the policy before what has changed outside.
    private static func ordered(_ causes: [PinFailureCause]) -> [PinFailureCause] {
        func rank(_ cause: PinFailureCause) -> Int {
            switch cause {
            case .ruleEnded: 0
            case .wrongPosition: 1
            case .wrongBytes: 2
            default: 3
            }
        }
        return causes.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
    }

    /// What changed at the server, by the roles of the pins that are nowhere.
    private func rotation(of gone: [Pin], on path: VerifiedPath) -> [PinFailureCause] {
        var causes: [PinFailureCause] = []
        let roles = Set(gone.map(\.role))
        if !roles.isDisjoint(with: [.root, .ca]) {
            causes.append(.authorityChanged(from: gone.filter { [.root, .ca].contains($0.role) }, to: path.anchor))
        } else if roles.contains(.intermediate), path.certificates.count > 1 {
            causes.append(.intermediateChanged(to: path.certificates[1]))
        }
        if !roles.isDisjoint(with: [.leaf, .any]) { causes.append(.leafRekeyed(path.leaf)) }
        // A pin without a role may be anybody's.
        if roles == [.any], path.certificates.count > 1 {
            causes.append(.authorityChanged(from: [], to: path.anchor))
        }
        return causes
    }
}

extension TrustAttempt {
    /// Why the path came to nothing at this certificate, or right below it.
    fileprivate func failure(at certificate: X509Certificate) -> TrustFinding? {
        guard case .untrusted(let finding) = outcome, let last = certificates.last,
            certificates.contains(certificate) || last.issuer == certificate.subject
        else { return nil }
        return finding
    }
}

// MARK: - The chain is not trusted

extension Examination {
    private func causes(of finding: TrustFinding) -> [PinFailureCause] {
        switch finding.rule {
        case .notYetValid:
            let first = presented.max { $0.notBefore < $1.notBefore }
            return first.map { [.clockBehind($0)] } ?? []
        case .expired: return clockAhead()
        case .unknownIssuer: return unknownIssuer(finding)
        default: return []
        }
    }

    /// One certificate that is over was forgotten; all of them, or one for a long time, and it is the clock.
    private func clockAhead() -> [PinFailureCause] {
        let certificates = presented
        guard certificates.allSatisfy({ $0.notAfter < time }),
            let last = certificates.max(by: { $0.notAfter < $1.notAfter }),
            certificates.count > 1 || time.timeIntervalSince(last.notAfter) > 90 * Self.day
        else { return [] }
        return [.clockAhead(last)]
    }

    private func unknownIssuer(_ finding: TrustFinding) -> [PinFailureCause] {
        let rule = policy.rule(for: trust.name, port: port)
        let pinned = presented.contains { certificate in
            rule.map { rule in rule.pins.contains { rule.pins.objects(of: certificate).contains($0.object) } } == true
        }
        guard let last = finding.certificate ?? presented.last else { return [] }
        let isAlone = presented.count == 1 && !last.isSelfIssued
        let missing: [PinFailureCause] = isAlone || pinned && !last.isSelfIssued ? [.issuerMissing(last.issuer)] : []
        // With a pinned key in it the chain is the owner's. A leaf alone is a forgotten intermediate most of the time, and
        // what boxes in between send.
        return missing + (pinned ? [] : [.inspected(by: last.issuer)])
    }
}

// MARK: - No rule reaches the host

extension HostMiss {
    /// By what a rule that does not reach a host misses it; nil when it is not near.
    fileprivate init?(_ host: ServerName, _ rule: PinningRule) {
        let (wanted, given) = (host.labels, rule.host.labels)
        // Below a single label everybody is a neighbour.
        let parent = wanted.dropFirst()
        if rule.host == host || rule.includesSubdomains && host.isSubdomain(of: rule.host) {
            self = .port
        } else if host.isSubdomain(of: rule.host) {
            self = .parent
        } else if !wanted.isEmpty, wanted.joined() == given.joined() {
            self = .dot
        } else if rule.host.isSubdomain(of: host) {
            self = .child
        } else if parent.count > 1, parent == given.dropFirst() {
            self = .sibling
        } else {
            return nil
        }
    }

    /// The nearest first.
    fileprivate var rank: Int {
        switch self {
        case .port: 0
        case .parent: 1
        case .dot: 2
        case .child: 3
        case .sibling: 4
        }
    }
}
