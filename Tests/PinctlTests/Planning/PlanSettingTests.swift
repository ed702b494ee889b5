import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Settings other than pins that decide whether the pins count: `plan` treats them as the shipped app does.
@Suite("pinctl plan, settings that turn pins off")
struct PlanSettingTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func plan(_ words: String...) async -> Run {
        await pinctl(["plan", "--ca-file", site.rootFile, "--new", site.chainFile] + words)
    }

    /// A network security config with these elements as trust anchors.
    private func config(_ pin: String, roots: String, expiration: String? = nil) throws -> String {
        let text = androidText([pin, unknownPin], expiration: expiration)
        return try site.directory.add(
            text.replacing("<pin-set", with: "<trust-anchors>\(roots)</trust-anchors><pin-set"))
    }

    private static let system = #"<certificates src="system" />"#

    @Test("Releases of a file without pins are reported as having no pins, and nothing breaks")
    func withoutPins() async throws {
        // Clients ignore a record with this usage.
        let zone = try site.directory.add(
            "_443._tcp.api.test. IN TLSA 9 1 1 \(String(repeating: "ab", count: 32))\n", name: "zone")
        let run = await plan("--against", zone)
        #expect(run.status == 0)
        #expect(run.lines.contains("\(zone)  no pins"), "\(run)")
        #expect(run.errors == "pinctl: note: \(zone): no pins, so every trusted chain is accepted\n")
        // Next to another release, the matrix has a row for each.
        let policy = try site.policy("\"\(unknownPin)\"")
        let both = await plan("--against", zone, "--against", policy)
        #expect(both.status == 1 && both.lines.contains { $0.hasPrefix("\(zone) ") && $0.hasSuffix("  no pins") })
        // A policy with pins, but none for these hostnames, is the wrong file.
        let other = await plan("--against", try site.policy("\"\(unknownPin)\"", host: "other.test"))
        #expect(other.status == 2 && other.errors.contains("no release has a rule for a hostname of"))
        let explained = await pinctl("explain", "api.test", "--policy", zone)
        #expect(explained.status != 2)
        #expect(explained.lines[0].hasPrefix("api.test: no pins: the file pins no host, and "), "\(explained)")
    }

    @Test("A release that refuses hosts without a rule isn't said to have no pins, even if every rule is off")
    func unlisted() async throws {
        let policy = try site.directory.add(
            """
            { "version": 1, "unlisted": "refuse",
              "domains": [{ "host": "off.test", "mode": "off", "pins": ["\(unknownPin)"] }] }
            """)
        let run = await plan("--against", policy, "--host", "api.test")
        #expect(run.status == 1 && run.output.contains("it refuses hosts without a rule"), "\(run)")
        #expect(!run.errors.contains("no pins"), "\(run)")
    }

    @Test("overridePins on the system's roots turns the pins off for every public chain, and the row reports it")
    func systemOverride() async throws {
        let roots = #"<certificates src="system" overridePins="true" />"#
        let run = await plan("--against", try config(unknownPin, roots: roots))
        #expect(run.status == 0)
        #expect(
            run.lines.contains {
                $0.hasSuffix("api.test  survives: no pin is needed for chains to system roots (overridePins)")
            }, "\(run.output)")
        for roots in [Self.system, #"<certificates src="system" overridePins="false" />"#] {
            let plain = await plan("--against", try config(unknownPin, roots: roots))
            #expect(plain.status == 1 && !plain.output.contains("overridePins"), "\(plain.output)")
        }
    }

    @Test("overridePins on user-added roots changes no verdict for a public chain, and the row reports it")
    func userOverride() async throws {
        let roots = Self.system + #"<certificates src="user" overridePins="true" />"#
        let remark = "; no pin is needed for chains to user roots (overridePins)"
        let broken = await plan("--against", try config(unknownPin, roots: roots))
        #expect(broken.status == 1)
        #expect(broken.output.contains("no pin matches the new chain" + remark), "\(broken.output)")
        let kept = await plan("--against", try config(site.root.key.pin, roots: roots), "--json")
        #expect(kept.status == 0 && kept.output.contains("(root)" + remark), "\(kept.output)")
        // An inherited setting counts as well.
        let inherited = androidText([unknownPin, unknownPin]).replacing(
            "<domain-config>",
            with: "<base-config><trust-anchors><certificates src=\"system\" overridePins=\"true\" /></trust-anchors>"
                + "</base-config><domain-config>")
        #expect(try await plan("--against", site.directory.add(inherited)).status == 0)
    }

    @Test("localAnchorsBypassPins accepts a chain to a local root, but not to a root of a client's own store")
    func localAnchors() async throws {
        func policy(_ pin: String, _ bypasses: Bool) throws -> String {
            try site.policy("\"\(pin)\"", rule: "\"localAnchorsBypassPins\": \(bypasses),")
        }
        let remark = "no pin is needed for chains to roots outside the system's (localAnchorsBypassPins)"
        let local = await plan("--against", try policy(unknownPin, true))
        #expect(local.status == 0)
        #expect(local.output.contains("survives: \(remark), and this one does"), "\(local.output)")
        let plain = await plan("--against", try policy(unknownPin, false))
        #expect(plain.status == 1 && !plain.output.contains("localAnchorsBypassPins"))
        // Roots in the clients' system store aren't local there.
        let store = await pinctl(
            "plan", "--store", "clients=\(site.rootFile)", "--new", site.chainFile, "--against",
            try policy(unknownPin, true)
        )
        #expect(store.status == 1)
        #expect(store.output.contains("no pin matches the new chain; \(remark)"), "\(store.output)")
        let matched = await plan("--against", try policy(site.root.key.pin, true))
        #expect(matched.status == 0 && matched.output.contains("(root); \(remark)"), "\(matched.output)")
        // A local CA has cross-signed the system's root. Then the pins apply, as in the client.
        let own = try TestCertificate.root("Local Root")
        _ = try site.directory.add(own.pemText, name: "local.pem")
        let crossSigned = try own.crossSign(site.root)
        _ = try site.directory.add((site.chain + [crossSigned]).map(\.pemText).joined(), name: "cross-signed.pem")
        _ = try site.directory.add(own.pemText + site.root.pemText, name: "both.pem")
        for (roots, status) in [("local.pem", Int32(0)), ("both.pem", 1)] {
            let run = try await shell(
                "SSL_CERT_FILE=\(site.rootFile) pinctl plan --at 2026-11-20 --ca-file \(roots) --new cross-signed.pem "
                    + "--against \(try policy(unknownPin, true))", in: site.directory)
            #expect(run.status == status, "\(run.output)\(run.errors)")
        }
        // Nor do they if the search ends before it reaches the system's root.
        let other = try TestCertificate.selfSigned(site.root.settings, key: site.root.key)
        _ = try site.directory.add(other.pemText, name: "other.pem")
        let issuer = site.chain[1]
        let below = try issuer.intermediate("Below")
        let leaf = try below.leaf("api.test")
        for count in 0...20 {
            let fakes = try below.namesakes(count, below: issuer)
            let sent = [leaf] + fakes + [below, issuer]
            _ = try site.directory.add(sent.map(\.pemText).joined(), name: "fakes\(count).pem")
        }
        let search = try await shell(
            "for n in $(seq 0 20); do SSL_CERT_FILE=\(site.rootFile) pinctl plan --at 2026-11-20 --new fakes$n.pem "
                + "--ca-file other.pem --ca-file \(site.rootFile) --against \(try policy(unknownPin, true)) "
                + "> /dev/null; echo $?; done", in: site.directory)
        #expect(Set(search.output.split(separator: "\n")) == ["1", "4"], "\(search.output)\(search.errors)")
        // The issuer of a bare key's certificate isn't known.
        let key = try site.directory.add(TestKey().publicKeyPEM)
        let alone = await pinctl("plan", "--new", key, "--against", try policy(unknownPin, true))
        #expect(alone.status == 1 && alone.output.contains("depends"), "\(alone.output)")
    }

    @Test(
        "An Android pin-set's expiration day begins and ends up to twelve hours from UTC, and both ends count",
        arguments: [
            ("2027-01-30T12:00:00Z", 1, "no pin matches the new chain", "survives only by CN=Test Root"),
            (
                "2027-01-30T12:00:01Z", 1, "no pin matches the new chain, where 2027-01-31 hasn't begun",
                "pinning off since 2027-01-31, where it has begun"
            ),
            (
                "2027-01-31T12:00:00Z", 1, "no pin matches the new chain, where 2027-01-31 hasn't begun",
                "pinning off since 2027-01-31, where it has begun"
            ),
            ("2027-01-31T12:00:01Z", 0, "pinning off since 2027-01-31", "pinning off since 2027-01-31"),
        ])
    func dayMargin(time: String, status: Int32, finding: String, matching: String) async throws {
        func run(_ pins: [String]) async throws -> Run {
            let file = try site.directory.add(androidText(pins, expiration: "2027-01-31"), name: "\(pins.count).xml")
            return await plan("--against", file, "--at", time)
        }
        let broken = try await run([unknownPin])
        #expect(broken.status == status)
        #expect(broken.lines.contains { $0.hasSuffix("  api.test  \(finding)") }, "\(broken.output)")
        let kept = try await run([try site.root.key.pin, unknownPin])
        #expect(kept.status == 0)
        #expect(kept.output.contains(matching), "\(kept.output)")
        // The key is kept as long as a device enforces its pin.
        #expect(kept.output.contains("is retired") == (time != "2027-01-31T12:00:01Z"), "\(kept.output)")
    }

    @Test("--fail-within uses the first device on which a pin-set expires, and keys are kept for the last one")
    func dayMarginAhead() async throws {
        let file = try site.directory.add(androidText([try site.root.key.pin, unknownPin], expiration: "2027-01-31"))
        func within(_ period: String) async -> Run {
            await plan("--against", file, "--at", "2027-01-20T12:00:00Z", "--fail-within", period)
        }
        #expect(await within("10d").status == 0)
        let run = await within("11d")
        #expect(run.status == 1)
        #expect(
            run.output.contains("until 2027-01-30T12:00:01Z: its rule expires, and its pins are off then"), "\(run)")
        #expect(run.output.contains("is retired, or after 2027-01-31, when their rules have expired"), "\(run.output)")
    }

    @Test(
        "explain reports a host's expired pin-set by the device's day",
        arguments: [
            ("2027-01-30T12:00:00Z", "enforce, until 2027-01-31 (stop-pinning)"),
            ("2027-01-31T00:00:00Z", "enforce, expired 2027-01-31 (stop-pinning) where that day has begun"),
            ("2027-01-31T12:00:01Z", "enforce, expired 2027-01-31 (stop-pinning)"),
        ])
    func explained(time: String, phase: String) async throws {
        let file = try site.directory.add(androidText([unknownPin, unknownPin], expiration: "2027-01-31"))
        let run = await pinctl("explain", "api.test", "--policy", file, "--at", time)
        #expect(run.lines.contains { $0.hasSuffix("  \(phase)") }, "\(run.output)")
        let own = try site.policy(
            "\"\(unknownPin)\"", rule: #""expires": "2027-01-31T00:00:00Z", "onExpiry": "fail","#)
        let policy = await pinctl("explain", "api.test", "--policy", own, "--at", time)
        let word = time < "2027-01-31" ? "until" : "expired"
        #expect(policy.output.contains("enforce, \(word) 2027-01-31T00:00:00Z (fail)\n"), "\(policy.output)")
    }
}
