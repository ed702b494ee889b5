import Basics
import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// A warning about a good verdict that won't stay good by itself.
struct CheckWarning: Sendable, Hashable {
    /// A stable identifier that doesn't change between versions.
    enum Kind: String, Sendable, CaseIterable {
        case backupOnly = "backup-only"
        case somePaths = "some-paths"
        case expiresSoon = "expires-soon"
        case ruleEndsSoon = "rule-ends-soon"

        /// A one-line description of the warning.
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
    /// The finding and its remedy.
    let text: String
}

extension CheckWarning {
    /// The lines about warnings in `pinctl help verdicts`.
    static var lines: [String] {
        ["", "Warnings beside a good verdict, which change the exit code with --fail-on warning alone:"]
            + Kind.allCases.map { "\(padded($0.rawValue, 15))      \($0.meaning)" }
    }
}

extension CheckWarning {
    /// Creates a warning about an exported file that accepts the chain only on some of its paths.
    init(_ refusal: ExportRefusal) {
        self.init(
            kind: .somePaths,
            text:
                "\(refusal.finding) for clients that anchor at \(refusal.anchors.joined(separator: " or ")): pin a key "
                + "that is on every path")
    }
}

/// A check for warnings, with its settings.
struct CheckWarnings: Sendable {
    /// The trust stores of other clients, each with its name.
    var stores: [(name: String, store: TrustStore)] = []
    /// The number of seconds before an expiry in which to warn about it.
    var span: TimeInterval = 14 * 86_400

    /// The maximum number of paths to examine. Each path is a way in which a client may anchor the chain.
    static let pathLimit = 16

    /// Returns all warnings about a good verdict.
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

    /// Returns a warning if certificates on a path expire within the span. It names the first one to expire.
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

    /// Returns a warning if a rule expires within the span.
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

    /// Returns a warning about valid paths without a match. The path that a client uses depends on its roots.
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

    /// Returns warnings about trust stores with which the chain isn't trusted or doesn't match a pin.
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
