import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The effect on one release at one host.
struct PlanCell: Sendable {
    /// The standing of a release. Cases are in order of severity, and the most severe of several is reported.
    enum Standing: String, Sendable, CaseIterable, Comparable {
        case unpinned = "no_pins"
        case survives
        case survivesOnly = "survives_only"
        case off = "pinning_off"
        case depends
        case notTrusted = "not_trusted"
        case breaks

        static func < (left: Self, right: Self) -> Bool { left.rank < right.rank }

        private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

        /// Whether pins were checked and accept the new chain or key.
        var isSurvival: Bool { self == .survives || self == .survivesOnly }
    }

    var release: Int
    let host: Int
    let standing: Standing
    /// The reason in one line.
    let finding: String
    /// The pins that are each indispensable for surviving.
    let essential: [CanonicalPin]
    /// The pins of the rules.
    let pins: [CanonicalPin]
    /// The pins that match anywhere.
    let matched: [CanonicalPin]
    /// The keys with which the leaf of a breaking chain would survive, or empty if none would.
    let sufficientPins: [CanonicalPin]
    /// Whether a pin of the new leaf would make it survive.
    let acceptsLeafPins: Bool
    /// The keys with which another chain would survive, as a leaf's or a CA's, or empty if none would.
    let wayBack: [CanonicalPin]
    /// The indices of the candidates that break.
    let broken: Set<Int>
    /// Whether the release still survives if the leaf has another key.
    let standsWithoutLeaf: Bool
    /// Whether clients differ in ways that the verdict doesn't show, such as other roots.
    let hasRemarks: Bool
    /// The known end of its survival, if any.
    var end: PlanEnd?
    /// Whether the pins of the rules apply on any device.
    var countsPins = true
    /// Whether it breaks because no new certificate is valid for the host, so that no pin or key helps.
    let isUncovered: Bool
    /// Whether it depends on pins of which none is known to be one of a CA.
    let dependsOnUnknownKeys: Bool
}

extension PlanCell {
    /// The severity, from which the exit code and the level in reports follow.
    var severity: Severity {
        switch standing {
        case .breaks: .failed
        case .notTrusted: .notTrusted
        // mutant plan-unknown-issuer: false for `dependsOnUnknownKeys` by PlanRoleTests/unknownIssuers
        case .depends where dependsOnUnknownKeys: .failed
        case .depends, .off: end == nil ? .warning : .failed
        case .unpinned, .survives, .survivesOnly: end == nil ? .ok : .failed
        }
    }

    /// Combines this cell with that of an exported file: the more severe standing, and the pins that either needs.
    func joined(with other: PlanCell, of file: String) -> PlanCell {
        // mutant plan-graver-file: false by PlanRoleTests/exportedFile
        let isLessKnown = other.dependsOnUnknownKeys && !dependsOnUnknownKeys
        let isGraver = other.standing > standing || other.standing == standing && isLessKnown
        let breaking = [self, other].filter { $0.standing == .breaks }
        func shared(_ keys: KeyPath<PlanCell, [CanonicalPin]>) -> [CanonicalPin] {
            (breaking.first ?? self)[keyPath: keys].filter { pin in
                breaking.allSatisfy { $0[keyPath: keys].contains { $0.isSameKey(as: pin) } }
            }
        }
        let standing = isGraver ? other.standing : standing
        let otherEnd = other.end.map {
            PlanEnd(date: $0.date, why: "\(file): \($0.why)", isOfAnySystem: $0.isOfAnySystem)
        }
        let end = [end, otherEnd].compactMap(\.self).min()
        return PlanCell(
            release: release, host: host, standing: standing, finding: isGraver ? "\(file): \(other.finding)" : finding,
            essential: Self.union(essential, other.essential), pins: Self.union(pins, other.pins),
            matched: Self.union(matched, other.matched),
            sufficientPins: shared(\.sufficientPins),
            acceptsLeafPins: !breaking.isEmpty && breaking.allSatisfy(\.acceptsLeafPins),
            wayBack: shared(\.wayBack), broken: broken.union(other.broken),
            standsWithoutLeaf: standsWithoutLeaf && other.standsWithoutLeaf,
            // A file whose pins are off doesn't keep the other from breaking.
            hasRemarks: hasRemarks || other.hasRemarks, end: standing < .notTrusted ? end : nil,
            countsPins: countsPins || other.countsPins, isUncovered: isUncovered || other.isUncovered,
            dependsOnUnknownKeys: dependsOnUnknownKeys || other.dependsOnUnknownKeys)
    }

    /// Returns the pins of both lists, preferring those of the first.
    private static func union(_ pins: [CanonicalPin], _ others: [CanonicalPin]) -> [CanonicalPin] {
        pins + others.filter { other in !pins.contains { $0.isSameKey(as: other) } }
    }
}

extension CanonicalPin {
    func isSameKey(as other: CanonicalPin) -> Bool {
        content == other.content && digest == other.digest && value == other.value
    }
}

