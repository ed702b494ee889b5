import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import PinctlBasics
import PinctlCommands
import PinctlTestPKI
import Testing

/// plan and the apps (GA1): for every file and every new chain, the verdict of `plan` on a release is compared with the
/// decision that the file's own system makes on the same chain.
@Suite("GA1: plan agrees with what shipped apps decide")
struct PlanAgreementTests {
    private let site: PinctlSite
    /// A public root in addition to the site's.
    private let other: TestCertificate
    private let chains: [(name: String, certificates: [TestCertificate])]
    private let store: TrustStore
    private let roots: String

    /// `www.test` is a name in one chain only, and 8443 is a port of one rule only.
    private static let hosts: [(name: String, port: Int)] = [
        ("api.example.com", 443), ("api.example.com", 8443), ("www.example.com", 443), ("deep.www.example.com", 443),
    ]
    private static let time = testTime + 6 * 3_600
    private static let unlimited = #"<certificates src="system" overridePins="true" />"#

    init() throws {
        site = try PinctlSite(host: "api.example.com")
        other = try TestCertificate.root("Other Root")
        let next = try site.root.intermediate("Next Intermediate")
        let crossSigned = try other.crossSign(site.root)
        let key = site.leaf.key
        chains = [
            ("same", site.chain),
            (
                "all names",
                [
                    try site.intermediate.leaf("api.example.com", "www.example.com", "*.www.example.com", key: key),
                    site.intermediate,
                ]
            ),
            ("new key", [try site.intermediate.leaf("api.example.com"), site.intermediate]),
            ("new intermediate", [try next.leaf("api.example.com", key: key), next]),
            ("new root", [try other.leaf("api.example.com")]),
            ("cross-signed", site.chain + [crossSigned]),
            ("not trusted", [try TestCertificate.root("Unknown").leaf("api.example.com", key: key)]),
        ]
        let anchors = [site.root, other]
        store = TrustStore(certificates: try anchors.map { try X509Certificate(derBytes: $0.derBytes) })
        roots = try site.directory.add(anchors.map(\.pemText).joined())
    }

    // MARK: Files

