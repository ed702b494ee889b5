import FoundationEssentials
import PinctlTestPKI
import Testing

/// What servers use of a directory: the current versions, the chain behind each private key, and the key beside each
/// certificate.
@Suite("Files in use of pinctl check --files")
struct FilesInUseTests {
    let site: PinctlSite
    let policy: String
    let expired: TestCertificate

    init() throws {
        site = try PinctlSite()
        policy = try site.policy("\"\(try site.root.key.pin)\"")
        expired = try site.intermediate.leaf("api.test") {
            $0.notBefore = Int64(testTime.timeIntervalSince1970) - 90 * 86_400
            $0.notAfter = Int64(testTime.timeIntervalSince1970) - 86_400
        }
    }

    var leaf: String { site.leaf.pemText }
    var issuer: String { site.intermediate.pemText }

    func tree(_ files: [(String, String)], _ script: String = "") async throws -> TestDirectory {
        let directory = try TestDirectory()
        for (path, text) in files {
            let file = "\(directory.path)/\(path)"
            let parent = file.lastIndex(of: "/").map { String(file[..<$0]) } ?? file
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        }
        if !script.isEmpty {
            let run = try await shell(script, in: directory)
            #expect(run.status == 0, "\(run)")
        }
        return directory
    }

    func check(_ words: String...) async -> Run {
        await pinctl(["check", "--ca-file", site.rootFile, "--policy", policy, "--files"] + words)
    }

    /// Returns the words at the beginning of the results' lines.
    func verdicts(_ run: Run) -> [String] {
        run.lines.filter { $0.hasPrefix("ok ") || $0.hasPrefix("FAIL ") }.map { String($0.prefix { $0 != " " }) }
    }

    // MARK: Versions

    /// The files of certbot's archive for a version.
    private func version(_ number: Int, _ certificate: TestCertificate, _ name: String = "api") throws -> [(
        String, String
    )] {
        [
            ("archive/\(name)/cert\(number).pem", certificate.pemText), ("archive/\(name)/chain\(number).pem", issuer),
            ("archive/\(name)/fullchain\(number).pem", certificate.pemText + issuer),
            ("archive/\(name)/privkey\(number).pem", try certificate.key.privateKeyPEM),
        ]
    }

    private static func links(to number: Int) -> String {
        "mkdir -p live/api; for f in cert chain fullchain privkey; do "
            + "ln -s ../../archive/api/${f}\(number).pem live/api/$f.pem; done"
    }

    @Test("Versions in certbot's archive below the one in use are irrelevant, unless the archive is named")
    func certbotVersions() async throws {
        let request = try TestSigningRequest("api.test", key: TestKey()).pemText
        let orders = [
            ("csr/0000_csr-certbot.pem", request), ("keys/0000_key-certbot.pem", try TestKey().privateKeyPEM),
        ]
        let used = try await tree(version(9, expired) + version(10, site.leaf) + orders, Self.links(to: 10))
        for path in ["", "/", "/live", "/live/api"] {
            let run = await check(used.path + path)
            #expect(run.status == 0 && run.lines.last?.hasPrefix("1 checked: 1 ok; ") == true, "\(path): \(run)")
            #expect(run.lines.last?.contains("earlier version: 6") == !path.contains("live"), "\(path): \(run)")
            #expect(run.output.contains("/live/api/fullchain.pem for "), "\(path): \(run)")
        }
        for path in ["/archive", "/archive/api", "/archive/api/cert9.pem"] {
            let run = await check(used.path + path)
            #expect(run.status == 4, "\(path): \(run)")
            #expect(await check(used.path, used.path + path).status == 4)
        }
        // Copies, with contents instead of links, and above certbot's directory.
        let copied = try await tree([], "mkdir etc; cp -rL \(used.path) etc/letsencrypt")
        #expect(await check(copied.path).status == 0)
        let hidden = try await tree([], "mkdir .config; cp -a \(used.path) .config/certbot")
        let run = await check(hidden.path)
        #expect(run.status == 0 && run.output.contains("/.config/certbot/live/api/fullchain.pem for "), "\(run)")
        #expect(run.lines.last?.contains("earlier version: 6") == true, "\(run)")
        // A damaged earlier version is of no use to anybody.
        let damaged = try await tree(
            version(1, expired) + version(2, site.leaf), Self.links(to: 2) + "; echo no >archive/api/cert1.pem")
        #expect(await check(damaged.path).status == 0)
    }