/// The judgements on one candidate with one trust store.
struct StoreJudgement: Sendable {
    let candidate: NewChain
    /// The index of the candidate.
    let index: Int
    /// The name of the store, or `nil` if there is only one.
    let store: String?
    /// The reason why the chain isn't trusted with the store, or `nil` if it is.
    let untrusted: String?
    let paths: [(path: VerifiedPath, judgement: PathJudgement)]
    /// The judgement on a key alone, or by pins that need no trusted chain.
    let direct: PathJudgement?

    var judgements: [PathJudgement] { direct.map { [$0] } ?? paths.map(\.judgement) }

    /// The numbers of certificates on the paths that were judged.
    var lengths: [Int] {
        guard let direct else { return paths.map(\.path.certificates.count) }
        guard case .matched(let matches) = direct else { return [1] }
        if case .below(let root) = candidate.content, let path = root.paths(at: .distantFuture).first {
            return [path.served.count]
        }
        return [(matches.map(\.index).max() ?? 0) + 1]
    }
}

extension PlanCell {
    /// Combines the judgements for all stores and for all chains that servers may serve.
    init(
        release: Int, host: Int, rule: ReleaseRule, _ stores: [StoreJudgement], names: KnownNames,
        isUncovered: Bool = false
    ) {
        self.release = release
        self.host = host
        pins = rule.pins
        let outcomes = stores.map { Outcome($0, rule: rule, names: names) }
        var standing = outcomes.map(\.standing).max() ?? .unpinned
        // If the chain is trusted with any store, the release breaks for clients with the others.
        let isTrustedSomewhere = stores.contains { $0.untrusted == nil }
        broken = Set(zip(stores, outcomes).filter { $1.standing >= .notTrusted }.map(\.0.index))
        // mutant plan-every-store: false for 2 by PlanTests/stores
        if standing == .notTrusted, isTrustedSomewhere { standing = .breaks }
        let worst = outcomes.filter { $0.standing == outcomes.map(\.standing).max() }
        let isEverywhere = worst.count == outcomes.count
        var findings: [String] = []
        for outcome in worst {
            // A provider has many chains, which share a finding.
            if let root = outcome.root, let last = findings.last, last.hasPrefix("\(outcome.finding) below ") {
                findings[findings.count - 1] += ", \(root)"
                continue
            }
            let isPlaced = !outcome.place.isEmpty && (!isEverywhere || outcome.root != nil)
            let text = isPlaced ? "\(outcome.finding) \(outcome.place)" : outcome.finding
            if !findings.contains(text) { findings.append(text) }
        }
        if !isEverywhere, standing == .breaks, outcomes.contains(where: \.standing.isSurvival) {
            findings.append("the others survive")
        }
        // Remarks don't matter if no pin applies or none was checked. A bypass that decided is already in the finding.
        let isSilent = isUncovered || standing == .unpinned || standing == .off
        let isTrusted = stores.allSatisfy { $0.untrusted == nil || $0.direct != nil }
        let remarks = rule.remarks(isTrusted: isTrusted).filter { remark in
            !isSilent && !findings.contains { $0.contains(remark) }
        }
        hasRemarks = !remarks.isEmpty
        finding = (findings + remarks).filter { !$0.isEmpty }.joined(separator: "; ")
        self.standing = standing
        self.isUncovered = isUncovered && standing == .breaks
        dependsOnUnknownKeys = stores.flatMap(\.judgements).contains { judgement in
            guard case .depends(let pins) = judgement else { return false }
            return !pins.contains { names.isAuthority($0) == true }
        }
        var seen: Set<CanonicalPin> = []
        essential = outcomes.flatMap(\.essential).filter { seen.insert($0).inserted }
        seen = []
        matched = outcomes.flatMap(\.matched).filter { seen.insert($0).inserted }
        var missing: Set<PinRole> = []
        var (isMismatch, hasRemedy) = (true, standing == .breaks && isTrusted && !isUncovered)
        for case .refused(_, let remedy) in stores.flatMap(\.judgements) {
            if let roles = remedy.roles { missing.formUnion(roles) } else { hasRemedy = false }
            if case .missing = remedy { continue }
            isMismatch = false
        }
        // One key has one position in a chain, and all of the missing roles need it there.
        let positions =
            hasRemedy ? (0...2).filter { index in missing.allSatisfy { $0.covers(index: index, of: 3) } } : []
        let helpful = rule.pins.filter { pin in positions.contains { pin.role.covers(index: $0, of: 3) } }
        wayBack = helpful
        acceptsLeafPins = isMismatch && positions.contains(0)
        sufficientPins =
            isMismatch && positions.contains(0)
            ? helpful.filter {
                // mutant plan-ca-key: true for `names.isAuthority($0) != true` by PlanRoleTests/authorityKey
                $0.content == .publicKey && $0.role.covers(index: 0, of: 3) && names.isAuthority($0) != true
            } : []
        standsWithoutLeaf = stores.allSatisfy { store in
            let stands = zip(store.judgements, store.lengths).map { judgement, length in
                guard case .matched(let matches) = judgement else { return judgement.isAccepted }
                return Outcome.holds(matches.filter { $0.index > 0 }, rule, length)
            }
            return rule.triesEveryPath ? stands.contains(true) : !stands.contains(false)
        }
    }

