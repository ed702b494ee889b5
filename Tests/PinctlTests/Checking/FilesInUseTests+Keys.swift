import FoundationEssentials
import PinctlTestPKI
import Testing

extension FilesInUseTests {
    /// The layout of a directory, and the words at the beginning of the results' lines.
    typealias Layout = (what: String, files: [(String, String)], verdicts: [String])

    private func expect(_ layouts: [Layout], _ finding: String = "wrong key: ") async throws {
        for (what, files, verdicts) in layouts {
            let directory = try await tree(files)
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            #expect(self.verdicts(run) == verdicts, "\(what): \(run)")
            #expect(run.status == (verdicts.contains("FAIL") ? 1 : 0), "\(what): \(run)")
            #expect(run.output.contains(finding) == verdicts.contains("FAIL"), "\(what): \(run)")
        }
    }

    @Test("Each key with the name of a certificate has to fit it, not only one of them")
    func eachKey() async throws {
        let other = try site.intermediate.leaf("api.test", "www.test")
        let (key, otherKey) = (try site.leaf.key.privateKeyPEM, try other.key.privateKeyPEM)
        let (chain, otherChain) = (leaf + issuer, other.pemText + issuer)
        let stray = try TestKey().privateKeyPEM
        try await expect([
            ("privkey.pem", [("privkey.pem", stray), ("key.pem", key), ("fullchain.pem", chain)], ["FAIL"]),
            ("key.pem", [("privkey.pem", key), ("key.pem", stray), ("fullchain.pem", chain)], ["FAIL"]),
            ("another ending", [("api.key", key), ("api-key.pem", stray), ("api.crt", chain)], ["FAIL"]),
            ("the system's directory", [("api.key", key), ("private/api.key", stray), ("api.crt", chain)], ["FAIL"]),
            ("beside a file with its key", [("api.pem", chain + key), ("api.key", stray)], ["FAIL"]),
            ("the first key of a file", [("api.crt", chain), ("api.key", stray + key)], ["FAIL"]),
            ("the key of another certificate", [("a.crt", chain), ("a.key", key), ("a-key.pem", otherKey)], ["FAIL"]),
            // Pairs side by side.
            (
                "RSA and ECDSA",
                [
                    ("cert.rsa.pem", chain), ("key.rsa.pem", key), ("cert.ecdsa.pem", otherChain),
                    ("key.ecdsa.pem", otherKey),
                ], ["ok", "ok"]
            ),
            (
                "one with a word and one without",
                [
                    ("fullchain.pem", chain), ("privkey.pem", key), ("fullchain-rsa.pem", otherChain),
                    ("privkey-rsa.pem", otherKey),
                ], ["ok", "ok"]
            ),
            (
                "RSA and ECDSA, swapped",
                [
                    ("cert.rsa.pem", chain), ("key.rsa.pem", otherKey), ("cert.ecdsa.pem", otherChain),
                    ("key.ecdsa.pem", key),
                ], ["FAIL", "FAIL"]
            ),
            (
                "nginx",
                [
                    ("a.test.crt", chain), ("a.test.key", key), ("a.test.ecdsa.crt", otherChain),
                    ("a.test.ecdsa.key", otherKey),
                ], ["ok", "ok"]
            ),
            (
                "acme.sh",
                [
                    ("api.test/api.test.cer", chain), ("api.test/api.test.key", key),
                    ("api.test_ecc/api.test.cer", otherChain), ("api.test_ecc/api.test.key", otherKey),
                ], ["ok", "ok"]
            ),
            (
                "HAProxy", [("api.pem", chain), ("api.pem.key", key), ("w.pem.rsa", otherChain + otherKey)],
                ["ok", "ok"]
            ),
            ("libvirt", [("servercert.pem", chain), ("private/serverkey.pem", key)], ["ok"]),
            (
                "easy-rsa", [("issued/server.crt", chain), ("private/server.key", key), ("private/ca.key", stray)],
                ["ok"]
            ),
            (
                "Docker",
                [
                    ("cert.pem", chain), ("key.pem", key), ("server-cert.pem", otherChain),
                    ("server-key.pem", otherKey), ("ca-key.pem", stray),
                ], ["ok", "ok"]
            ),
            ("two forms of the key", [("privkey.pem", key), ("privkey.key", key), ("fullchain.pem", chain)], ["ok"]),
        ])
        let directory = try await tree([
            ("cert.pem", chain), ("key.pem", stray), ("privkey.pem", try TestKey().privateKeyPEM),
        ])
        let run = await check(directory.path)
        #expect(
            run.lines.first?.contains(
                "wrong key: \(directory.path)/key.pem isn't the key of this certificate, and neither is "
                    + "\(directory.path)/privkey.pem (policy ") == true, "\(run)")
    }

    @Test(
        "Keys with names that any server has, or the certificate's host, are compared with it, in directories of pairs")
    func genericNames() async throws {
        let other = try site.intermediate.leaf("api.test", "www.test")
        let (key, otherKey) = (try site.leaf.key.privateKeyPEM, try other.key.privateKeyPEM)
        let (chain, otherChain) = (leaf + issuer, other.pemText + issuer)
        let names: [(String, String)] = [
            ("fullchain.pem", "server.key"), ("server.crt", "privkey.pem"), ("certificate.crt", "private.key"),
            ("signed_chain.crt", "domain.key"), ("tls.crt", "ssl.key"), ("api.crt", "server.key"),
            ("fullchain.pem", "api.test.key"), ("bundle.pem", "api.key"), ("fullchain.pem", "wildcard.api.test.key"),
            ("cert-2026.pem", "server-2026.key"), ("ssl.crt/api.crt", "ssl.key/api.key"),
            ("ssl.crt/fullchain.pem", "ssl.key/server.key"), ("certs/fullchain.pem", "private/server.key"),
            ("crt/a.crt", "key/a.key"), ("certs/api/cert.pem", "private/api/key.pem"), ("a/cert.pem", "a/keys/key.pem"),
            ("ssl-certs/a.pem", "ssl-keys/a.pem"), ("fullchain.pem", "whatever.key"),
        ]
        var pairs: [Layout] = []
        for (name, keyName) in names {
            pairs.append(("\(name), \(keyName)", [(name, chain), (keyName, otherKey)], ["FAIL"]))
            pairs.append(("\(name), \(keyName)", [(name, chain), (keyName, key)], ["ok"]))
        }
        try await expect(pairs)
        func document(_ values: [(String, String)], _ head: String = "stringData:\n") -> String {
            head
                + values.map { name, text in
                    "  \(name): |\n" + text.split(separator: "\n").map { "    \($0)\n" }.joined()
                }.joined()
        }
        let stray = try TestKey().privateKeyPEM
        let secret = document([("fullchain.pem", chain), ("server.key", otherKey)])
        let jwt = document([("privateKey", otherKey)], "sso:\n")
        try await expect([
            ("a Secret", [("x.yaml", secret)], ["FAIL"]),
            (
                "another Secret", [("a.yaml", document([("cert", chain)])), ("b.yaml", document([("key", otherKey)]))],
                ["ok"]
            ),
            ("another value", [("x.yaml", document([("cert", chain), ("key", key)], "tls:\n") + jwt)], ["ok"]),
            (
                "beside the right one", [("fullchain.pem", chain), ("privkey.pem", key), ("server.key", otherKey)],
                ["FAIL"]
            ),
            (
                "two certificates, by the rest of their names",
                [
                    ("pay-server.crt", chain), ("tls-pay.key", stray), ("web-server.crt", otherChain),
                    ("tls-web.key", stray),
                ], ["FAIL", "FAIL"]
            ),
            ("the host beside it", [("fullchain.pem", chain), ("key.pem", key), ("api.test.key", otherKey)], ["FAIL"]),
            (
                "keys of two certificates",
                [("fullchain.pem", chain), ("privkey.pem", key), ("b.crt", otherChain), ("server.key", otherKey)],
                ["ok", "ok"]
            ),
            (
                "two directories of pairs",
                [("cert.pem", chain), ("key.pem", key), ("certs/cert.pem", otherChain), ("private/key.pem", otherKey)],
                ["ok", "ok"]
            ),
            (
                "two directories of pairs, swapped",
                [("cert.pem", chain), ("key.pem", otherKey), ("certs/cert.pem", otherChain), ("private/key.pem", key)],
                ["FAIL", "FAIL"]
            ),
        ])
    }

    @Test("A public key or parameters where the private key of a certificate belongs fail the run")
    func publicKeys() async throws {
        let key = try site.leaf.key.privateKeyPEM
        let half = try TestPEM.block("PUBLIC KEY", site.leaf.key.publicKeyDER)
        let other = try TestPEM.block("PUBLIC KEY", TestKey().publicKeyDER)
        let request = try TestSigningRequest(TestName(.commonName("api.test")), key: TestKey()).pemText
        let parameters = TestPEM.block("EC PARAMETERS", [0x06, 1, 2])
        let rows: [(name: String, text: String, status: Int32)] = [
            ("privkey.pem", half, 2), ("api.key", half, 2), ("api-key.pem", half, 2), ("private.pem", half, 2),
            ("privkey.pem", parameters, 2), ("api.key", parameters, 2), ("privkey.pem", parameters + key, 0),
            ("privkey.pem", key + half, 0), ("pubkey.pem", half, 0), ("api.pub", half, 0), ("public_key.pem", half, 0),
            ("dkim.key", other, 0), ("ecparams.pem", parameters, 0), ("dh-key.pem", parameters, 0),
            ("privkey.pem", other, 2), ("api.key", request, 2), ("api.key", leaf + issuer, 2), ("monkey.pem", half, 0),
            ("pinned-key.pem", half, 0), ("site.pem", leaf + issuer + half, 2), ("site.pem", half + leaf, 2),
            ("site.pem", leaf + half + key, 0), ("site.pem", leaf + issuer + other, 0),
        ]
        for (name, text, status) in rows {
            let directory = try await tree([("api.crt", leaf + issuer), (name, text)])
            let run = await check(directory.path)
            #expect(run.status == status && verdicts(run) == ["ok"], "\(name): \(run)")
            #expect(run.lines.last?.contains("1 file not understood") == (status == 2), "\(name): \(run)")
            #expect(run.errors.contains("/\(name): ") == (status == 2), "\(name): \(run)")
            withExtendedLifetime(directory) {}
        }
    }

    @Test("A key whose name or whose other files say that it is for something else isn't compared")
    func otherPurposes() async throws {
        let other = try site.intermediate.leaf("api.test", "www.test")
        let (key, otherKey) = (try site.leaf.key.privateKeyPEM, try other.key.privateKeyPEM)
        let (chain, otherChain) = (leaf + issuer, other.pemText + issuer)
        let unknown = try TestKey()
        let stray = try unknown.privateKeyPEM
        let publicKey = try TestPEM.block("PUBLIC KEY", unknown.publicKeyDER)
        let names = [
            "backup.key", "next.key", "server-next.key", "api.new.key", "old-privkey.pem", "privkey.old.pem",
            "privkey.pem.bak", "account_key.pem", "ca.key", "rootCA-key.pem", "jwt.key", "dkim.pem", "backup/key.pem",
            "keys/backup.pem", "x",
        ]
        let alone: [Layout] = names.map { ($0, [("fullchain.pem", chain), ($0, stray)], ["ok"]) }
        try await expect(alone)
        try await expect([
            ("the next key", [("api.crt", chain), ("api.key", key), ("api-next.key", stray)], ["ok"]),
            (
                "MySQL",
                [
                    ("server-cert.pem", chain), ("server-key.pem", key), ("client-cert.pem", otherChain),
                    ("client-key.pem", otherKey), ("private_key.pem", stray), ("public_key.pem", publicKey),
                ], ["ok", "ok"]
            ),
            (
                "several sites and a key of none",
                [("a.crt", chain), ("a.key", key), ("b.crt", otherChain), ("b.key", otherKey), ("server.key", stray)],
                ["ok", "ok"]
            ),
            (
                "uacme", [("api.test/cert.pem", chain), ("private/api.test/key.pem", key), ("private/key.pem", stray)],
                ["ok"]
            ),
            (
                "the key of a CA",
                [
                    ("fullchain.pem", leaf), ("ca.pem", issuer),
                    ("signer.key", try site.intermediate.key.privateKeyPEM),
                ], ["ok"]
            ),
            (
                "a name that isn't the host's",
                [
                    ("key.api.test.crt", chain), ("key.api.test.key", key),
                    (
                        "api.test.crt",
                        otherChain
                    ), ("api.test.key", otherKey),
                ], ["ok", "ok"]
            ),
        ])
        // The key of the next certificate, for which there is a request with a pinned key.
        let policy = try site.policy("\"\(try site.leaf.key.pin)\", \"\(try unknown.pin)\"")
        let directory = try await tree([
            ("fullchain.pem", chain), ("server.key", stray),
            ("server.csr", try TestSigningRequest("api.test", key: unknown).pemText),
        ])
        let words = ["check", "--ca-file", site.rootFile, "--policy", policy, "--files"]
        let run = await pinctl(words + [directory.path])
        #expect(verdicts(run) == ["ok", "ok", "ok"] && run.status == 0, "\(run)")
        // With the certificate's own name, a server gets it.
        let named = try await tree([("server.crt", chain), ("server.key", stray), ("server.csr", otherKey)])
        #expect(await pinctl(words + [named.path]).status == 1)
    }

    @Test("A private key in a directory that can't be read isn't understood, and an encrypted one is counted")
    func unreadableKeys() async throws {
        let key = try TestKey()
        let text = try key.privateKeyPEM
        let lines = text.split(separator: "\n").map(String.init)
        let encrypted = try key.encryptedPrivateKeyPEM(passphrase: "x")
        let (first, last) = (lines[0], lines[lines.count - 1])
        var encryptedLines = encrypted.split(separator: "\n").map(String.init)
        encryptedLines.remove(at: 2)
        let cut: [(what: String, text: String)] = [
            ("the END line", lines.dropLast().joined(separator: "\n")),
            ("half", String(text.prefix(text.count / 2))),
            ("a line in the middle", "\(first)\n\(lines[lines.count - 2])\n\(last)\n"),
            ("no contents", "\(first)\n\(last)\n"),
            ("digits", text.replacing("MI", with: "M!")),
            ("another label", text.replacing("-----BEGIN ", with: "-----BEGIN EC ")),
            ("a line of an encrypted key", encryptedLines.joined(separator: "\n") + "\n"),
            ("half of an encrypted key", String(encrypted.prefix(encrypted.count / 2))),
            ("DER", TestPEM.block("PRIVATE KEY", [0x30, 0x82, 1, 0, 2, 1, 0])),
        ]
        for (what, text) in cut {
            for name in ["privkey.pem", "x", ".x.key"] {
                let directory = try await tree([("fullchain.pem", leaf + issuer), (name, text)])
                let run = await check(directory.path)
                #expect(run.status == 2 && run.errors.contains("/\(name)["), "\(what): \(run)")
                #expect(run.lines.last?.hasSuffix("1 file not understood") == true, "\(what): \(run)")
                #expect(await check("--allow-unread", directory.path).status == 0, "\(what)")
            }
        }
        let inFile = try await tree([("fullchain.pem", leaf + issuer + cut[1].text)])
        #expect(await check(inFile.path).status == 2)
        // A key of SSH isn't that of a server, unless its name says so.
        let ssh = TestPEM.block("OPENSSH PRIVATE KEY", [1, 2, 3])
        for (name, status) in [("id_ed25519", Int32(0)), ("privkey.pem", 2), ("server.key", 2)] {
            let directory = try await tree([("fullchain.pem", leaf + issuer), (name, ssh)])
            let run = await check(directory.path)
            #expect(run.status == status, "\(run)")
            #expect(run.output.contains("private SSH key: 1") == (status == 0), "\(run)")
        }
        // Without its password, an encrypted key isn't compared.
        let password = try site.directory.add("x\n")
        let wrong = try site.directory.add("y\n")
        let own = try site.leaf.key.encryptedPrivateKeyPEM(passphrase: "x")
        let chain = leaf + issuer
        let rows: [(files: [(String, String)], noted: String?, status: Int32)] = [
            ([("privkey.pem", encrypted), ("fullchain.pem", chain)], "/privkey.pem is encrypted", 1),
            ([("privkey.pem", own), ("fullchain.pem", chain)], "/privkey.pem is encrypted", 0),
            ([("x.pem", chain + encrypted)], "its private key is encrypted", 1),
            ([("a.key", encrypted), ("a.crt", chain), ("b.key", encrypted)], "/a.key is encrypted", 1),
            ([("b.key", encrypted), ("c.key", encrypted), ("a.crt", chain)], nil, 0),
        ]
        for (files, noted, status) in rows {
            let directory = try await tree(files)
            let closed = await check(directory.path)
            #expect(closed.status == 0, "\(closed)")
            if let noted {
                #expect(closed.errors.contains(noted), "\(closed)")
                #expect(closed.errors.contains("give --password-file FILE"), "\(closed)")
            } else {
                #expect(closed.errors.isEmpty, "\(closed)")
            }
            let opened = await check("--password-file", password, directory.path)
            #expect(opened.status == status && opened.errors.isEmpty, "\(opened)")
            let refused = await check("--password-file", wrong, directory.path)
            #expect(refused.status == 2 && refused.errors.contains("another password"), "\(refused)")
        }
    }

    @Test("A file that is named is compared with the keys beside it, as in a directory")
    func namedFiles() async throws {
        let other = try site.intermediate.leaf("www.test")
        let (key, stray) = (try site.leaf.key.privateKeyPEM, try TestKey().privateKeyPEM)
        let chain = leaf + issuer
        let rows: [(what: String, files: [(String, String)], named: String, status: Int32)] = [
            ("its key", [("api.key", key), ("api.crt", chain)], "api.crt", 0),
            ("another key", [("api.key", stray), ("api.crt", chain)], "api.crt", 1),
            ("one of two", [("key.pem", key), ("privkey.pem", stray), ("cert.pem", chain)], "cert.pem", 1),
            ("a common name", [("server.key", stray), ("fullchain.pem", chain)], "fullchain.pem", 1),
            (
                "several certificates", [("a.key", stray), ("a.crt", other.pemText), ("api.crt", chain)], "api.crt", 0
            ),
            (
                "a key of another certificate", [("a.crt", other.pemText), ("a.key", stray), ("api.crt", chain)],
                "api.crt", 0
            ),
            ("the next key", [("next.key", stray), ("api.crt", chain)], "api.crt", 0),
            ("a key that is cut off", [("api.key", String(key.prefix(150))), ("api.crt", chain)], "api.crt", 2),
            ("a binary key", [("api.key", "\u{1}\u{2}"), ("api.crt", chain)], "api.crt", 2),
            ("another damaged file", [("b.key", String(key.prefix(150))), ("api.crt", chain)], "api.crt", 0),
            ("a damaged certificate", [("api.pem", String(leaf.prefix(150))), ("api.crt", chain)], "api.crt", 0),
        ]
        for (what, files, named, status) in rows {
            let directory = try await tree(files)
            for path in ["\(directory.path)/\(named)", "\(directory.path)/./\(named)"] {
                let run = await check(path)
                #expect(run.status == status, "\(what): \(run)")
                #expect(run.output.contains("wrong key: ") == (status == 1), "\(what): \(run)")
                #expect(run.lines.last?.contains("irrelevant") == false, "\(what): \(run)")
            }
            let run = try await shell(
                "pinctl check --at 2026-11-20 --ca-file \(site.rootFile) --policy \(policy) --files \(named)",
                in: directory)
            #expect(run.status == status, "\(what): \(run)")
        }
        // The key may be for root alone.
        let directory = try await tree([("api.key", key), ("api.crt", chain)])
        let run = try await shell(
            "chmod 755 .; chmod 600 api.key; cp \(site.rootFile) root.pem; cp \(policy) policy; "
                + "chmod 644 *.crt *.pem policy; "
                + "user=; [ $(id -u) = 0 ] && user='setpriv --reuid 65534 --regid 65534 --clear-groups' || "
                + "chmod 000 api.key; "
                + "$user $(command -v pinctl) check --at 2026-11-20 --ca-file root.pem --policy policy --files api.crt",
            in: directory)
        #expect(run.status == 0 && run.errors.contains("api.key can't be read, so it wasn't compared with "), "\(run)")
    }

    @Test("A wrong key or a wrong order is reported together with what is wrong with the chain")
    func bothFailures() async throws {
        let stray = try TestKey().privateKeyPEM
        let unpinned = try site.policy("\"\(unknownPin)\"")
        let (good, denied) = try (
            site.policy("\"\(site.root.key.pin)\""),
            site.directory.add(
                #"""
                { "version": 1, "deny": ["\#(site.leaf.key.pin)"],
                  "domains": [{ "host": "api.test", "pins": ["\#(site.root.key.pin)"] }] }
                """#)
        )
        let uncovered = try site.policy("\"\(unknownPin)\"", host: "www.test")
        let old = expired.pemText + issuer
        let rows: [(chain: String, policy: String, word: String, also: String?, texts: [String])] = [
            (leaf + issuer, good, "wrong_key", nil, ["wrong key: "]),
            (leaf + issuer, unpinned, "wrong_key", "pin_mismatch", ["wrong key: ", "pin mismatch: 0 of 1 pins match"]),
            (leaf, good, "wrong_key", "untrusted", ["wrong key: ", "unable to get local issuer certificate"]),
            (old, good, "wrong_key", "chain_expired", ["wrong key: ", "certificate has expired"]),
            (leaf + issuer, denied, "wrong_key", "denied", ["wrong key: ", "denies"]),
            (leaf + issuer, uncovered, "wrong_key", "not_covered", ["wrong key: ", "has no rule for it: add one"]),
            (issuer + leaf, good, "wrong_order", nil, ["wrong order: ", "; wrong key: "]),
            (
                issuer + leaf, unpinned, "wrong_order", "pin_mismatch",
                ["wrong order: ", "; wrong key: ", "; pin mismatch: 0 of 1 pins match"]
            ),
        ]
        for (chain, policy, word, also, texts) in rows {
            let directory = try await tree([("api.crt", chain), ("api.key", stray)])
            let words = ["check", "--ca-file", site.rootFile, "--policy", policy]
            let run = await pinctl(words + ["--files", directory.path])
            let document = await pinctl(words + ["--json", "--files", directory.path]).output
            withExtendedLifetime(directory) {}
            let line = run.lines.first { $0.contains("/api.crt") } ?? ""
            for text in texts { #expect(line.contains(text), "\(texts): \(run)") }
            #expect(document.contains("\"verdict\":\"\(word)\""), "\(document)")
            #expect(document.contains("\"also\":\"\(also ?? "")\"") == (also != nil), "\(document)")
            #expect(run.lines.count { $0.hasPrefix("  do: put ") } == 1 && run.status == 1, "\(run)")
            if also == "pin_mismatch" {
                #expect(run.output.contains("  verified path"), "\(run)")
                #expect(run.output.contains("  do: don't deploy it: "), "\(run)")
            }
        }
    }
}
