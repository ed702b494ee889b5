import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// Something beside a good verdict that will not stay good by itself.
struct CheckWarning: Sendable, Hashable {
    /// A word that stays the same across versions.
    enum Kind: String, Sendable, CaseIterable {
        case backupOnly = "backup-only"
        case somePaths = "some-paths"
        case expiresSoon = "expires-soon"
        case ruleEndsSoon = "rule-ends-soon"

        /// What it means, in a line.
        var meaning: String {
            switch self {
            case .backupOnly: "pins match, but backups alone"
            case .somePaths: "pins match, but not for the clients of every path or store"
            case .expiresSoon: "a certificate of the path ends soon"
            case .ruleEndsSoon: "the rule ends soon"
            }
        }
    }

    let kind: Kind
    /// What is the case, and what to do.
    let text: String
}

extension CheckWarning {
    /// What `pinctl help verdicts` says of them.
    static var lines: [String] {
        ["", "Warnings beside a good verdict, which change the exit code with --fail-on warning alone:"]
            + Kind.allCases.map { "\(padded($0.rawValue, 15))      \($0.meaning)" }
    }
}

extension CheckWarning {
    /// An exported file that accepts the chain on some of its paths alone.
    init(_ refusal: ExportRefusal) {
        self.init(
            kind: .somePaths,
            text:
                "\(refusal.finding) for clients that anchor at \(refusal.anchors.joined(separator: " or ")): pin a key "
                + "that is on every path")
    }
}

/// What warnings are looked for with.
struct CheckWarnings: Sendable {
    /// Stores of other clients, each with its name.
    var stores: [(name: String, store: TrustStore)] = []
    /// Seconds before an end in which it is near.
    var span: TimeInterval = 14 * 86_400

    /// Paths that are looked at: each way in which a client may anchor the chain.
    static let pathLimit = 16

    /// What is to be said of a claim whose verdict is good.
    func all(
        beside verdict: Verdict, of trust: ServerTrust, port: UInt16, expecting expectation: Expectation, at time: Date
    ) -> [CheckWarning] {
        guard verdict.status == .good, let path = verdict.path else { return [] }
        var warnings: [CheckWarning] = []
        if case .matched(_, let matches, let rule) = verdict {
            if matches.allSatisfy(\.pin.isBackup) {
                let cause = PinFailureCause.onlyBackup(matches.map(\.pin))
                warnings.append(CheckWarning(kind: .backupOnly, text: "\(cause.finding): \(cause.remedy)"))
            }
            warnings += paths(of: trust, beside: path, rule, port: port, expecting: expectation, at: time)
        }
        warnings += underStores(trust, port: port, expecting: expectation, at: time)
        warnings += expiring(on: path, at: time)
        if let rule = verdict.rule { warnings += ending(rule, at: time) }
        return warnings
    }

    /// A certificate of a path that ends within the span; of several the first to end.
    func expiring(on path: VerifiedPath, at time: Date) -> [CheckWarning] {
        guard let first = path.certificates.min(by: { $0.notAfter < $1.notAfter }),
            first.notAfter.timeIntervalSince(time) < span
        else { return [] }
        let role = PinRole(index: path.certificates.firstIndex(of: first) ?? 0, of: path.certificates.count)
        return [
            CheckWarning(
                kind: .expiresSoon,
                text: "the \(role.rawValue) ends soon, \(first.subject) on \(expiry(first, now: time)): renew it")
        ]
    }

    /// The end of a rule, when it is near.
    func ending(_ rule: PinningRule, at time: Date) -> [CheckWarning] {
        guard rule.mode != .off, let expiry = rule.expiry, !expiry.isPast(at: time),
            expiry.end.timeIntervalSince(time) < span
        else { return [] }
        let then = expiry.action == .fail ? "clients refuse every server then" : "clients pin no more then"
        return [
            CheckWarning(
                kind: .ruleEndsSoon,
                text: "the rule ends at \(expiry.end.rfc3339), and \(then): ship a policy with a later end")
        ]
    }

    /// Valid paths without a match: clients take whichever their roots lead to.
    private func paths(
        of trust: ServerTrust, beside path: VerifiedPath, _ rule: PinningRule, port: UInt16,
        expecting expectation: Expectation, at time: Date
    ) -> [CheckWarning] {
        guard case .pins(let policy) = expectation else { return [] }
        let claim = rule.anchors.map { trust.replacingStore($0) } ?? trust
        guard let paths = try? claim.allPaths(beside: path, at: time, limit: Self.pathLimit), paths.count > 1 else {
            return []
        }
        let failing = paths.filter { path in
            if case .matched? = try? policy.decide(path, port: Int(port), at: time) { false } else { true }
        }
        guard !failing.isEmpty else { return [] }
        var anchors: [String] = []
        for path in failing where !anchors.contains(path.anchor.subject.description) {
            anchors.append(path.anchor.subject.description)
        }
        return [
            CheckWarning(
                kind: .somePaths,
                text: "matched on \(paths.count - failing.count) of \(paths.count) trust paths: clients that anchor at "
                    + "\(anchors.joined(separator: " or ")) would fail: pin a key that is on every path")
        ]
    }

    /// Stores under which the chain is not trusted, or holds no pin.
    private func underStores(
        _ trust: ServerTrust, port: UInt16, expecting expectation: Expectation, at time: Date
    ) -> [CheckWarning] {
        stores.compactMap { name, store in
            let verdict = Verdict(on: trust.replacingStore(store), port: port, expecting: expectation, time: time)
            guard verdict.status != .good else { return nil }
            let path = verdict.path.map { path in
                ": " + path.certificates.map { $0.subject.commonName ?? "\($0.subject)" }.joined(separator: " < ")
            }
            return CheckWarning(
                kind: .somePaths,
                text: "clients with the roots of store \(name) would fail: \(verdict.shortFinding)\(path ?? "")")
        }
    }
}
