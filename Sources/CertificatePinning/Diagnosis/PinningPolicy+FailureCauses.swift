public import CertificateTrust
public import PinctlFoundation

extension PinningPolicy {
    /// Returns the likely causes of a pin failure, or of pins that don't apply to a connection, the most likely first.
    /// Empty if there is nothing to add to the refusal itself.
    ///
    /// The policy is evaluated once more for the same server trust. Certificates that were presented but not verified
    /// are looked at too, so a cause is likely but not proven, and must never accept a server.
    ///
    /// With `systemRoots`, a chain that ends at another anchor is reported as intercepted. Omit them if the caller
    /// trusts roots of its own. A chain for a rule with its own anchors isn't compared with them.
    public func failureCauses(
        for trust: ServerTrust, port: Int, at time: Date, systemRoots: TrustStore? = nil
    ) -> [PinFailureCause] {
        Examination(trust: trust, port: port, policy: self, time: time, systemRoots: systemRoots).causes
    }

    /// Returns the likely causes of a chain that isn't trusted, for a client without pins.
    package static func failureCauses(withoutPins trust: ServerTrust, at time: Date) -> [PinFailureCause] {
        unpinned.failureCauses(for: trust, port: 443, at: time)
    }

    /// Returns the rule that was probably intended for a host that no rule covers, as a cause. Empty if there is none.
    public func failureCauses(forUnlisted host: ServerName) -> [PinFailureCause] {
        var nearest: (miss: HostMiss, rule: PinningRule)?
        for rule in rules {
            guard let miss = HostMiss(host, rule), nearest.map({ miss.rank < $0.miss.rank }) ?? true else { continue }
            nearest = (miss, rule)
        }
        return nearest.map { [.hostMissed(host, $0.miss, $0.rule.identity)] } ?? []
    }
}

/// The examination of one server trust under a policy.
private struct Examination {
    let trust: ServerTrust
    let port: Int
    let policy: PinningPolicy
    let time: Date
    let systemRoots: TrustStore?

    /// The most certificates examined, since a peer can present any number.
    private static let limit = 20
    private static let day = 86_400.0

    var causes: [PinFailureCause] {
        do throws(PinningError) {
            switch try policy.evaluate(trust, port: port, at: time) {
            case .matched(_, let matches, _):
                return matches.allSatisfy(\.pin.isBackup) ? [.onlyBackup(matches.map(\.pin))] : []
            case .forgiven(let mismatch), .bypassed(let mismatch): return causes(of: mismatch)
            case .stopped(_, let rule): return ended(rule)
            case .unpinned(_, nil): return policy.failureCauses(forUnlisted: trust.name)
            case .unpinned: return []
            }
        } catch {
            switch error {
            case .denied(let match, _, _): return [.denied(match.pin)]
            case .expired(let rule, _, _): return ended(rule)
            case .mismatch(let mismatch): return causes(of: mismatch)
            case .unlisted: return policy.failureCauses(forUnlisted: trust.name)
            case .untrusted(let finding): return causes(of: finding)
            }
        }
    }

    private func ended(_ rule: PinningRule) -> [PinFailureCause] {
        rule.expiry.map { [.ruleEnded(rule.identity, $0)] } ?? []
    }

    private var presented: [X509Certificate] { Array(trust.presented.certificates.prefix(Self.limit)) }
}

// MARK: - Pin mismatches on a trusted chain

extension Examination {
    private func causes(of mismatch: PinMismatch) -> [PinFailureCause] {
        let rule = mismatch.rule
        let path = mismatch.path
        var causes = mismatch.expiry == nil ? [] : ended(rule)
        let roots = systemRoots ?? rule.pinsApplyOnlyUnder
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
        // If the connection is intercepted, don't suggest the interceptor's key.
        // mutant cause-interception: true by PinFailureCauseTests
        guard !isInspected else { return causes }
        // A pin that was mistyped shows that the server still has its key.
        let mistaken = causes.compactMap { if case .wrongBytes(let pin, .mistyped, _) = $0 { pin } else { nil } }
        // mutant cause-mistaken: {} by PinFailureCauseTests/mistyped
        gone.removeAll { pin in mistaken.contains { $0.role.overlaps(pin.role) } }
        return Self.ordered(causes) + rotation(of: gone, on: path)
    }

    /// Returns the reason why this pin doesn't match, if its key is related to what the server presented.
    private func cause(of pin: Pin, in mismatch: PinMismatch, _ attempts: [TrustAttempt]) -> PinFailureCause? {
        let path = mismatch.path.certificates
        func holdsPin(_ certificate: X509Certificate) -> Bool {
            mismatch.rule.pins.fingerprints(of: certificate).contains(pin.fingerprint)
        }
        if let index = path.firstIndex(where: holdsPin) {
            return .wrongPosition(pin, PinRole(index: index, of: path.count))
        }
        if let certificate = (presented + anchors(by: mismatch.rule)).first(where: holdsPin) {
            return .offPath(pin, certificate, attempts.lazy.compactMap { $0.failure(at: certificate) }.first)
        }
        return wrongBytes(pin, among: path + presented.filter { !path.contains($0) })
    }

    /// Returns each path that was tried for the server trust.
    private func attempts(by rule: PinningRule) -> [TrustAttempt] {
        var attempts: [TrustAttempt] = []
        let claim = trust.under(rule)
        _ = try? claim.evaluate(at: time, accepting: { _ in false }, tracing: { attempts.append($0) })
        return attempts
    }

    /// Returns anchors that may have issued the presented certificates. Servers don't send these.
    private func anchors(by rule: PinningRule) -> [X509Certificate] {
        let store = rule.anchors ?? trust.store
        return presented.flatMap { store.issuers(of: $0) }
    }

