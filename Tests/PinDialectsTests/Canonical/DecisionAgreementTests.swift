import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import TestPKI
import Testing

/// `plan` judges this project's own policies through the canonical model, so its decisions are compared with those of
/// the apps.
struct DecisionAgreementTests {
    private static let time = Date(timeIntervalSince1970: 1_795_136_400)
    private static let names = ["a.test", "b.a.test", "c.b.a.test", "x.pages.test", "other.test"]
    private static let ports = [443, 8443]

    /// Two roots that have cross-signed each other's intermediate, so that there is a path to each.
    private let root: TestCertificate
    private let other: TestCertificate
    private let stranger: TestCertificate
    private let intermediate: TestCertificate
    private let leaf: TestCertificate
    private let stores: [TrustStore]

    init() throws {
        root = try TestCertificate.root("Root")
        other = try TestCertificate.root("Other Root")
        stranger = try TestCertificate.root("Stranger")
        intermediate = try root.intermediate("Intermediate")
        leaf = try intermediate.leaf("a.test", "*.a.test", "*.b.a.test", "x.pages.test", "other.test")
        stores = try [[root], [other], [root, other]].map { anchors in
            TrustStore(certificates: try anchors.map { try X509Certificate(derBytes: $0.derBytes) })
        }
    }

    /// Random numbers from a seed.
    private struct Source {
        private var state: UInt64

        init(seed: Int) { state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

        mutating func number(below limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }

        mutating func one<Value>(_ values: [Value]) -> Value { values[number(below: values.count)] }
    }

    private func pin(_ source: inout Source) throws -> Pin {
        let certificate = try X509Certificate(
            derBytes: source.one([leaf, intermediate, root, other, stranger, stranger]).derBytes)
        let fingerprint: PinFingerprint =
            source.number(below: 3) == 0
            ? .certificate(certificate.fingerprint) : .publicKey(certificate.spkiFingerprint)
        return Pin(fingerprint, role: source.one(PinRole.allCases), isBackup: source.number(below: 3) == 0)
    }

    private func rule(_ host: String, ports: Set<Int>?, _ source: inout Source) throws -> PinningRule {
        var pins: [Pin] = []
        for _ in 0...source.number(below: 3) { pins.append(try pin(&source)) }
        let roles = Set(PinRole.allCases.filter { _ in source.number(below: 3) == 0 })
            .filter { role in pins.contains { $0.role.overlaps(role) } }
        let end = Self.time + Double(source.number(below: 3) - 1) * 3_600
        return PinningRule(
            host: try ServerName(host), includesSubdomains: source.number(below: 2) == 0,
            ownsPublicSuffix: host == "pages.test", ports: ports, pins: pins,
            requirement: roles.isEmpty || source.number(below: 2) == 0 ? .any : .eachOf(roles),
            mode: source.one([.enforce, .enforce, .report, .off]),
            expiry: source.number(below: 2) == 0
                ? PinningExpiry(at: end, then: source.one(PinningExpiry.Action.allCases)) : nil,
            anchors: source.number(below: 3) == 0 ? source.one(stores) : nil,
            pinsApplyOnlyUnder: source.number(below: 3) == 0 ? source.one(stores) : nil)
    }

    private func policy(_ source: inout Source) throws -> PinningPolicy {
        var rules: [PinningRule] = []
        for host in ["a.test", "b.a.test", "pages.test", "other.test"] {
            switch source.number(below: 4) {
            case 0: continue
            case 1:
                for port in Self.ports { rules.append(try rule(host, ports: [port], &source)) }
            case 2: rules.append(try rule(host, ports: [source.one(Self.ports)], &source))
            default: rules.append(try rule(host, ports: nil, &source))
            }
        }
        if rules.isEmpty { rules.append(try rule("a.test", ports: nil, &source)) }
        let suffixes = "// ===BEGIN ICANN DOMAINS===\ntest\n// ===BEGIN PRIVATE DOMAINS===\npages.test\n"
        return try PinningPolicy(
            rules: rules, unlisted: source.one([.trust, .trust, .refuse]),
            deny: source.number(below: 4) == 0 ? [try pin(&source)] : [],
            publicSuffixes: PublicSuffixes(list: Array(suffixes.utf8)))
    }

    private typealias Outcome = (verdict: CanonicalDecision.Verdict, matched: [Int], unmet: [PinRole])

    /// Returns the decision of an app in the words of the canonical model.
    private func decision(_ policy: PinningPolicy, _ path: VerifiedPath, _ port: Int) -> Outcome {
        do throws(PinningError) {
            switch try policy.decide(path, port: port, at: Self.time) {
            case .matched(_, let matches, _): return (.matched, matches.map(\.index), [])
            case .unpinned, .stopped: return (.unpinned, [], [])
            case .forgiven(let mismatch): return (.forgiven, mismatch.matches.map(\.index), mismatch.unmetRoles)
            case .bypassed(let mismatch): return (.bypassed, mismatch.matches.map(\.index), mismatch.unmetRoles)
            }
        } catch {
            switch error {
            case .mismatch(let mismatch): return (.refused, mismatch.matches.map(\.index), mismatch.unmetRoles)
            case .denied(let match, _, _): return (.denied, [match.index], [])
            case .expired: return (.ended, [], [])
            case .unlisted: return (.unlisted, [], [])
            case .untrusted: return (.refused, [], PinRole.allCases)
            }
        }
    }

    @Test("The canonical model decides as this project's clients do, for every generated policy, host, port and path")
    func agreement() throws {
        let crossSigned = try other.crossSign(root)
        let chain = try [leaf, intermediate, crossSigned].map { try X509Certificate(derBytes: $0.derBytes) }
        let presented = PresentedChain(leaf: chain[0], intermediates: Array(chain.dropFirst()))
        var paths: [String: [VerifiedPath]] = [:]
        for name in Self.names {
            paths[name] = try ServerTrust(
                presented: presented, name: ServerName(name), store: stores[2], policy: .default
            ).allPaths(at: Self.time, limit: 16)
            try #require(paths[name]?.count == 2)
        }
        var counts: [CanonicalDecision.Verdict: Int] = [:]
        for seed in 0..<300 {
            var source = Source(seed: seed)
            let policy = try policy(&source)
            let canonical = CanonicalPolicy(policy)
            let table = HostTable(canonical, of: .policy)
            for (name, port) in Self.names.flatMap({ name in Self.ports.map { (name, $0) } }) {
                let host = try ServerName(name)
                let rule = policy.rule(for: host, port: port)
                let rules = table.rules(for: name, port: port)
                #expect(rules.map(\.patterns[0].host) == (rule.map { [$0.host.description] } ?? []))
                #expect(rules.first?.stores.anchors?.digest == rule?.anchors?.digest)
                for path in paths[name] ?? [] {
                    let expected = decision(policy, path, port)
                    let found = canonical.decide(
                        path.certificates, by: rules, under: DecisionCircumstances(at: Self.time))
                    var matched = found.matches.map(\.index)
                    // An app names only the first denied certificate.
                    if found.verdict == .denied { matched = Array(matched.prefix(1)) }
                    #expect(
                        found.verdict == expected.verdict && Set(matched) == Set(expected.matched)
                            && found.unmetRoles == expected.unmet, "seed \(seed), \(name):\(port)")
                    counts[found.verdict, default: 0] += 1
                }
            }
        }
        for verdict in CanonicalDecision.Verdict.allCases {
            #expect(counts[verdict, default: 0] > 20, "\(verdict): \(counts[verdict, default: 0])")
        }
    }
}