    @Test("Versions in certbot's archive above the one in use are irrelevant after a rollback")
    func rolledBack() async throws {
        let later = try await tree(version(1, site.leaf) + version(2, expired), Self.links(to: 1))
        for path in ["", "/"] {
            let run = await check(later.path + path)
            #expect(run.status == 0 && run.lines.last?.contains("later version: 4") == true, "\(run)")
        }
        let both = try await tree(
            version(1, expired) + version(2, site.leaf) + version(3, expired), Self.links(to: 2))
        let run = await check(both.path)
        #expect(run.lines.last?.contains("earlier version: 4, later version: 4") == true && run.status == 0, "\(run)")
        #expect(await check(both.path + "/archive").status == 4)
    }

    @Test("Versions that servers may use next, or that no certificate in use replaced, are judged")
    func versionsInUse() async throws {
        let rows: [(String, [(String, String)], String)] = try [
            (
                "a later version of dehydrated",
                [
                    ("certs/api.test/cert-1700000001.pem", leaf), ("certs/api.test/cert.pem", leaf),
                    ("certs/api.test/chain.pem", issuer), ("certs/api.test/cert-1700000002.pem", expired.pemText),
                ], ""
            ),
            (
                "one version of the certificate and another of the chain", version(1, site.leaf) + version(2, expired),
                Self.links(to: 1) + "; ln -sf ../../archive/api/fullchain2.pem live/api/fullchain.pem"
            ),
            ("the version in use", version(1, site.leaf) + version(2, expired), Self.links(to: 2)),
            ("no links", version(1, expired) + version(2, site.leaf), "mkdir live"),
            ("dangling links", version(1, expired) + version(2, site.leaf), Self.links(to: 3)),
            ("another lineage", version(1, expired, "www") + version(2, site.leaf), Self.links(to: 2)),
            ("another name", version(2, site.leaf) + [("archive/api/old1.pem", expired.pemText)], Self.links(to: 2)),
            ("another directory", version(2, site.leaf) + [("old/cert1.pem", expired.pemText)], Self.links(to: 2)),
            (
                "a chain that is older than the certificate", version(1, expired) + version(2, site.leaf),
                Self.links(to: 2) + "; ln -sf ../../archive/api/fullchain1.pem live/api/fullchain.pem"
            ),
        ]
        for (what, files, script) in rows {
            let directory = try await tree(files, script)
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            #expect(run.status != 0, "\(what): \(run)")
        }
    }

    @Test("What acme.sh, lego and dehydrated keep of earlier certificates is irrelevant beside what replaced it")
    func otherVersions() async throws {
        let (key, old) = (try site.leaf.key.privateKeyPEM, expired.pemText)
        let acmeSh = [
            ("api.test_ecc/api.test.cer", leaf), ("api.test_ecc/fullchain.cer", leaf + issuer),
            ("api.test_ecc/api.test.key", key), ("api.test_ecc/api.test.conf", "Le_Domain='api.test'\n"),
            ("api.test_ecc/backup/cert.bak", old), ("api.test_ecc/backup/fullchain.bak", old + issuer),
        ]
        let lego = [
            ("certificates/api.test.crt", leaf + issuer), ("certificates/api.test.key", key),
            ("certificates/api.test.json", "{ \"domain\": \"api.test\" }"),
            ("archives/1700000000.api.test.crt", old + issuer), ("archives/certificates/old.zip", "PK\u{3}\u{4}\u{0}"),
        ]
        let dehydrated = [
            ("certs/api.test/cert-1700000002.pem", leaf), ("certs/api.test/fullchain-1700000002.pem", leaf + issuer),
            ("certs/api.test/privkey-1700000002.pem", key), ("certs/api.test/cert-1700000001.pem", old),
            ("certs/api.test/fullchain-1700000001.pem", old + issuer),
            ("archive/api.test/cert-1600000000.pem", old),
        ]
        let links = "cd certs/api.test; for f in cert fullchain privkey; do ln -s $f-1700000002.pem $f.pem; done"
        let rows: [(String, [(String, String)], String, count: Int, named: String)] = [
            ("acme.sh", acmeSh, "", 2, "/api.test_ecc/backup"), ("lego", lego, "", 2, "/archives"),
            ("dehydrated", dehydrated, links, 3, "/archive"),
        ]
        for (name, files, script, count, named) in rows {
            let directory = try await tree(files, script)
            let run = await check(directory.path)
            #expect(run.status == 0 && run.lines.last?.contains("earlier version: \(count)") == true, "\(name): \(run)")
            #expect(await check(directory.path + named).status != 0, "\(name)")
            // Without the certificate that replaced them, they may be in use.
            let without = try await tree(
                files.filter { !$0.0.hasSuffix(".cer") && !$0.0.hasSuffix(".json") } + [("x/x.pem", leaf + issuer)])
            #expect(await check(without.path).status != 0, "\(name)")
        }
        // Two servers with numbers in their names.
        let numbered = try await tree([
            ("cert-1.pem", old), ("cert-2.pem", leaf), ("cert.pem", leaf), ("i.pem", issuer),
        ])
        #expect(await check(numbered.path).status == 4)
    }