    private func wrongBytes(_ pin: Pin, among certificates: [X509Certificate]) -> PinFailureCause? {
        let bytes: [32 of UInt8]
        let right: DigestInput
        switch pin.fingerprint {
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

    /// Returns the causes with mistakes in the policy before external changes.
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

    /// Returns the changes at the server, judged by the roles of the pins that weren't found.
    private func rotation(of gone: [Pin], on path: VerifiedPath) -> [PinFailureCause] {
        var causes: [PinFailureCause] = []
        let roles = Set(gone.map(\.role))
        // A pin without a role may be for any position, unless its key is known to be that of a public root.
        let authorities = gone.compactMap { pin in
            [.root, .ca].contains(pin.role) ? pin : pin.role == .any ? pin.ofPublicRoot : nil
        }
        if !authorities.isEmpty {
            causes.append(.authorityChanged(from: authorities, to: path.anchor))
        } else if roles.contains(.intermediate), path.certificates.count > 1 {
            causes.append(.intermediateChanged(to: path.certificates[1]))
        }
        let leaves = gone.filter { $0.role == .leaf }
        if !leaves.isEmpty {
            // mutant cause-leaf-replaced: false for `leaves.allSatisfy { $0.kind == .certificate }` by
            //   PinFailureCauseTests/leafReplaced
            let isWhole = leaves.allSatisfy { $0.kind == .certificate }
            causes.append(isWhole ? .leafReplaced(path.leaf) : .leafRekeyed(path.leaf))
        }
        // mutant cause-no-key-served: false for `causes.isEmpty && !gone.isEmpty` by TrustSituationTests
        return causes.isEmpty && !gone.isEmpty ? [.noKeyServed(path.anchor)] : causes
    }
}

extension TrustAttempt {
    /// Returns the reason why the path failed, if it failed at this certificate or directly below it.
    fileprivate func failure(at certificate: X509Certificate) -> TrustFinding? {
        guard case .untrusted(let finding) = outcome, let last = certificates.last,
            certificates.contains(certificate) || last.issuer == certificate.subject
        else { return nil }
        return finding
    }
}

// MARK: - Untrusted chains

extension Examination {
    private func causes(of finding: TrustFinding) -> [PinFailureCause] {
        switch finding.rule {
        case .notYetValid:
            // A leaf alone may have been issued for later.
            // mutant cause-issued-later: true by PinFailureCauseTests/clock
            guard presented.allSatisfy({ $0.notBefore > time }) else { return [] }
            return presented.max { $0.notBefore < $1.notBefore }.map { [.clockBehind($0)] } ?? []
        case .expired: return clockAhead()
        case .unknownIssuer: return unknownIssuer(finding)
        case .nameMismatch: return presented.first.flatMap(defaultCertificate).map { [$0] } ?? []
        default: return []
        }
    }

    /// Returns a clock cause if several certificates have all expired, or a single one more than 90 days ago. A single
    /// certificate that expired recently was probably just not renewed.
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
        func isPinned(_ certificate: X509Certificate) -> Bool {
            guard let rule else { return false }
            return rule.pins.contains { rule.pins.fingerprints(of: certificate).contains($0.fingerprint) }
        }
        guard let last = finding.certificate ?? presented.last else { return [] }
        // A chain up to its root lacks no certificate: that root isn't trusted.
        if last.isSelfIssued {
            // mutant cause-unknown-root: true by PinFailureCauseTests TrustSituationTests/chains
            guard last == presented.first else { return [.inspected(by: last.issuer)] }
            guard let product = last.defaultOf else { return [.selfSigned(last)] }
            return [.defaultCertificate(last, of: product)]
        }
        // If the leaf's own issuer isn't there, or a key is pinned, an intermediate is missing. TLS-intercepting
        // proxies can look the same, since they may also send only a leaf, and anyone can append a pinned certificate:
        // the remedy covers both, so that there aren't two causes that contradict.
        // mutant cause-issuer-missing: false for `last == presented.first` by TrustSituationTests/chains
        let isIncomplete = last == presented.first || presented.contains(where: isPinned)
        return [isIncomplete ? .issuerMissing(last.issuer) : .inspected(by: last.issuer)]
    }

    /// Returns the cause if a certificate for other names is one that a server presents for want of another.
    private func defaultCertificate(_ leaf: X509Certificate) -> PinFailureCause? {
        leaf.isSelfIssued || leaf.defaultOf != nil ? .defaultCertificate(leaf, of: leaf.defaultOf) : nil
    }
}

extension X509Certificate {
    /// The product that makes this certificate if it has no other, as its subject says.
    fileprivate var defaultOf: String? {
        switch subject.commonName {
        case "TRAEFIK DEFAULT CERT": "Traefik"
        case "Kubernetes Ingress Controller Fake Certificate": "the Kubernetes ingress controller"
        default: nil
        }
    }
}

extension Pin {
    /// The same pin with a name, if its key is that of a public root.
    fileprivate var ofPublicRoot: Pin? {
        guard case .publicKey(let key) = fingerprint, let root = PublicRoots.names[key] else { return nil }
        return Pin(fingerprint, role: role, isBackup: isBackup, name: name ?? root, note: note)
    }
}

// MARK: - Hosts without a rule

extension HostMiss {
    /// Determines how closely a rule misses a host. Returns nil if the rule isn't related to the host.
    fileprivate init?(_ host: ServerName, _ rule: PinningRule) {
        let (wanted, given) = (host.labels, rule.host.labels)
        // Names below a single label, such as a top-level domain, aren't related.
        let parent = wanted.dropFirst()
        if rule.covers(host) {
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

    /// The rank, which is lower for a nearer miss.
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
