import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl check --files")
struct FileCheckTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func check(_ words: String...) async -> Run {
        await pinctl(["check", "--ca-file", site.rootFile, "--files"] + words)
    }

    @Test("A chain is checked for each host of the policy that its leaf is valid for")
    func chains() async throws {
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        let run = await check("--policy", policy, site.chainFile)
        #expect(
            run.lines == [
                "ok    \(site.chainFile) for api.test  matched \(try site.root.key.pin) (root)", "1 checked: 1 ok",
            ])
        #expect(run.status == 0)
        let wrong = await check("--policy", try site.policy("\"\(unknownPin)\""), site.chainFile)
        #expect(wrong.lines[0].hasPrefix("FAIL  \(site.chainFile) for api.test  pin mismatch: "))
        #expect(wrong.lines[2].hasSuffix("\(unknownPin)  any           not in the file"), "\(wrong)")
        #expect(
            wrong.lines.suffix(3).prefix(2) == [
                "  cause: no certificate of the chain, which ends at CN=Test Root, has a pinned key",
                "  do: don't deploy it: use a pinned or backup key, or ship the pin of this one before you serve it",
            ])
        let leaf = "CN=api.test, valid from 2026-01-01 until 2036-01-01 (3329 d), file"
        #expect(wrong.lines.contains { $0.contains(leaf) })
        #expect(wrong.status == 1)
        // Without its intermediate the leaf has no path to a root.
        let alone = await check("--policy", policy, try site.directory.add(site.leaf.pemText))
        #expect(alone.status == 4)
        #expect(
            alone.lines.contains { $0.hasPrefix("  cause: the chain lacks the certificate of ") })
        #expect(alone.lines.contains { $0.hasPrefix("  do: add the intermediate certificates to the file, or, if ") })
        #expect(!alone.output.contains("intercept"))
        // A pinned key at another position is on the path. The other root is nowhere.
        let misplaced = await check(
            "--policy", try site.policy(#"{ "pin": "\#(try site.root.key.pin)", "role": "leaf" }, "\#(unknownPin)""#),
            site.chainFile)
        #expect(misplaced.lines[2].hasSuffix("\(try site.root.key.pin)  leaf          on the path as root"))
        #expect(misplaced.lines[3].hasSuffix("not in the file"))
        #expect(misplaced.output.contains("  do: give the pin the role root, or pin the key that has the role leaf\n"))
        // A key that is in the file, but not on the path, isn't said to be missing.
        let stray = try TestCertificate.root("Stray")
        let extra = try site.directory.add(site.chain.map(\.pemText).joined() + stray.pemText)
        let unused = await check("--policy", try site.policy("\"\(try stray.key.pin)\""), extra)
        #expect(unused.lines[2].hasSuffix("\(try stray.key.pin)  any           not on the path"), "\(unused)")
        let other = try site.directory.add(site.intermediate.leaf("other.test").pemText + site.intermediate.pemText)
        let uncovered = await check("--policy", policy, other)
        #expect(
            uncovered.lines[0] == "FAIL  \(other) (CN=other.test)  not covered: \(policy) has no rule for it: add one")
        #expect(uncovered.status == 1)
    }

    @Test("A host of the policy that no certificate is valid for fails, and the certificates' names are listed")
    func missingNames() async throws {
        let pin = "\"\(try site.root.key.pin)\""
        let policy = try site.directory.add(policyText([("api.test", [pin]), ("www.test", [pin])]))
        let run = await check("--policy", policy, site.chainFile)
        #expect(
            run.lines[1] == "FAIL  www.test  no certificate in the files is valid for this host, only for api.test "
                + "(policy \(policy):2:1): have one issued for this name too, or add the host's own certificate to the "
                + "files; if they are meant for other hosts only, give --allow-missing")
        #expect(run.lines.last == "2 checked: 1 ok, 1 failed" && run.status == 1)
        let json = await check("--policy", policy, "--json", site.chainFile)
        #expect(
            json.output.contains(#""target":"www.test","failure":"no_certificate www.test","verdict":"no_certificate""#)
        )
        #expect(json.output.contains(#""names":["api.test"]"#), "\(json.output)")
        // The certificate of that host, its key, or the missing name in the certificate fixes it.
        let other = try site.directory.add(site.intermediate.leaf("www.test").pemText + site.intermediate.pemText)
        #expect(await check("--policy", policy, site.chainFile, other).status == 0)
        let both = try site.directory.add(
            site.intermediate.leaf("api.test", "www.test").pemText + site.intermediate.pemText)
        #expect(await check("--policy", policy, both).status == 0)
        let request = try site.directory.add(
            TestSigningRequest(TestName(.commonName("www.test")), key: TestKey()).pemText)
        let asked = await check("--policy", policy, site.chainFile, request)
        #expect(
            !asked.output.contains("no certificate") && asked.output.contains("for www.test  pin mismatch"), "\(asked)")
        // Without a certificate no names are reported. Hosts without pins and subdomains need no certificate.
        let root = try site.directory.add(TestPEM.block("PUBLIC KEY", site.root.key.publicKeyDER))
        #expect(await check("--policy", policy, root).status == 0)
        let lenient = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "test.example", "subdomains": true, "pins": [\(pin)] },
              { "host": "cdn.example", "mode": "off", "pins": [\(pin)] }] }
            """)
        let below = try site.directory.add(site.intermediate.leaf("a.test.example").pemText + site.intermediate.pemText)
        #expect(await check("--policy", lenient, below).status == 0)
    }

    @Test("With --allow-missing, only hosts with a certificate are judged, and the others are named in one line")
    func allowedMissing() async throws {
        let pin = "\"\(try site.root.key.pin)\""
        let others = ["www.test", "pay.test", "cdn.test", "img.test", "old.test"]
        let policy = try site.directory.add(policyText((["api.test"] + others).map { ($0, [pin]) }))
        let strict = await check("--policy", policy, site.chainFile)
        #expect(strict.status == 1)
        // The remedy is printed once before the summary, and once in it.
        #expect(strict.output.ranges(of: "give --allow-missing").count == 2, "\(strict.output)")
        let group =
            "5 hosts (www.test, pay.test, cdn.test and 2 more): no certificate in the files is valid for the host"
        #expect(strict.lines.contains(group), "\(strict.output)")
        let run = await check("--policy", policy, "--allow-missing", site.chainFile)
        #expect(run.status == 0)
        #expect(run.lines.last == "1 checked: 1 ok; 5 hosts without a certificate")
        #expect(
            run.errors
                == "pinctl: note: no certificate in the files is valid for www.test, pay.test, cdn.test, img.test, "
                + "old.test (accepted by --allow-missing)\n")
        let json = await check("--policy", policy, "--allow-missing", "--json", site.chainFile)
        #expect(
            json.output.contains(#""missing":["www.test","pay.test","cdn.test","img.test","old.test"]"#)
                && !json.output.contains("no_certificate"), "\(json.output)")
        let strictJSON = await check("--policy", policy, "--json", site.chainFile)
        #expect(strictJSON.output.contains(#""missing":[]"#), "\(strictJSON.output)")
        // A host that has a certificate is still judged, and so are files in which no host has one.
        let wrong = try site.directory.add(policyText([("api.test", ["\"\(unknownPin)\""]), ("www.test", [pin])]))
        #expect(await check("--policy", wrong, "--allow-missing", site.chainFile).status == 1)
        let none = try site.directory.add(policyText([("www.test", [pin])]))
        let uncovered = await check("--policy", none, "--allow-missing", site.chainFile)
        #expect(uncovered.status == 1 && uncovered.output.contains("not covered"), "\(uncovered)")
        let server = await pinctl("check", "--policy", policy, "--allow-missing")
        #expect(server.status == 2 && server.errors.contains("--allow-missing applies to --files"))
    }

    @Test("Directories inside a directory are read too, and CA certificates in them complete chains")
    func nestedDirectories() async throws {
        let made = try await shell("mkdir -p certs/old && cp chain.pem certs", in: site.directory)
        #expect(made.status == 0)
        let run = await check("--pin", try site.root.key.pin, site.directory.path + "/certs")
        #expect(run.lines.last == "1 checked: 1 ok" && run.status == 0, "\(run.errors)")
        #expect(run.errors == "")
        // A CA certificate is only there to complete a chain. Alone it counts as a key.
        #expect(try await shell("cp root.pem certs", in: site.directory).status == 0)
        #expect(await check("--pin", try site.leaf.key.pin, site.directory.path + "/certs").status == 0)
        #expect(await check("--pin", try site.leaf.key.pin, site.rootFile).status == 1)
        let hollow = await check("--pin", try site.root.key.pin, site.directory.path + "/certs/old")
        #expect(hollow.status == 2 && hollow.errors.contains("is an empty directory"))
    }

    @Test("Names below a rule's host are checked, and a wildcard is checked as one of its names")
    func subdomains() async throws {
        let policy = try site.policy(
            "\"\(try site.root.key.pin)\"", rule: "\"subdomains\": true,", host: "example.test")
        let leaf = try site.intermediate.leaf("a.example.test", "*.example.test", "elsewhere.test")
        let file = try site.directory.add(leaf.pemText + site.intermediate.pemText)
        let run = await check("--policy", policy, file)
        #expect(run.lines.map { $0.split(separator: "  ").first } == ["ok", "ok", "2 checked: 2 ok"])
        #expect(run.lines[0].contains(" for a.example.test  "))
        #expect(run.lines[1].contains(" for any.example.test  "))
    }

    @Test("In a directory, a request isn't compared with the pins of CAs alone, which its certificate can have")
    func requestBesideCAPins() async throws {
        let key = try TestKey()
        let request = try TestSigningRequest(TestName(.commonName("api.test")), key: key).pemText
        let other = try TestKey().pin
        for (role, status) in [("root", Int32(0)), ("intermediate", 0), ("leaf", 1), ("any", 1)] {
            let pins =
                #"{ "pin": "\#(try site.root.key.pin)", "role": "root" }, { "pin": "\#(other)", "role": "\#(role)" }"#
            let policy = try site.policy(pins)
            let directory = try TestDirectory()
            _ = try directory.add(site.leaf.pemText + site.intermediate.pemText, name: "fullchain.pem")
            let file = try directory.add(request, name: "next.csr")
            let run = await check("--policy", policy, directory.path)
            #expect(run.status == status, "\(role): \(run)")
            // A request that is named is compared in any case.
            #expect(await check("--policy", policy, file).status == 1, "\(role)")
        }
    }

    @Test("Keys and signing requests are checked as the key of a leaf")
    func keys() async throws {
        let key = try TestKey()
        let policy = try site.directory.add(
            """
            { "version": 1,
              "pins": { "backup-27": { "pin": "\(try key.pin)", "role": "leaf", "backup": true },
                        "root": { "pin": "\(try site.root.key.pin)", "role": "root" } },
              "domains": [{ "host": "api.test", "pins": ["backup-27", "root"] },
                          { "host": "www.test", "pins": ["root"] }] }
            """)
        let bare = try site.directory.add(TestPEM.block("PUBLIC KEY", key.publicKeyDER))
        let run = await check("--policy", policy, bare)
        #expect(
            run.lines == [
                "ok    \(bare) for api.test  key matches backup-27 (leaf) (policy \(policy):4:15)", "1 checked: 1 ok",
            ])
        func request(_ host: String, _ key: TestKey) throws -> String {
            try site.directory.add(TestSigningRequest(TestName(.commonName(host)), key: key).pemText)
        }
        let good = await check("--json", "--policy", policy, try request("api.test", key))
        #expect(good.output.contains("\"verdict\":\"key_matched\",\"trusted\":null"))
        #expect(good.output.ranges(of: "\"matched\":true").count == 1, "\(good.output)")
        #expect(good.status == 0)
        // The rule for the host in the request decides, not another rule that pins the key.
        let elsewhere = await check("--policy", policy, try request("www.test", key))
        #expect(elsewhere.lines[0].contains(" for www.test  pin mismatch: \(try key.pin) isn't one of 1 pins"))
        #expect(elsewhere.status == 1)
        // A root's key doesn't match as a leaf's.
        let root = try site.directory.add(TestPEM.block("PUBLIC KEY", site.root.key.publicKeyDER))
        let other = await check("--policy", policy, root)
        #expect(other.lines[0].contains("\(try site.root.key.pin) is pinned as root, not as the key of a leaf (policy"))
        #expect(other.status == 1)
        let document = await check("--json", "--policy", policy, root)
        #expect(document.output.contains(#""failure":"pin_mismatch api.test role""#), "\(document.output)")
        #expect(await check("--policy", policy, site.rootFile).status == 0)
        let unknown = await check("--policy", policy, try request("Example Company", TestKey()))
        #expect(unknown.lines[0].contains(" isn't a pin of any rule"))
        #expect(unknown.status == 1)
    }

    @Test("Encrypted keys, TLSA records, and signing requests with their requested names are checked")
    func otherInputs() async throws {
        let key = try TestKey()
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": ["\(try key.pin)", "\(unknownPin)"] },
                                        { "host": "www.test", "pins": ["\(unknownPin)"] }] }
            """)
        let encrypted = try site.directory.add(key.encryptedPrivateKeyPEM(passphrase: "open sesame"))
        // The password is the first line, whatever follows it.
        let password = try site.directory.add("open sesame\nof the cave\n")
        let opened = await check("--policy", policy, "--password-file", password, encrypted)
        #expect(opened.lines.first?.contains(" for api.test  key matches ") == true && opened.status == 0, "\(opened)")
        let closed = await check("--policy", policy, encrypted)
        #expect(closed.status == 2 && closed.errors.contains("give --password-file FILE"))
        let secret = try await shell(
            "pinctl check --ca-file \(site.rootFile) --files --policy \(policy) --password-fd 3 \(encrypted) "
                + "3< \(password)")
        #expect(secret.status == 0, "\(secret)")

        let bare = try site.directory.add(TestPEM.block("PUBLIC KEY", key.publicKeyDER))
        let record = await pinctl("hash", "--as", "tlsa=_443._tcp.api.test", bare).output
        #expect(try await check("--policy", policy, site.directory.add(record)).status == 0)
        let other = record.replacing("api.test", with: "www.test")
        #expect(try await check("--policy", policy, site.directory.add(other)).status == 1)

        func request(_ names: String...) throws -> String {
            let extensions = [TestCertificate.Extension.alternativeNames(names.map { .dns($0) })]
            return try site.directory.add(
                TestSigningRequest(TestName(.commonName("api.test")), key: key, extensions: extensions).pemText)
        }
        let both = await check("--policy", policy, try request("api.test", "www.test"))
        #expect(both.lines.prefix(1).allSatisfy { $0.hasPrefix("ok    ") && $0.contains(" for api.test  ") }, "\(both)")
        #expect(both.output.contains(" for www.test  pin mismatch: ") && both.status == 1)
        #expect(try await check("--policy", policy, request("api.test")).status == 0)
        #expect(try await check("--policy", policy, request("www.test")).status == 1)
    }

    @Test("A denied key is rejected without a chain, and so is a key whose rule has expired")
    func denied() async throws {
        let key = try site.directory.add(TestPEM.block("PUBLIC KEY", site.leaf.key.publicKeyDER))
        let pin = try site.leaf.key.pin
        let policy = try site.directory.add(
            """
            { "version": 1, "deny": ["\(pin)"], "domains": [{ "host": "api.test", "pins": ["\(unknownPin)"] }] }
            """)
        let run = await check("--policy", policy, key)
        #expect(run.lines[0].hasSuffix("the policy denies this key, \(pin): generate another key"))
        #expect(run.status == 1)
        let over = try site.policy("\"\(pin)\"", rule: #""expires": "2026-01-02T00:00:00Z", "onExpiry": "fail","#)
        let ended = await check("--policy", over, key)
        #expect(ended.lines.first?.contains("the rule expired at 2026-01-02T00:00:00Z") == true)
        #expect(ended.status == 1)
    }

    @Test("Unreadable files are reported with exit code 2, and the others are still checked")
    func broken() async throws {
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        let empty = try site.directory.add("")
        let run = await check("--policy", policy, empty, site.chainFile, "/no/such")
        #expect(run.lines.last == "1 checked: 1 ok; 2 files not understood")
        #expect(run.errors.contains("pinctl: \(empty): is empty"))
        #expect(run.errors.contains("pinctl: /no/such: no such file"))
        #expect(run.status == 2)
        #expect(await check("--policy", policy).status == 2)
        #expect(await check("--policy", policy, "--targets", empty, site.chainFile).status == 2)
    }

    @Test("The files of a directory are checked, and those without a certificate are counted")
    func directories() async throws {
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        let directory = try TestDirectory()
        _ = try directory.add("what these are for\n", name: "README")
        let nothing = await check("--policy", policy, directory.path)
        #expect(
            nothing.errors == "pinctl: the files contain nothing to check: give chains, certificate requests or keys\n")
        #expect(nothing.lines == ["0 checked; 1 irrelevant file (text: 1)"])
        #expect(nothing.status == 2)
        _ = try directory.add(site.leaf.pemText + site.intermediate.pemText, name: "chain.pem")
        let run = await check("--policy", policy, directory.path)
        #expect(run.lines[0].hasPrefix("ok    \(directory.path)/chain.pem for api.test  matched "))
        #expect(run.status == 0)
    }

    @Test("A CA key that is pinned as a leaf key isn't that host's certificate")
    func unknownAuthority() async throws {
        let directory = try TestDirectory()
        let authority = try TestCertificate.root("Authority")
        _ = try directory.add(site.leaf.pemText + site.intermediate.pemText, name: "api.pem")
        _ = try directory.add(authority.pemText, name: "authority.pem")
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [
            { "host": "www.test", "pins": [{ "pin": "\(try authority.key.pin)", "role": "leaf" }] },
            { "host": "api.test", "pins": ["\(try site.leaf.key.pin)"] } ] }
            """)
        let run = await check("--policy", policy, "--json", directory.path)
        #expect(run.output.contains(#""target":"www.test","failure":"no_certificate www.test""#))
        #expect(run.status == 1)
    }
}