    /// The texts of files that pin the site's keys, each in several ways, with their names and dialects.
    private func files() throws -> [(name: String, dialect: PinDialect, text: String)] {
        let pins = [
            "leaf": try site.leaf.key.pin, "issuer": try site.intermediate.key.pin, "root": try site.root.key.pin,
            "other": try other.key.pin, "unknown": unknownPin,
        ]
        func object(_ name: String, _ role: String) -> String {
            #"{ "pin": "\#(pins[name] ?? "")", "role": "\#(role)" }"#
        }
        func policy(_ pins: [String], _ rule: String = "", top: String = "") -> String {
            #"{ "version": 1, \#(top) "domains": [{ "host": "api.example.com", "#
                + #"\#(rule) "pins": [\#(pins.joined(separator: ", "))] }] }"#
        }
        let bothRoots = [object("root", "root"), object("other", "root")]
        let past = #""expires": "2026-01-02T00:00:00Z", "onExpiry":"#
        let policies = [
            ("leaf", policy([object("leaf", "leaf"), object("unknown", "leaf")])),
            ("leaf as root", policy([object("leaf", "root"), object("unknown", "leaf")])),
            ("leaf as intermediate", policy([object("leaf", "intermediate")])),
            ("root as leaf", policy([object("root", "leaf")])),
            ("issuer as root", policy([object("issuer", "root")])),
            ("root as CA", policy([object("root", "ca")])),
            ("both roots", policy(bothRoots)),
            ("two roles", policy([object("leaf", "leaf"), object("root", "root")], #""require": ["leaf", "root"],"#)),
            ("unknown", policy([object("unknown", "any")])),
            ("report", policy([object("unknown", "any")], #""mode": "report","#)),
            ("off", policy([object("unknown", "any")], #""mode": "off","#)),
            ("ended, fail", policy(bothRoots, past + #" "fail","#)),
            ("ended, report", policy([object("unknown", "any")], past + #" "report","#)),
            ("ended, stop", policy([object("unknown", "any")], past + #" "stop-pinning","#)),
            ("port", policy([object("unknown", "any")], #""ports": [8443],"#)),
            ("other port", policy([object("root", "any")], #""ports": [443, 8443],"#)),
            ("deny leaf", policy(bothRoots, top: #""deny": [\#(object("leaf", "leaf"))],"#)),
            ("deny leaf as root", policy(bothRoots, top: #""deny": [\#(object("leaf", "root"))],"#)),
            ("unlisted", policy(bothRoots, top: #""unlisted": "refuse","#)),
            (
                "subdomains",
                policy([object("unknown", "any")], #""subdomains": true,"#).replacing("api", with: "www")
            ),
            ("bypassed", policy([object("unknown", "any")], #""localAnchorsBypassPins": true,"#)),
        ].map { ($0, PinDialect.policy, $1) }
        return policies + android(pins) + others(pins)
    }

    private func android(_ pins: [String: String]) -> [(String, PinDialect, String)] {
        func config(_ name: String, _ expiration: String? = nil, roots: String = "") -> String {
            androidText([pins[name] ?? "", unknownPin], expiration: expiration)
                .replacing("api.test", with: "api.example.com").replacing(
                    "<pin-set", with: roots.isEmpty ? "<pin-set" : "<trust-anchors>\(roots)</trust-anchors><pin-set")
        }
        let user = #"<certificates src="system" /><certificates src="user" overridePins="true" />"#
        return [
            ("leaf", config("leaf")), ("root", config("root")), ("unknown", config("unknown")),
            ("expired", config("unknown", "2026-01-01")), ("expires", config("unknown", "2027-01-01")),
            // This day has begun in UTC at the time of these tests, but not in all time zones.
            ("expires where the day begins", config("unknown", "2026-11-20")),
            ("expired where the day begins", config("leaf", "2026-11-20")),
            ("system overrides", config("unknown", roots: Self.unlimited)),
            ("user overrides", config("unknown", roots: user)), ("user overrides, leaf", config("leaf", roots: user)),
            ("below", config("root").replacing("<domain>api", with: #"<domain includeSubdomains="true">www"#)),
        ].map { ($0, .android, $1) }
    }

    private func others(_ pins: [String: String]) -> [(String, PinDialect, String)] {
        func base64(_ name: String) -> String { String((pins[name] ?? "").dropFirst("sha256/".count)) }
        func hex(_ name: String) -> String {
            (Base64.decodeCanonical(Array(base64(name).utf8)) ?? [])
                .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        func list(_ text: String) -> String { "<plist version=\"1.0\"><dict>\(text)</dict></plist>" }
        func apple(_ leaf: String?, _ authority: String?) -> String {
            func identities(_ key: String, _ name: String) -> String {
                "<key>\(key)</key><array><dict><key>SPKI-SHA256-BASE64</key>"
                    + "<string>\(base64(name))</string></dict></array>"
            }
            let keys =
                (leaf.map { identities("NSPinnedLeafIdentities", $0) } ?? "")
                + (authority.map { identities("NSPinnedCAIdentities", $0) } ?? "")
            return list(
                "<key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict><key>api.example.com</key>"
                    + "<dict>\(keys)</dict></dict></dict>")
        }
        func trustKit(_ name: String, _ more: String = "") -> String {
            let hashes = [name, "unknown"].map { "<string>\(base64($0))</string>" }.joined()
            return list(
                "<key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict><key>api.example.com</key><dict>"
                    + "<key>TSKPublicKeyHashes</key><array>\(hashes)</array>\(more)</dict></dict></dict>")
        }
        func okHttp(_ pairs: (pattern: String, name: String)...) -> String {
            let calls = pairs.map { ".add(\"\($0.pattern)\", \"\(pins[$0.name] ?? "")\")" }.joined()
            return "val pinner = CertificatePinner.Builder()\(calls).build()\n"
        }
        let day = "<key>TSKExpirationDate</key><string>2026-01-01</string>"
        let report = "<key>TSKEnforcePinning</key><false/>"
        return [
            ("leaf", .apple, apple("leaf", nil)), ("CA", .apple, apple(nil, "root")),
            ("leaf as CA", .apple, apple(nil, "leaf")), ("root as leaf", .apple, apple("root", nil)),
            (
                "required", .apple,
                apple(nil, "root").replacing(
                    "<key>NSAppTr", with: "<key>SecTrustPinningRequired</key><true/><key>NSAppTr")
            ),
            ("both", .apple, apple("leaf", "root")), ("one of both", .apple, apple("leaf", "other")),
            ("leaf", .trustkit, trustKit("leaf")), ("expired", .trustkit, trustKit("other", day)),
            ("report", .trustkit, trustKit("other", report)), ("unknown", .trustkit, trustKit("other")),
            ("root", .okhttp, okHttp(("*.example.com", "root"))),
            ("unknown", .okhttp, okHttp(("**.example.com", "unknown"))),
            ("union", .okhttp, okHttp(("api.example.com", "unknown"), ("*.example.com", "leaf"))),
            ("leaf", .curl, "sha256//\(base64("leaf"))"), ("root", .curl, "sha256//\(base64("root"))"),
            ("root", .hpkp, "pin-sha256=\"\(base64("root"))\"; pin-sha256=\"\(base64("unknown"))\"; max-age=5000"),
            ("gone", .hpkp, "pin-sha256=\"\(base64("leaf"))\"; pin-sha256=\"\(base64("unknown"))\"; max-age=0"),
            ("EE", .tlsa, "_443._tcp.api.example.com. IN TLSA 3 1 1 \(hex("leaf"))"),
            ("PKIX-EE", .tlsa, "_443._tcp.api.example.com. IN TLSA 1 1 1 \(hex("leaf"))"),
            ("TA as EE", .tlsa, "_443._tcp.api.example.com. IN TLSA 3 1 1 \(hex("root"))"),
            ("TA", .tlsa, "_8443._tcp.api.example.com. IN TLSA 2 1 1 \(hex("root"))"),
        ]
    }

    // MARK: Decisions of apps

    /// Whether an app that uses this file fails at a host; nil if it accepts a trusted chain without a pin.
    private func fails(
        _ bytes: [UInt8], _ dialect: PinDialect, path: String, _ chain: [TestCertificate],
        _ host: (name: String, port: Int)
    ) throws -> Bool? {
        let name = try ServerName(host.name)
        let certificates = try chain.map { try X509Certificate(derBytes: $0.derBytes) }
        let presented = PresentedChain(leaf: certificates[0], intermediates: Array(certificates.dropFirst()))
        let trust = ServerTrust(presented: presented, name: name, store: store, policy: .default)
        guard dialect != .policy else {
            let policy = try PolicyFile(bytes: bytes, path: path).policy
            let rule = policy.rule(for: name, port: host.port)
            let isPinned = rule.map { $0.mode != .off } ?? (policy.unlisted == .refuse)
            do throws(PinningError) {
                _ = try policy.evaluate(trust, port: host.port, at: Self.time)
                return isPinned ? false : nil
            } catch {
                // Clients verify the chain, whether it has pins or not.
                return true
            }
        }
        let policy = try dialect.read(bytes, path: path).policy
        let rules = dialect.rules(for: host.name, port: host.port, in: policy)
        guard rules.contains(where: { $0.mode != .off }) || policy.unlisted == .refuse else {
            return (try? trust.allPaths(at: Self.time, limit: 16)) == nil ? true : nil
        }
        // DANE-EE considers only the key (RFC 7671, section 5.1).
        let alone = rules.flatMap(\.pins).filter { $0.trust != .chain }
        if alone.contains(where: { $0.role == .leaf && $0.matches(presented.leaf) }) { return false }
        guard let paths = try? trust.allPaths(at: Self.time, limit: 16) else { return true }
        return [-43_200, 0, 43_200].contains { (offset: Int) -> Bool in
            let circumstances = DecisionCircumstances(at: Self.time, offset: offset, anchorSource: "system")
            return paths.contains { !policy.decide($0.certificates, by: rules, under: circumstances).isAccepted }
        }
    }

    @Test("A release is reported as breaking exactly where its app fails, for every file, new chain, host and port")
    func agreement() async throws {
        var (red, green) = (0, 0)
        for (index, file) in try files().enumerated() {
            let path = try site.directory.add(file.text, name: "release-\(index)")
            let policy = try file.dialect.read(Array(file.text.utf8), path: path).policy
            let pinsNothing = policy.rules.allSatisfy { $0.mode == .off } && policy.denied.isEmpty
            // A release without pins is judged at any host that the new certificates are for.
            let isKnown = { (host: (name: String, port: Int)) in
                policy.unlisted == .refuse || pinsNothing && host.name == "api.example.com"
                    || !file.dialect.rules(for: host.name, port: host.port, in: policy).isEmpty
            }
            let hosts = Self.hosts.filter(isKnown)
            for chain in chains {
                let new = try site.directory.add(chain.certificates.map(\.pemText).joined())
                let title = "\(file.dialect) \(file.name), \(chain.name)"
                let words = [
                    "plan", "--ca-file", roots, "--new", new, "--against", path, "--json", "--at",
                    "2026-11-20T06:00:00Z",
                ]
                if chain.name == "same", let other = Self.hosts.first(where: { !isKnown($0) }) {
                    #expect(await pinctl(words + ["--host", "\(other.name):\(other.port)"]).status == 2, "\(title)")
                }
                guard !hosts.isEmpty else { continue }
                let run = await pinctl(words + hosts.flatMap { ["--host", "\($0.name):\($0.port)"] })
                let results = try #require(try? run.decoded(as: PlanDocument.self).results, "\(title): \(run)")
                try #require(results.count == hosts.count, "\(title): \(run)")
                var isRed = false
                for (host, result) in zip(hosts, results) {
                    let verdict = try #require(result.verdict)
                    let fails = try fails(
                        Array(file.text.utf8), file.dialect, path: path, chain.certificates, host)
                    guard let fails else {
                        #expect(verdict == "no_pins" || verdict == "pinning_off", "\(title), \(host): \(verdict)")
                        continue
                    }
                    #expect(["breaks", "not_trusted"].contains(verdict) == fails, "\(title), \(host): \(verdict)")
                    if fails { red += 1 } else { green += 1 }
                    isRed = isRed || fails
                }
                #expect((run.status != 0) == isRed, "\(title): \(run.status)")
            }
        }
        // Both verdicts occur often.
        #expect(red > 300 && green > 100, "\(red) \(green)")
    }
}