    @Test("A version for other hosts than the certificate in use is judged, and so is one that can't be read")
    func unrelatedVersions() async throws {
        let old = try site.intermediate.leaf("www.test") {
            $0.notBefore = Int64(testTime.timeIntervalSince1970) - 90 * 86_400
            $0.notAfter = Int64(testTime.timeIntervalSince1970) - 86_400
        }
        let lego = [
            ("certificates/api.test.crt", leaf + issuer),
            ("certificates/api.test.json", "{ \"domain\": \"api.test\" }"),
        ]
        let dehydrated = [
            ("cert-1700000002.pem", leaf), ("cert.pem", leaf), ("chain.pem", issuer),
            ("privkey-1700000001.pem", try TestKey().privateKeyPEM),
        ]
        let acmeSh = [("api.test/api.test.cer", leaf + issuer), ("api.test/api.test.conf", "Le_Domain='api.test'\n")]
        let request = try TestSigningRequest("www.test", key: TestKey()).pemText
        let cut = String(expired.pemText.prefix(200))
        let unrelated: [(String, [(String, String)], String)] = [
            ("a number in the name", dehydrated + [("cert-1700000001.pem", old.pemText)], ""),
            ("a request with a number", dehydrated + [("cert-1700000001.csr", request)], ""),
            ("lego", lego + [("archives/1700000000.www.test.crt", old.pemText + issuer)], ""),
            ("acme.sh", acmeSh + [("api.test/backup/cert.bak", old.pemText)], ""),
            ("certbot", try version(1, old) + version(2, site.leaf), Self.links(to: 2)),
            ("a rollback of certbot", try version(1, site.leaf) + version(2, old), Self.links(to: 1)),
            ("a damaged file of dehydrated", dehydrated + [("cert-1700000001.pem", cut)], ""),
            ("a damaged file of lego", lego + [("archives/1700000000.api.test.crt", cut)], ""),
        ]
        for (what, files, script) in unrelated {
            let directory = try await tree(files, script)
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            #expect(run.status != 0, "\(what): \(run)")
        }
        // One of the hosts, below a wildcard, and none at all.
        let several = try site.intermediate.leaf("api.test", "www.test") {
            $0.notBefore = Int64(testTime.timeIntervalSince1970) - 90 * 86_400
            $0.notAfter = Int64(testTime.timeIntervalSince1970) - 86_400
        }
        let archived = [
            ("archives/1700000000.api.test.crt", several.pemText), ("archives/1700000000.api.test.key", ""),
        ]
        let related: [([(String, String)], Int)] = [
            (dehydrated + [("cert-1700000001.pem", several.pemText)], 2), (dehydrated, 1), (lego + archived, 2),
        ]
        for (files, count) in related {
            let directory = try await tree(files)
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            #expect(run.status == 0 && run.lines.last?.contains("earlier version: \(count)") == true, "\(run)")
        }
    }

    // MARK: Chains and keys

