import FoundationEssentials
import PinctlCommands
import TestPKI
import Testing

@Suite("lint --issuance")
struct IssuanceTests {
    let site: PinctlSite
    /// Of the leaf in the policy, which is valid for 90 days.
    private let now = testTime

    init() throws {
        site = try PinctlSite()
        let leaf = try site.intermediate.leaf("api.test", key: site.leaf.key) {
            $0.notBefore = Int64(testTime.timeIntervalSince1970) - 86_400
            $0.notAfter = $0.notBefore + 90 * 86_400 - 1
        }
        _ = try site.folder.add(leaf.pemText, name: "leaf.pem")
    }

    /// A policy whose rule, on line 4, has some of the pins `leaf`, `root`, `backup` and `any`.
    private func policy(_ pins: String, rule: String = "", host: String = "api.test") throws -> String {
        try site.folder.add(
            """
            { "version": 1, "pins": { "leaf": { "pin": "\(try site.leaf.key.pin)", "role": "leaf", "from": "leaf.pem" },
            "root": { "pin": "\(try site.root.key.pin)", "role": "root" }, "any": { "pin": "\(strangePin)" },
            "backup": { "pin": "\(try TestKey().pin)", "role": "leaf", "backup": true } }, "domains": [
            { "host": "\(host)", \(rule) "pins": [\(pins)] } ] }
            """)
    }

    private func findings(_ policy: String, _ flags: [String]) async -> [String] {
        let run = await pinctl(["lint"] + flags + [policy], now: now)
        return run.lines.compactMap { line in
            line.hasPrefix(policy) ? String(line.dropFirst(policy.count + 1)) : nil
        }
    }

    struct Row: Sendable {
        var pins = #""leaf", "backup""#
        var rule = ""
        var host = "api.test"
        /// Each file's names, and whether its program changes the key.
        var files: [(names: String, changes: Bool)]
        /// The severity and rule of each finding about renewals and lifetimes.
        let findings: [String]
    }

