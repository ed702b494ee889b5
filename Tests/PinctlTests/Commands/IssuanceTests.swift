import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
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
        _ = try site.directory.add(leaf.pemText, name: "leaf.pem")
    }

    /// A policy whose rule, on line 4, has some of the pins `leaf`, `root`, `backup` and `any`.
    private func policy(_ pins: String, rule: String = "", host: String = "api.test") throws -> String {
        try site.directory.add(
            """
            { "version": 1, "pins": { "leaf": { "pin": "\(try site.leaf.key.pin)", "role": "leaf", "from": "leaf.pem" },
            "root": { "pin": "\(try site.root.key.pin)", "role": "root" }, "any": { "pin": "\(unknownPin)" },
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
            try site.directory.add("Le_Domain='\(file.names)'\nLe_ForceNewDomainKey='\(file.changes ? 1 : 0)'\n")
        }
        let policy = try policy(row.pins, rule: row.rule, host: row.host)
        let found = await findings(policy, files.flatMap { ["--issuance", $0] })
        let words = found.filter { $0.contains("[P011]") || $0.contains("[P035]") }
            .compactMap { $0.split(separator: " ").dropFirst().first.map(String.init) }
        #expect(words == row.findings, "\(found)")
    }

    @Test("The finding names the program, the file, the line, the setting and the remedy, and can be allowed")
    func message() async throws {
        let file = try site.directory.add("Le_Domain='api.test'\n\nLe_ForceNewDomainKey='1'\n")
        let path = try policy(#""leaf", "backup""#)
        let run = await pinctl("lint", "--issuance", file, path, now: now)
        #expect(
            run.lines.first
                == "\(path):4:1: error[P035] api.test pins leaf, but acme.sh creates a new key at each renewal "
                + "(\(file):3:1: Le_ForceNewDomainKey='1'): delete that line while the pinned key is still in place")
        #expect(run.status == 1)
        #expect(await pinctl("lint", "--issuance", file, "--rule", "P035=off", path, now: now).status == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let allowed = try site.directory.add(
            text.replacing("{ \"host\"", with: "// pinctl-allow P035: a test\n{ \"host\""))
        #expect(await pinctl("lint", "--issuance", file, allowed, now: now).status == 0)
    }

    @Test("A directory means its issuance files, and certbot's certificates give the hosts")
    func directory() async throws {
        let chain = try site.directory.add(
            try site.intermediate.leaf("api.test", "www.test", key: site.leaf.key).pemText, name: "cert.pem")
        let made = try await shell(
            "mkdir renewal renewal/inner empty text; cp leaf.pem renewal; echo text >text/README", in: site.directory)
        #expect(made.status == 0)
        for (name, text) in [
            ("renewal/web.conf", "cert = \(chain)\n[renewalparams]\n"),
            ("renewal/inner/api.test.conf", "[renewalparams]\n"),
        ] {
            _ = try site.directory.add(text, name: name)
        }
        let policy = try policy(#""leaf", "backup""#)
        let found = await findings(policy, ["--issuance", site.directory.path + "/renewal"])
        #expect(found.count == 1 && found[0].contains("error[P035]"), "\(found)")
        #expect(found.first?.contains("renewal/web.conf:2:1: [renewalparams] has no reuse_key") == true)
        for name in ["empty", "text", "leaf.pem", "nothing"] {
            let run = await pinctl("lint", "--issuance", site.directory.path + "/" + name, policy, now: now)
            #expect(run.status == 2, "\(name)")
        }
    }

    @Test("certbot's options that ask for another key than the reused one are an error, whatever is pinned")
    func stopped() async throws {
        let chain = try site.directory.add(try site.intermediate.leaf("api.test").pemText, name: "cert.pem")
        #expect(try await shell("mkdir etc etc/renewal", in: site.directory).status == 0)
        _ = try site.directory.add("key-type = rsa\n", name: "etc/cli.ini")
        let renewal = try site.directory.add(
            "cert = \(chain)\n[renewalparams]\nkey_type = ecdsa\nreuse_key = True\n", name: "etc/renewal/api.test.conf")
        for pins in [#""leaf", "backup""#, #""root", "backup""#] {
            let run = await pinctl("lint", "--issuance", renewal, try policy(pins), now: now)
            #expect(
                run.output.contains(
                    "error[P037] api.test has a certificate that certbot refuses to renew, so it will expire "
                        + "(\(site.directory.path)/etc/cli.ini:1:1: key-type = rsa, but the certificate has ecdsa, and "
                        + "its key is reused): delete key-type, or write key-type = ecdsa"),
                "\(run.output)\(run.errors)")
            #expect(run.status == 1)
        }
    }

    @Test("A certbot file whose certificate can't be read is an error that names both, unless it lists its hosts")
    func unreadableCertificate() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let missing = site.directory.path + "/live/api.test/cert.pem"
        let broken = try site.directory.add("none\n", name: "none.pem")
        for certificate in [missing, broken] {
            let file = try site.directory.add("cert = \(certificate)\n[renewalparams]\nreuse_key = False\n")
            let run = await pinctl("lint", "--issuance", file, policy, now: now)
            #expect(run.status == 2 && run.output == "", "\(run)")
            #expect(run.errors.contains("\(file):1:1: error: the hosts of this certificate aren't known, because "))
            #expect(run.errors.contains(certificate) && run.errors.contains("run pinctl as a user who can read it"))
        }
        let listed = try site.directory.add(
            "cert = \(missing)\n[renewalparams]\n[[webroot_map]]\napi.test = /srv\n", name: "listed.conf")
        let run = await pinctl("lint", "--issuance", listed, policy, now: now)
        #expect(run.status == 1 && run.output.contains("error[P035] api.test pins leaf"), "\(run)")
        #expect(
            run.output.contains("warning[P035] api.test has a certificate of certbot that isn't compared"), "\(run)")
    }

    /// Writes a file below the site's directory, and returns its path.
    @discardableResult
    private func put(_ text: String, _ name: String) throws -> String {
        let path = "\(site.directory.path)/\(name)"
        let directory = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Returns a directory with certificates, a day apart, by the numbers of their keys, and their keys. Each is in a
    /// directory whose name says nothing about the order.
    private func archive(
        _ keys: [Int], for names: [String] = ["api.test"], days: Int64 = 90, later: Int64 = 0,
        isSelfSigned: Bool = false, isForClients: Bool = false
    ) throws -> String {
        let path = "archive\(UInt32.random(in: 0...(.max)))"
        var known = [0: site.leaf.key]
        for (index, number) in keys.enumerated() {
            let key = try known[number] ?? TestKey()
            known[number] = key
            var settings = TestCertificate.Settings.server(names)
            settings.notBefore = Int64(now.timeIntervalSince1970) + Int64(index - keys.count) * 86_400 + later * 86_400
            settings.notAfter = settings.notBefore + days * 86_400 - 1
            if isForClients { settings.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth] }
            let leaf = try isSelfSigned ? .selfSigned(settings, key: key) : site.intermediate.issue(settings, key: key)
            try put(leaf.pemText + site.intermediate.pemText, "\(path)/\(keys.count - index)/fullchain.pem")
            try put(try key.privateKeyPEM, "\(path)/\(keys.count - index)/privkey.pem")
        }
        return "\(site.directory.path)/\(path)"
    }

    static let histories: [(keys: [Int], summary: String)] = [
        ([0], "warning one certificate doesn't show whether a renewal keeps the key"),
        ([0, 0], ""), ([0, 0, 0], ""), ([1, 2, 0, 0, 0], ""),
        ([1, 0], "error the last 2 certificates have 2 different keys"),
        ([2, 1, 0], "error the last 3 certificates have 3 different keys"),
        ([2, 2, 2, 1, 0], "error the last 3 certificates have 3 different keys"),
        ([1, 1, 0], "warning the last 3 certificates have 2 different keys"),
        ([1, 0, 0], "warning the last 3 certificates have 2 different keys"),
        ([0, 1, 0], "warning the last 3 certificates have 2 different keys"),
    ]

    @Test("The last certificates in a directory show whether renewals keep the key", arguments: histories)
    func history(keys: [Int], summary: String) async throws {
        let archive = try archive(keys)
        let policy = try policy(#""leaf", "backup""#)
        let found = await findings(policy, ["--issuance", archive, "--rule", "P011=off"])
        guard let severity = summary.split(separator: " ").first else { return #expect(found == []) }
        #expect(found.count == 1 && found[0].hasPrefix("4:1: \(severity)[P035] api.test pins leaf"), "\(found)")
        #expect(found.first?.contains("(\(archive): \(summary.dropFirst(severity.count + 1))): ") == true, "\(found)")
    }

    @Test("The finding about a directory of certificates says what to do, and a key that is kept suffices for P011")
    func archiveMessage() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let changing = try archive([1, 0])
        let run = await pinctl("lint", "--issuance", changing, policy, now: now)
        #expect(
            run.lines.contains(
                "\(policy):4:1: error[P035] api.test pins leaf, but the ACME client creates a new key at each renewal "
                    + "(\(changing): the last 2 certificates have 2 different keys): have it keep the key, as with the "
                    + "option --reuse-key of certbot and lego"), "\(run)")
        #expect(run.status == 1)
        #expect(try await findings(policy, ["--issuance", archive([0, 0])]) == [])
        let single = try await findings(policy, ["--issuance", archive([0])])
        #expect(single.map { $0.split(separator: " ")[1] } == ["error[P011]", "warning[P035]"])
        let expired = try await findings(policy, ["--issuance", archive([0, 0], days: 1), "--rule", "P011=off"])
        #expect(expired.count == 1 && expired[0].contains("the last certificate has expired"), "\(expired)")
    }

    @Test("Certificates that no server has presented don't show that a renewal keeps the key")
    func unusedCertificates() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let rows = try [
            archive([0, 0, 0], later: 30), archive([0, 0, 0], isSelfSigned: true),
            archive([0, 0, 0], isForClients: true),
        ]
        for unused in rows {
            let served = try archive([1, 0])
            #expect(try await shell("cp -r \(unused) \(served)/unused", in: site.directory).status == 0)
            let found = await findings(policy, ["--issuance", served, "--rule", "P011=off"])
            #expect(found.count == 1 && found[0].contains("the last 2 certificates have 2 different keys"), "\(found)")
        }
        // Another host may have certificates of a CA.
        let mixed = try archive([1, 2], for: ["www.test"])
        let own = try archive([0, 0], isSelfSigned: true)
        #expect(try await shell("cp -r \(own) \(mixed)/own", in: site.directory).status == 0)
        #expect(await findings(policy, ["--issuance", mixed]) == [])
        // A server may have moved to its own.
        let moved = try archive([0, 0])
        let later = try await shell("mkdir \(moved)/later", in: site.directory)
        #expect(later.status == 0)
        var settings = TestCertificate.Settings.server(["api.test"])
        settings.notBefore = Int64(now.timeIntervalSince1970) - 3_600
        settings.notAfter = settings.notBefore + 86_400
        try put(
            try TestCertificate.selfSigned(settings).pemText,
            "\(moved.dropFirst(site.directory.path.count + 1))/later/cert.pem")
        let found = await findings(policy, ["--issuance", moved, "--rule", "P011=off"])
        #expect(found.count == 1 && found[0].contains("the newest certificate has another key"), "\(found)")
        // A server without a CA has self-signed ones alone.
        #expect(try await findings(policy, ["--issuance", archive([0, 0], isSelfSigned: true)]) == [])
        for unused in [try archive([0, 0], later: 30), try archive([0, 0], isForClients: true)] {
            let run = await pinctl(["lint", "--issuance", unused, policy], now: now)
            #expect(run.status == 2 && run.errors.contains("no certificate of a server"), "\(run.errors)")
        }
    }

    @Test("A renewed certificate with the same key isn't said to have another key if the certificate is pinned")
    func wholeCertificate() async throws {
        let leaf = try X509Certificate(
            pem: String(contentsOfFile: site.directory.path + "/leaf.pem", encoding: .utf8))
        let policy = try policy(#"{ "pin": "\#(leaf.fingerprint)", "role": "leaf", "from": "leaf.pem" }, "backup""#)
        for (keys, difference) in [([0], ", although its key is the same"), ([1], " and has another key")] {
            let archive = try archive(keys)
            let found = await findings(policy, ["--issuance", archive, "--rule", "P011=off", "--rule", "P022=off"])
            #expect(found.count == 1, "\(found)")
            #expect(
                found.first?.contains("the newest certificate isn't the pinned one\(difference) (") == true, "\(found)")
            #expect(found.first?.contains("serve a pinned certificate, or ship a pin of sha256/") == true, "\(found)")
        }
        let unknown = try self.policy(#"{ "pin": "cert-\#(unknownPin)", "role": "leaf" }, "backup""#)
        let found = try await findings(
            unknown, ["--issuance", archive([0]), "--rule", "P011=off", "--rule", "P022=off"])
        #expect(found.first?.contains("the newest certificate isn't the pinned one (") == true, "\(found)")
    }

    @Test("A certificate in use whose key the rule doesn't pin is a finding, whatever its renewal does")
    func unpinned() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let message =
            "pins leaf, but the newest certificate has another key (PLACE): serve a pinned key, or ship a pin of "
        for (keys, summary) in [
            ([1, 1, 1], "the last 3 certificates have the same key"),
            ([0, 1], "the last 2 certificates have 2 different keys"),
            ([0, 0, 1], "the last 3 certificates have 2 different keys"),
            ([1], "one certificate doesn't show whether a renewal keeps the key"),
        ] {
            let archive = try archive(keys)
            let found = await findings(policy, ["--issuance", archive])
            let rules = found.compactMap { $0.split(separator: " ").dropFirst().first }
            #expect(rules == ["error[P011]", "error[P035]"], "\(found)")
            #expect(
                found.last?.contains(message.replacing("PLACE", with: "\(archive): \(summary)")) == true, "\(found)")
        }
        let wildcard = try archive([1, 1], for: ["*.test", "other.example"])
        #expect(await findings(policy, ["--issuance", wildcard, "--rule", "P011=off"]).count == 1)
        // A pin of the root may match. The one of the leaf doesn't.
        let both = try self.policy(#""leaf", "root", "backup""#)
        let warned = try await findings(both, ["--issuance", archive([1, 1])])
        #expect(warned.count == 1 && warned[0].contains("warning[P035] api.test pins leaf, but"), "\(warned)")
        let required = try self.policy(#""leaf", "root", "backup""#, rule: #""require": ["leaf", "root"],"#)
        #expect(try await findings(required, ["--issuance", archive([1, 1])]).contains { $0.contains("error[P035]") })
        let roots = try await findings(self.policy(#""root", "backup""#), ["--issuance", archive([1, 1])])
        #expect(!roots.contains { $0.contains("[P035]") }, "\(roots)")
        // A server may already use the backup, or a key that only another pin of the rule has.
        let spare = try site.directory.add(
            String(contentsOfFile: policy, encoding: .utf8).replacing(
                try site.leaf.key.pin, with: "\(try TestKey().pin)"
            ).replacing(", \"from\": \"leaf.pem\"", with: "")
                .replacing("\"pin\": \"\(unknownPin)\"", with: "\"pin\": \"\(try site.leaf.key.pin)\"")
                .replacing("\"leaf\", \"backup\"]", with: "\"leaf\", \"any\", \"backup\"]"))
        #expect(try await findings(spare, ["--issuance", archive([0, 0])]) == [])
    }

    /// A policy of pins without roles, as Android's and OkHttp's files have them.
    private func plainPolicy(_ domains: [(host: String, rule: String, key: TestKey)]) throws -> String {
        let rules = try domains.map {
            #"{ "host": "\#($0.host)", \#($0.rule) "pins": ["\#(try $0.key.pin)", "\#(unknownPin)"] }"#
        }
        return try site.directory.add(#"{ "version": 1, "domains": [\#(rules.joined(separator: ",\n"))] }"#)
    }

    private func changes(_ policy: String, _ archive: String) async -> [String] {
        await findings(policy, ["--issuance", archive]).filter { $0.contains("[P035]") }
            .map { String($0.split(separator: " ")[1]) }
    }

    @Test("Pins without a role are compared too, and one that an earlier certificate had is of the leaf")
    func unknownRoles() async throws {
        let policy = try plainPolicy([("api.test", "", site.leaf.key)])
        #expect(try await changes(policy, archive([0, 0])) == [])
        #expect(try await changes(policy, archive([1, 1])) == ["warning[P035]"])
        #expect(try await changes(policy, archive([0, 0, 1])) == ["warning[P035]"])
        let alone = try await changes(site.policy("\"\(try site.leaf.key.pin)\""), archive([0, 0, 1]))
        #expect(alone == ["error[P035]"])
        #expect(try await changes(plainPolicy([("other.test", "", site.leaf.key)]), archive([1, 1])) == [])
    }

    @Test("A certificate of a host counts for the rule that decides about it")
    func closerRules() async throws {
        let other = try TestKey()
        let leaves = try await shell("mkdir -p series/a series/b", in: site.directory)
        #expect(leaves.status == 0)
        let path = site.directory.path + "/series"
        func put(_ names: [String], _ key: TestKey, _ place: String) throws {
            var settings = TestCertificate.Settings.server(names)
            settings.notBefore = Int64(now.timeIntervalSince1970) - 86_400
            settings.notAfter = settings.notBefore + 90 * 86_400
            try self.put(try site.intermediate.issue(settings, key: key).pemText, "series/\(place)/cert.pem")
        }
        func unpinned(_ policy: String) async -> Int {
            await findings(policy, ["--issuance", path]).count { $0.contains("newest certificate") }
        }
        try put(["example.com"], site.leaf.key, "a")
        try put(["blog.example.com"], other, "b")
        let closer = try plainPolicy([
            ("example.com", #""subdomains": true,"#, site.leaf.key), ("blog.example.com", "", other),
        ])
        #expect(await unpinned(closer) == 0)
        let swapped = try plainPolicy([
            ("example.com", #""subdomains": true,"#, other), ("blog.example.com", "", site.leaf.key),
        ])
        #expect(await unpinned(swapped) == 2)
        // A rule for a port isn't the only one for the host.
        let port = try plainPolicy([
            ("example.com", #""subdomains": true,"#, site.leaf.key), ("blog.example.com", #""ports": [8443],"#, other),
        ])
        #expect(await unpinned(port) == 1)
        // A certificate may be for either port.
        try put(["www.test"], site.leaf.key, "a")
        try put(["www.test"], other, "b")
        let ports = try plainPolicy([
            ("www.test", #""ports": [443],"#, site.leaf.key), ("www.test", #""ports": [8883],"#, other),
        ])
        #expect(await findings(ports, ["--issuance", path]).allSatisfy { !$0.contains("newest certificate") })
        // A wildcard beside a host's own certificate is for other hosts.
        try put(["www.test"], site.leaf.key, "a")
        try put(["*.test"], other, "b")
        let own = try plainPolicy([("www.test", "", site.leaf.key)])
        #expect(await findings(own, ["--issuance", path]).allSatisfy { !$0.contains("newest certificate") })
        let wild = try plainPolicy([("test.example", "", site.leaf.key)])
        try put(["*.test.example", "test.example"], other, "b")
        #expect(await findings(wild, ["--issuance", path]).contains { $0.contains("newest certificate") })
    }

    @Test("The certificate that certbot's settings name is compared with the pins")
    func certbotKey() async throws {
        let policy = try policy(#""leaf", "backup""#)
        for (key, isPinned) in [(site.leaf.key, true), (try TestKey(), false)] {
            let chain = try site.directory.add(try site.intermediate.leaf("api.test", key: key).pemText)
            let renewal = try site.directory.add("cert = \(chain)\n[renewalparams]\nreuse_key = True\n")
            let found = await findings(policy, ["--issuance", renewal, "--rule", "P011=off"])
            #expect(found.isEmpty == isPinned, "\(found)")
            guard !isPinned else { continue }
            #expect(
                found.first?.hasPrefix(
                    "4:1: error[P035] api.test pins leaf, but the newest certificate has another key "
                        + "(\(renewal):3:1: reuse_key = True): ") == true, "\(found)")
        }
    }

    @Test("acme.sh's certificate is read beside its settings, and compared with the pins")
    func acmeShKey() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let (own, other) = (
            try site.intermediate.leaf("api.test", key: site.leaf.key).pemText,
            try site.intermediate.leaf("api.test").pemText
        )
        let issued = "Le_Domain='api.test'\nLe_CertCreateTime='1793872800'\n"
        let installed = "\(site.directory.path)/nginx/api.pem"
        try put(own, "nginx/api.pem")
        // The files beside the settings, the settings, and the beginning of each finding.
        let rows: [(files: [(String, String)], settings: String, findings: [String])] = [
            ([("api.test.cer", own), ("fullchain.cer", own + site.intermediate.pemText)], issued, []),
            ([("api.test.cer", other)], issued, ["error[P035] api.test pins leaf, but the newest certificate has"]),
            ([("fullchain.cer", other)], issued, ["error[P035] api.test pins leaf, but the newest certificate has"]),
            ([("api.test.cer", other)], "Le_Domain='api.test'\n", ["error[P035] api.test pins leaf, but the newest"]),
            ([("api.test.cer", "none\n")], issued, ["warning[P035] api.test has a certificate of acme.sh that isn't"]),
            ([("api.test.cer", "none\n")], "Le_Domain='api.test'\n", ["warning[P035] api.test has a certificate of"]),
            (
                [("api.test.cer", own), ("fullchain.cer", other)], issued,
                ["warning[P035] api.test has a certificate of acme.sh that isn't compared with its pins, because "]
            ),
            // Settings that were copied without the certificate, which may not have been issued yet.
            ([], issued, ["warning[P035] api.test has a certificate of acme.sh that isn't compared"]),
            ([], "Le_Domain='api.test'\nLe_CertCreateTime=''\n", []),
            // The copies of --install-cert.
            ([], issued + "Le_RealFullChainPath='\(installed)'\n", []),
            ([("api.test.cer", own)], issued + "Le_RealCertPath=''\nLe_RealFullChainPath='\(installed)'\n", []),
            (
                [("api.test.cer", own)], issued + "Le_RealCertPath='/no/such file.pem'\n",
                [
                    "warning[P035] api.test has a certificate of acme.sh that isn't compared with its pins, because "
                        + "/no/such"
                ]
            ),
        ]
        for (number, row) in rows.enumerated() {
            let directory = "acme\(number)/api.test_ecc"
            for (name, text) in row.files { try put(text, "\(directory)/\(name)") }
            let file = try put(row.settings, "\(directory)/api.test.conf")
            try put("Le_Domain=x", "\(directory)/backup/x.bak")
            for path in [file, "\(site.directory.path)/\(directory)"] {
                let found = await findings(policy, ["--issuance", path, "--rule", "P011=off"])
                #expect(found.count == row.findings.count, "\(row): \(found)")
                for (finding, start) in zip(found, row.findings) {
                    #expect(finding.hasPrefix("4:1: " + start), "\(row): \(finding)")
                }
            }
        }
    }

    @Test("A certificate that the settings name and that can't be read is a finding, whatever is pinned")
    func unread() async throws {
        let good = try put(try site.intermediate.leaf("api.test", key: site.leaf.key).pemText, "good.pem")
        let other = try put(try site.intermediate.leaf("api.test").pemText, "other.pem")
        let empty = try put("", "empty.pem")
        let authority = try put(site.root.pemText, "root.pem")
        let missing = site.directory.path + "/missing.pem"
        for pins in [#""leaf", "backup""#, #""root", "backup""#, #""any", "backup""#] {
            let policy = try policy(pins)
            for (names, reason) in [
                ("cert = \(missing)\nfullchain = \(missing)\n", missing), ("cert = \(empty)\n", empty),
                ("fullchain = \(authority)\n", authority), ("cert = \(good)\nfullchain = \(missing)\n", missing),
                ("cert = \(missing)\nfullchain = \(good)\n", missing),
                ("cert = \(good)\nfullchain = \(other)\n", "\(other) has another certificate than \(good) "),
                ("", "the file names no certificate"),
            ] {
                let file = try put(
                    names + "[renewalparams]\nreuse_key = True\n[[webroot_map]]\napi.test = /srv\n", "api.test.conf")
                let found = await findings(policy, ["--issuance", file, "--rule", "P011=off"])
                let finding = found.first {
                    $0.hasPrefix(
                        "4:1: warning[P035] api.test has a certificate of certbot that isn't compared with its ")
                }
                #expect(finding?.contains("pins, because \(reason)") == true, "\(names): \(found)")
                #expect(finding?.contains(" (\(file):") == true && finding?.contains("run pinctl where the") == true)
            }
            // A certificate that can't be read doesn't show that its key is pinned.
            let file = try put(
                "cert = \(missing)\n[renewalparams]\nreuse_key = True\n[[webroot_map]]\napi.test = /srv\n",
                "api.test.conf")
            let lifetimes = await findings(policy, ["--issuance", file]).count { $0.contains("[P011]") }
            #expect(lifetimes == (pins.contains("leaf") ? 1 : 0))
            // It is no matter of other hosts.
            let others = try self.policy(pins, host: "www.test")
            #expect(await findings(others, ["--issuance", file]).allSatisfy { !$0.contains("isn't compared") })
        }
    }

    @Test("Each host has the certificates that are for it, and the same certificate in several files counts once")
    func archivedHosts() async throws {
        let policy = try policy(#""leaf", "backup""#)
        func lint(_ paths: String...) async -> [String] {
            await findings(policy, ["--rule", "P011=off"] + paths.flatMap { ["--issuance", $0] })
        }
        let kept = try archive([0, 0], for: ["api.test", "www.test"])
        let others = try archive([1, 2, 3], for: ["www.test"])
        #expect(try await shell("cp -r \(others) \(kept)/others", in: site.directory).status == 0)
        #expect(await lint(kept) == [])
        // One of two servers is enough to break clients.
        #expect(try await lint(kept, archive([1, 2])).first?.contains("error[P035]") == true)
        let single = try archive([0])
        let copied = try await shell("cp -r \(single)/1 \(single)/copy; ln -s 1 \(single)/current", in: site.directory)
        #expect(copied.status == 0)
        #expect(await lint(single).first?.contains("one certificate") == true)
        let other = try await lint(archive([1, 2], for: ["www.test"]))
        #expect(other.count == 1 && other[0].contains("no issuance file has its host"), "\(other)")
    }

    @Test("A directory of certificates with something that isn't understood, or with settings, is refused")
    func refusedArchives() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let rows: [(name: String, text: String, message: String)] = [
            ("3/chain.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "chain.pem[0]: "),
            ("3/cert.pem", "not found\n", "cert.pem"),
            ("3/api.conf", "Le_Domain='api.test'\n", "has certificates and settings in the directories below it: name"),
            (
                "renew.sh", "#!/bin/sh\nlego -d api.test renew\n",
                "runs lego, and commands aren't read: name the .lego.yml"
            ),
            ("3/renew", "lego renew\n", "runs lego"),
            (
                "3/Caddyfile", "api.test\n",
                "is a Caddyfile, which may import other files: name the JSON that caddy adapt"
            ),
        ]
        for row in rows {
            let archive = try archive([0, 0])
            try put(row.text, "\(archive.dropFirst(site.directory.path.count + 1))/\(row.name)")
            let run = await pinctl("lint", "--issuance", archive, policy, now: now)
            #expect(run.status == 2 && run.output == "" && run.errors.contains(row.message), "\(row.name): \(run)")
        }
        for (name, text) in [("renew.sh", "lego renew --reuse-key\n"), ("Caddyfile", "api.test\n"), ("x", "y\n")] {
            let file = try put(text, "named/" + name)
            let run = await pinctl("lint", "--issuance", file, policy, now: now)
            #expect(run.status == 2 && run.output == "" && run.errors.contains("\(file): "), "\(name): \(run)")
        }
    }

    @Test("An encrypted file in a directory of certificates is read with the password of --password-file")
    func encryptedArchive() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let directory = try TestDirectory()
        _ = try directory.add(TestPKCS12.file(site.leaf, password: "open sesame"), name: "api.p12")
        let closed = await pinctl("lint", "--issuance", directory.path, policy, now: now)
        #expect(closed.status == 2 && closed.errors.contains("--password-file"), "\(closed)")
        let flags = ["--issuance", directory.path, "--password-file", try site.directory.add("open sesame\n")]
        let opened = await findings(policy, flags + ["--rule", "P011=off"])
        #expect(
            opened.first?.contains("one certificate doesn't show whether a renewal keeps the key") == true, "\(opened)")
    }

    @Test("certbot's archive is read with its settings, and not instead of them")
    func certbotArchive() async throws {
        let policy = try policy(#""leaf", "backup""#)
        let archive = try archive([2, 1, 0])
        let made = try await shell(
            """
            mkdir -p etc/archive/api.test etc/live/api.test etc/renewal
            for n in 1 2 3; do cp \(archive)/$((4 - n))/fullchain.pem etc/archive/api.test/cert$n.pem; done
            ln -s ../../archive/api.test/cert3.pem etc/live/api.test/cert.pem
            """, in: site.directory)
        #expect(made.status == 0, "\(made)")
        let etc = site.directory.path + "/etc"
        func settings(_ reuse: String) throws -> String {
            try put(
                """
                archive_dir = \(etc)/archive/api.test
                cert = \(etc)/live/api.test/cert.pem
                [renewalparams]
                reuse_key = \(reuse)
                """, "etc/renewal/api.test.conf")
        }
        let file = try settings("True")
        let contradicted = await findings(policy, ["--issuance", file])
        #expect(
            contradicted.first
                == "4:1: error[P035] api.test pins leaf, but certbot creates a new key at each renewal "
                + "(\(etc)/archive/api.test: the last 3 certificates have 3 different keys, against reuse_key = True): "
                + "remove --new-key and --no-reuse-key from the command that renews, and run certbot renew --cert-name "
                + "api.test --reuse-key --force-renewal with the pinned key in place", "\(contradicted)")
        for path in ["archive", "archive/api.test", "live", "live/api.test", ""] {
            let run = await pinctl("lint", "--issuance", "\(etc)/\(path)", policy, now: now)
            #expect(run.status == 2 && run.errors.contains("\(etc)/renewal"), "\(path): \(run)")
        }
        // The key is kept again. Without the setting, that doesn't count.
        let again = try await shell("cd etc/archive/api.test; cp cert3.pem cert2.pem", in: site.directory)
        #expect(again.status == 0)
        #expect(await findings(policy, ["--issuance", file]) == [])
        let forbidden = try await findings(policy, ["--issuance", settings("False")])
        #expect(
            forbidden.first?.contains("error[P035]") == true && forbidden.first?.contains("reuse_key = False") == true)
        try put("garbage\n", "etc/archive/api.test/cert1.pem")
        let broken = try await pinctl("lint", "--issuance", settings("True"), policy, now: now)
        #expect(broken.status == 2 && broken.errors.contains("the earlier certificates aren't known"), "\(broken)")
        // Only the last three certificates count.
        let more = try await shell(
            "cd etc/archive/api.test; for n in 4 5; do cp cert3.pem cert$n.pem; done", in: site.directory)
        #expect(more.status == 0)
        #expect(try await findings(policy, ["--issuance", settings("True")]) == [])
        // Without an archive there is nothing to contradict the settings, but what is there has to be listed.
        #expect(try await shell("mv etc/archive/api.test etc/archive/gone", in: site.directory).status == 0)
        #expect(try await shell("cp etc/archive/gone/cert3.pem etc/cert.pem", in: site.directory).status == 0)
        #expect(try await shell("ln -sf ../../cert.pem etc/live/api.test/cert.pem", in: site.directory).status == 0)
        #expect(try await findings(policy, ["--issuance", settings("True")]) == [])
        try put("", "etc/archive/api.test")
        let unlisted = try await pinctl("lint", "--issuance", settings("True"), policy, now: now)
        #expect(
            unlisted.errors.contains(
                "the earlier certificates aren't known, because \(etc)/archive/api.test can't be listed: run pinctl as "
                    + "a user who can list it"), "\(unlisted)")
        #expect(unlisted.status == 2)
    }

    @Test("Files in other dialects are judged too")
    func dialects() async throws {
        let file = try site.directory.add("Le_Domain='api.test'\nLe_ForceNewDomainKey='1'\n")
        let plist = try site.directory.add(
            """
            <plist version="1.0"><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict>
            <key>api.test</key><dict><key>NSPinnedLeafIdentities</key><array>
            <dict><key>SPKI-SHA256-BASE64</key><string>\(unknownPin.dropFirst("sha256/".count))</string></dict>
            </array></dict></dict></dict></dict></plist>
            """)
        let run = await pinctl("lint", "--issuance", file, plist, now: now)
        #expect(run.output.contains("error[P035] api.test pins"), "\(run.output)\(run.errors)")
        // TrustKit's files keep hosts as they are written.
        let trustKit = try site.directory.add(
            """
            <plist version="1.0"><dict><key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict>
            <key>API.Test.example.com</key><dict><key>TSKPublicKeyHashes</key><array>
            <string>\(unknownPin.dropFirst("sha256/".count))</string>
            <string>\(try TestKey().pin.dropFirst("sha256/".count))</string>
            </array></dict></dict></dict></dict></plist>
            """)
        let issued = try site.directory.add("Le_Domain='api.test.example.com'\nLe_ForceNewDomainKey='1'\n")
        let capitals = await pinctl("lint", "--issuance", issued, trustKit, now: now)
        #expect(
            capitals.output.contains("[P035] API.Test.example.com breaks if"), "\(capitals.output)\(capitals.errors)")
    }
}