    @Test("Each private key begins a chain in a file that begins with one, as Postfix reads it")
    func chainFiles() async throws {
        let second = try site.intermediate.leaf("api.test", key: TestKey(.rsa(bits: 2048)))
        let (key, rsa) = (try site.leaf.key.privateKeyPEM, second.pemText)
        let rsaKey = try second.key.privateKeyPEM
        let rows: [(String, [String])] = [
            (key + leaf + issuer + rsaKey + rsa + issuer, ["ok", "ok"]),
            (rsaKey + rsa + issuer + key + leaf + issuer, ["ok", "ok"]),
            (
                "# keys first\n" + TestPEM.block("EC PARAMETERS", [6, 1, 42]) + key + leaf + issuer + rsaKey + rsa,
                ["ok", "ok"]
            ),
            // One chain with its key anywhere.
            (leaf + issuer + key, ["ok"]), (leaf + key + issuer, ["ok"]), (key + leaf + issuer, ["ok"]),
            // Another leaf without a key between them.
            (key + leaf + rsa + issuer, ["FAIL", "ok"]), (key + leaf + issuer + rsa, ["FAIL", "ok"]),
            (key + rsaKey + leaf + rsa + issuer, ["FAIL", "ok"]),
            // Postfix refuses a certificate before the first key, and others read one chain.
            (leaf + issuer + key + rsa + issuer + rsaKey, ["FAIL", "ok"]),
            (leaf + key + rsa + rsaKey, ["FAIL", "ok"]),
            // The chain of a key begins with a CA certificate.
            (key + leaf + issuer + rsaKey + issuer + rsa, ["FAIL", "ok"]),
            (key + issuer + leaf, ["FAIL"]),
        ]
        for (index, (text, expected)) in rows.enumerated() {
            let directory = try await tree([("chains.pem", text), ("ca.crt", issuer)])
            let run = await check(directory.path)
            #expect(verdicts(run) == expected && run.status == (expected.contains("FAIL") ? 1 : 0), "\(index): \(run)")
            #expect(run.output.contains("wrong order: ") == expected.contains("FAIL"), "\(index): \(run)")
            // plan judges each chain that servers send, and refuses the same files.
            let plan = await pinctl(
                "plan", "--new", directory.path + "/chains.pem", "--against", policy, "--ca-file", site.rootFile)
            #expect(plan.status == (expected.contains("FAIL") ? 2 : 0) || index == 2, "\(index): \(plan)")
        }
        // An intermediate in the chain of another key isn't sent with this one.
        let bare = try await tree([("chains.pem", key + leaf + rsaKey + rsa + issuer)])
        let run = await check(bare.path)
        #expect(
            run.output.contains("warning: its issuer, CN=Test Intermediate, is only in the file of another "), "\(run)")
    }

    @Test("A private key in or beside a file that isn't that of its certificate fails")
    func otherKeys() async throws {
        let other = try site.intermediate.leaf("api.test", "www.test")
        let (key, otherKey) = (try site.leaf.key.privateKeyPEM, try other.key.privateKeyPEM)
        let (chain, otherChain) = (leaf + issuer, other.pemText + issuer)
        func secret(_ chain: String, _ key: String) -> String {
            func block(_ text: String) -> String { text.split(separator: "\n").map { "    \($0)\n" }.joined() }
            return "kind: Secret\nstringData:\n  tls.crt: |\n\(block(chain))  tls.key: |\n\(block(key))"
        }
        let rows: [(String, [(String, String)], [String])] = [
            (
                "swapped directories",
                [("a/key.pem", otherKey), ("a/cert.pem", chain), ("b/key.pem", key), ("b/cert.pem", otherChain)],
                ["FAIL", "FAIL"]
            ),
            ("certbot's names", [("privkey.pem", otherKey), ("fullchain.pem", chain), ("cert.pem", leaf)], ["FAIL"]),
            ("a domain's name", [("api.test.key", otherKey), ("api.test.crt", chain)], ["FAIL"]),
            ("a name with a word", [("api-key.pem", otherKey), ("api-cert.pem", chain)], ["FAIL"]),
            ("a name without a word", [("api-key.pem", otherKey), ("api.pem", chain)], ["FAIL"]),
            ("acme.sh", [("api.test.key", otherKey), ("api.test.cer", chain)], ["FAIL"]),
            ("directories of a system", [("ssl/private/api.key", otherKey), ("ssl/certs/api.pem", chain)], ["FAIL"]),
            ("capitals", [("Server.KEY", otherKey), ("server.crt", chain)], ["FAIL"]),
            ("the same file, key first", [("x.pem", otherKey + chain)], ["FAIL"]),
            ("the same file, key last", [("x.pem", chain + otherKey)], ["FAIL"]),
            ("chains of Postfix", [("x.pem", otherKey + chain + key + otherChain)], ["FAIL", "FAIL"]),
            ("a Secret", [("x.yaml", secret(chain, otherKey))], ["FAIL"]),
            (
                "two Secrets", [("x.yaml", secret(chain, otherKey) + "---\n" + secret(otherChain, key))],
                ["FAIL", "FAIL"]
            ),
            // Right ones.
            (
                "directories of a system",
                [("private/api.key", key), ("certs/api.pem", chain), ("certs/b.pem", otherChain), ("b.key", key)],
                ["ok", "ok"]
            ),
            ("a Secret with its key", [("x.yaml", secret(chain, key))], ["ok"]),
            (
                "two Secrets with their keys",
                [("x.yaml", secret(chain, key) + "---\n" + secret(otherChain, otherKey))], ["ok", "ok"]
            ),
            (
                "directories with their keys",
                [("a/key.pem", key), ("a/cert.pem", chain), ("b/key.pem", otherKey), ("b/cert.pem", otherChain)],
                ["ok", "ok"]
            ),
            (
                "one directory with several names",
                [("a.key", key), ("a.crt", chain), ("b.key", otherKey), ("b.crt", otherChain)], ["ok", "ok"]
            ),
            ("two keys with the name", [("key.pem", key), ("privkey.pem", key), ("cert.pem", chain)], ["ok"]),
            // Keys with other names may be for anything, such as the next certificate.
            ("a key with another name", [("next.key", otherKey), ("api.key", key), ("api.crt", chain)], ["ok"]),
            ("no key of that name", [("next.key", otherKey), ("api.crt", chain)], ["ok"]),
            ("a key in another directory", [("a/api.crt", chain), ("b/api.key", otherKey)], ["ok"]),
            (
                "a key that can't be read",
                [("key.pem", try other.key.encryptedPrivateKeyPEM(passphrase: "x")), ("cert.pem", chain)], ["ok"]
            ),
        ]
        for (what, files, expected) in rows {
            let directory = try await tree(files)
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            #expect(verdicts(run) == expected && run.status == (expected.contains("FAIL") ? 1 : 0), "\(what): \(run)")
            #expect(run.output.contains("  wrong key: ") == expected.contains("FAIL"), "\(what): \(run)")
        }
        let directory = try await tree(rows[0].1)
        let run = await check(directory.path)
        #expect(
            run.lines[0]
                == "FAIL  \(directory.path)/a/cert.pem for api.test  wrong key: \(directory.path)/a/key.pem isn't the "
                + "key of this certificate, but of \(directory.path)/b/cert.pem (policy \(policy):3:1)", "\(run)")
        #expect(run.output.contains("  do: put the key beside the certificate that was issued for it"), "\(run)")
        #expect(await check("--json", directory.path).output.contains("\"verdict\":\"wrong_key\",\"trusted\":true"))
        // The files of a server are named one by one, too.
        let named = await check(directory.path + "/a/cert.pem", directory.path + "/a/key.pem")
        #expect(verdicts(named) == ["FAIL"] && named.output.contains("wrong key: "), "\(named)")
    }

    @Test("The wrong order of a file comes before what follows from it, and plan names both leaves")
    func causeFirst() async throws {
        let other = try site.intermediate.leaf("www.test")
        for (text, words) in [
            (other.pemText + issuer + leaf, ["api.test  wrong order: ", "not covered"]),
            (other.pemText + leaf + issuer, ["api.test  wrong order: ", "not covered"]),
            (leaf + issuer + other.pemText, ["wrong order: ", "ok"]),
        ] {
            let directory = try await tree([("x.pem", text)])
            let run = await check(directory.path)
            let lines = run.lines.filter { $0.hasPrefix("FAIL") || $0.hasPrefix("ok") }
            #expect(lines.count == 2 && run.status == 1, "\(run)")
            for (line, word) in zip(lines, words) { #expect(line.contains(word), "\(run)") }
            let plan = await pinctl(
                "plan", "--new", directory.path + "/x.pem", "--against", policy, "--ca-file", site.rootFile)
            withExtendedLifetime(directory) {}
            #expect(plan.status == 2, "\(plan)")
            for name in ["CN=www.test", "CN=api.test"] { #expect(plan.errors.contains(name), "\(plan)") }
            #expect(plan.errors.contains("another leaf behind it"), "\(plan)")
        }
    }
}