    static let rows = [
        // Without a file about the host, a short lifetime is reason enough.
        Row(files: [("www.test", false)], findings: ["error[P011]", "warning[P035]"]),
        Row(files: [("api.test", true)], findings: ["error[P035]"]),
        Row(files: [("api.test", false)], findings: []),
        Row(files: [("API.test", true)], findings: ["error[P035]"]),
        Row(host: "xn--bcher-kva.example", files: [("Bücher.example", true)], findings: ["error[P035]"]),
        Row(host: "2001:db8::1", files: [("2001:db8:0::1", true)], findings: ["error[P035]"]),
        Row(files: [("*.test", true)], findings: ["error[P035]"]),
        Row(files: [("*.api.test", true)], findings: ["error[P011]", "warning[P035]"]),
        Row(host: "test.example", files: [("www.test.example", true)], findings: ["error[P011]", "warning[P035]"]),
        Row(
            rule: #""subdomains": true,"#, host: "test.example", files: [("a.b.test.example", true)],
            findings: ["error[P035]"]),
        // One of two servers is enough to break clients.
        Row(files: [("api.test", false), ("api.test", true)], findings: ["error[P035]"]),
        Row(files: [("www.test", true), ("api.test", false)], findings: []),
        // Another pin matches after the renewal.
        Row(pins: #""leaf", "root", "backup""#, files: [("api.test", true)], findings: ["warning[P035]"]),
        Row(
            pins: #""leaf", "root", "backup""#, rule: #""require": ["leaf", "root"],"#, files: [("api.test", true)],
            findings: ["error[P035]"]),
        Row(pins: #""root", "backup""#, files: [("api.test", true)], findings: []),
        Row(pins: #""root", "backup""#, files: [("www.test", false)], findings: []),
        // The pin may be that of a CA.
        Row(pins: #""any", "backup""#, files: [("api.test", true)], findings: ["warning[P035]"]),
        Row(pins: #""any", "backup""#, files: [("www.test", true)], findings: []),
        Row(rule: #""mode": "off","#, files: [("api.test", true)], findings: []),
    ]

    @Test("A pinned key that a program replaces is an error, unless another pin matches", arguments: rows.indices)
    func judges(index: Int) async throws {
        let row = Self.rows[index]
        let files = try row.files.map { file in
            try site.folder.add("Le_Domain='\(file.names)'\nLe_ForceNewDomainKey='\(file.changes ? 1 : 0)'\n")
        }
        let policy = try policy(row.pins, rule: row.rule, host: row.host)
        let found = await findings(policy, files.flatMap { ["--issuance", $0] })
        let words = found.filter { $0.contains("[P011]") || $0.contains("[P035]") }
            .compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
        #expect(words == row.findings, "\(found)")
    }

    @Test("The finding names the program, the file, the line, the setting and the remedy, and can be allowed")
    func message() async throws {
        let file = try site.folder.add("Le_Domain='api.test'\n\nLe_ForceNewDomainKey='1'\n")
        let path = try policy(#""leaf", "backup""#)
        let run = await pinctl("lint", "--issuance", file, path, now: now)
        #expect(
            run.lines.first
                == "\(path):4:1: error[P035] api.test pins leaf, but acme.sh creates a new key at each renewal "
                + "(\(file):3:1: Le_ForceNewDomainKey='1'): delete that line while the pinned key is still in place")
        #expect(run.status == 1)
        #expect(await pinctl("lint", "--issuance", file, "--rule", "P035=off", path, now: now).status == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let allowed = try site.folder.add(
            text.replacing("{ \"host\"", with: "// pinctl-allow P035: a test\n{ \"host\""))
        #expect(await pinctl("lint", "--issuance", file, allowed, now: now).status == 0)
    }

    @Test("A directory means its issuance files, and certbot's certificates give the hosts")
    func directory() async throws {
        let chain = try site.folder.add(
            try site.intermediate.leaf("api.test", "www.test").pemText, name: "cert.pem")
        let made = try await shell(
            "mkdir renewal renewal/inner empty; cp leaf.pem renewal; cp leaf.pem empty", in: site.folder)
        #expect(made.status == 0)
        for (name, text) in [
            ("renewal/web.conf", "cert = \(chain)\n[renewalparams]\n"),
            ("renewal/inner/api.test.conf", "[renewalparams]\n"),
        ] {
            _ = try site.folder.add(text, name: name)
        }
        let policy = try policy(#""leaf", "backup""#)
        let found = await findings(policy, ["--issuance", site.folder.path + "/renewal"])
        #expect(found.count == 1 && found[0].contains("error[P035]"), "\(found)")
        #expect(found.first?.contains("renewal/web.conf:2:1: [renewalparams] has no reuse_key") == true)
        for name in ["empty", "leaf.pem", "nothing"] {
            let run = await pinctl("lint", "--issuance", site.folder.path + "/" + name, policy, now: now)
            #expect(run.status == 2, "\(name)")
        }
    }

    @Test("certbot's options that ask for another key than the reused one are an error, whatever is pinned")
    func stopped() async throws {
        let chain = try site.folder.add(try site.intermediate.leaf("api.test").pemText, name: "cert.pem")
        #expect(try await shell("mkdir etc etc/renewal", in: site.folder).status == 0)
        _ = try site.folder.add("key-type = rsa\n", name: "etc/cli.ini")
        let renewal = try site.folder.add(
            "cert = \(chain)\n[renewalparams]\nkey_type = ecdsa\nreuse_key = True\n", name: "etc/renewal/api.test.conf")
        for pins in [#""leaf", "backup""#, #""root", "backup""#] {
            let run = await pinctl("lint", "--issuance", renewal, try policy(pins), now: now)
            #expect(
                run.output.contains(
                    "error[P037] api.test has a certificate that certbot refuses to renew, so it will expire "
                        + "(\(site.folder.path)/etc/cli.ini:1:1: key-type = rsa, but the certificate has ecdsa, and its "
                        + "key is reused): delete key-type, or write key-type = ecdsa"), "\(run.output)\(run.errors)")
            #expect(run.status == 1)
        }
    }

    @Test("A certbot file whose certificate can't be read is an error that names both, unless it lists its hosts")
    func unreadableCertificate() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let missing = site.folder.path + "/live/api.test/cert.pem"
        let broken = try site.folder.add("none\n", name: "none.pem")
        for certificate in [missing, broken] {
            let file = try site.folder.add("cert = \(certificate)\n[renewalparams]\nreuse_key = False\n")
            let run = await pinctl("lint", "--issuance", file, policy, now: now)
            #expect(run.status == 2 && run.output == "", "\(run)")
            #expect(run.errors.contains("\(file):1:1: error: the hosts of this certificate aren't known, because "))
            #expect(run.errors.contains(certificate) && run.errors.contains("run pinctl as a user who can read it"))
        }
        let listed = try site.folder.add(
            "cert = \(missing)\n[renewalparams]\n[[webroot_map]]\napi.test = /srv\n", name: "listed.conf")
        let run = await pinctl("lint", "--issuance", listed, policy, now: now)
        #expect(run.status == 1 && run.output.contains("error[P035] api.test pins leaf"), "\(run)")
    }

    @Test("Files in other dialects are judged too")
    func dialects() async throws {
        let file = try site.folder.add("api.test {\n}\n", name: "Caddyfile")
        let plist = try site.folder.add(
            """
            <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict>
            <key>api.test</key><dict><key>NSPinnedLeafIdentities</key><array>
            <dict><key>SPKI-SHA256-BASE64</key><string>\(strangePin.dropFirst("sha256/".count))</string></dict>
            </array></dict></dict></dict></dict></plist>
            """)
        let run = await pinctl("lint", "--issuance", file, plist, now: now)
        #expect(run.output.contains("error[P035] api.test pins"), "\(run.output)\(run.errors)")
    }
}