    /// The outcome for one chain and store.
    private struct Outcome {
        var standing: Standing
        var finding: String
        var place: String
        /// The CA and root of a chain that a provider may serve, or `nil` for a chain that was given.
        let root: String?
        var essential: [CanonicalPin] = []
        var matched: [CanonicalPin] = []

        init(_ store: StoreJudgement, rule: ReleaseRule, names: KnownNames) {
            let with = store.candidate.title
            root = store.candidate.isOfProvider ? with : nil
            let chain = "\(root == nil ? "with" : "below") \(with)"
            place = [store.store.map { "under \($0)" }, chain].compactMap(\.self).joined(separator: " ")
            // mutant plan-untrusted: false for 2 by PlanTrustTests PlanTests PlanAgreementTests
            if let reason = store.untrusted, store.direct == nil {
                // Clients verify the chain before its pins, and also if there are none.
                (standing, finding) = (.notTrusted, "not trusted: \(reason)")
                return
            }
            let judgements = store.judgements
            let accepted = judgements.filter(\.isAccepted)
            let matches = accepted.compactMap { judgement -> [CanonicalMatch]? in
                if case .matched(let matches) = judgement { matches } else { nil }
            }
            var seen: Set<CanonicalPin> = []
            matched = matches.joined().map(\.pin).filter { seen.insert($0).inserted }
            let isPartial = !accepted.isEmpty && accepted.count < judgements.count
            // mutant plan-every-path: true for 2 by PlanTests PlanSettingTests PlanAgreementTests PlanNameTests
            guard !accepted.isEmpty, !isPartial || rule.triesEveryPath else {
                (standing, finding) = Self.refusal(store, isPartial: isPartial, names: names)
                return
            }
            (standing, finding) = (.survives, "")
            for judgement in accepted {
                switch judgement {
                case .unpinned: (standing, finding) = (.unpinned, "no pins for this host")
                case .off(let day?): (standing, finding) = (.off, "pinning off since \(day)")
                case .off: (standing, finding) = (.off, "its pins are off")
                case .tolerated(let reason): (standing, finding) = (.survivesOnly, "survives: \(reason)")
                default: break
                }
            }
            guard !matches.isEmpty else { return }
            essential = matched.filter { pin in
                let breaks = zip(judgements, store.lengths).map { judgement, length in
                    guard case .matched(let matches) = judgement else { return !judgement.isAccepted }
                    return !Self.holds(matches.filter { $0.pin != pin }, rule, length)
                }
                return rule.triesEveryPath ? !breaks.contains(false) : breaks.contains(true)
            }
            let titles = matches[0].map { "\(names.title($0.pin)) (\(PlanCell.place($0, in: store)))" }
            if isPartial {
                standing = .survivesOnly
                let ends = store.paths.filter { $0.judgement.isAccepted }.map { names.title($0.path.anchor) }
                finding = "survives only by the path to \(ends.joined(separator: ", ")), which its clients find"
            } else if matched.count == 1, let pin = matched.first, root == nil {
                standing = .survivesOnly
                finding = "survives only by \(titles[0])" + (pin.isBackup ? ", a backup" : "")
            } else {
                finding = "survives by \(titles.joined(separator: ", "))"
            }
        }

        /// Returns whether these matches are enough on a path with this number of certificates.
        static func holds(_ matches: [CanonicalMatch], _ rule: ReleaseRule, _ length: Int) -> Bool {
            rule.requiredRoles.unmet(by: matches, length: length).isEmpty
        }

        private static func refusal(
            _ store: StoreJudgement, isPartial: Bool, names: KnownNames
        ) -> (Standing, String) {
            for case .depends(let pins) in store.judgements {
                let titles = pins.map { names.title($0) }.joined(separator: " or ")
                let doubt =
                    pins.contains { names.isAuthority($0) == true }
                    ? "" : ", which \(pins.count == 1 ? "isn't" : "aren't") known to be a CA's"
                return (.depends, "survives only if issued under \(titles)\(doubt)")
            }
            var reasons: [String] = []
            for case .refused(let reason, _) in store.judgements where !reasons.contains(reason) {
                reasons.append(reason)
            }
            guard isPartial else { return (.breaks, reasons.joined(separator: "; ")) }
            let ends = store.paths.filter { !$0.judgement.isAccepted }.map { names.title($0.path.anchor) }
            return (.breaks, "\(reasons.joined(separator: "; ")) on the path to \(ends.joined(separator: ", "))")
        }
    }

    private static func place(_ match: CanonicalMatch, in store: StoreJudgement) -> String {
        let path = store.paths.first { path in
            path.path.certificates.indices.contains(match.index)
                && match.pin.matches(path.path.certificates[match.index])
        }
        guard let path else { return match.index == 0 ? "leaf" : "trust anchor" }
        return PinRole(index: match.index, of: path.path.certificates.count).rawValue
    }
}
