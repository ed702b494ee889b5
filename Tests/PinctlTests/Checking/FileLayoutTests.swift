import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

/// The directories of ACME clients and of Kubernetes as they are: one result for each leaf, and nothing is omitted that
/// could be a certificate.
@Suite("Directories of pinctl check --files")
struct FileLayoutTests {
    let site: PinctlSite
    let policy: String

    init() throws {
        site = try PinctlSite()
        policy = try site.policy("\"\(try site.root.key.pin)\"")
    }

    /// A tree of files, by their paths.
    private func tree(_ files: [(String, String)]) async throws -> TestDirectory {
        let directory = try TestDirectory()
        for (path, text) in files { try await add(text, path, to: directory) }
        return directory
    }

    private func add(_ text: String, _ path: String, to directory: TestDirectory) async throws {
        if let slash = path.lastIndex(of: "/") {
            #expect(try TestCommand.run(["mkdir", "-p", "\(directory.path)/\(path[..<slash])"]).status == 0)
        }
        _ = try directory.add(text, name: path)
    }

    private func check(_ words: String...) async -> Run {
        await pinctl(["check", "--ca-file", site.rootFile, "--policy", policy, "--files"] + words)
    }

    private var leaf: String { site.leaf.pemText }
    private var issuer: String { site.intermediate.pemText }

    @Test("certbot's live directory, with its links into the archive, has one result")
    func certbot() async throws {
        let directory = try await tree([
            ("archive/api/cert1.pem", leaf), ("archive/api/chain1.pem", issuer),
            ("archive/api/fullchain1.pem", leaf + issuer),
            ("archive/api/privkey1.pem", try site.leaf.key.privateKeyPEM),
            ("live/README", "This directory contains your keys and certificates.\n"),
            ("live/api/README", "`privkey.pem`  : the private key for your certificate.\n"),
            ("renewal/api.conf", "version = 2.1.0\n[renewalparams]\nkey_type = ecdsa\n"),
        ])
        let linked = try await shell(
            "for f in cert chain fullchain privkey; do ln -s ../../archive/api/${f}1.pem live/api/$f.pem; done",
            in: directory)
        #expect(linked.status == 0)
        let run = await check(directory.path + "/live/api")
        #expect(
            run.lines == [
                "ok    \(directory.path)/live/api/fullchain.pem for api.test  matched \(try site.root.key.pin) (root)",
                "1 checked: 1 ok; 2 irrelevant files (private key: 1, text: 1)",
            ])
        #expect(run.status == 0 && run.errors == "")
        // The directories below one are read too.
        for path in ["/live", ""] {
            let all = await check(directory.path + path)
            #expect(all.status == 0 && all.lines.count == 2, "\(all)")
            #expect(all.lines.last?.hasPrefix("1 checked: 1 ok; ") == true && all.errors == "", "\(all)")
        }
    }

    @Test("The directories of acme.sh, lego, Caddy and a Kubernetes volume have one result")
    func otherClients() async throws {
        let key = try site.leaf.key.privateKeyPEM
        let request = try TestSigningRequest("api.test", key: site.leaf.key).pemText
        let layouts: [(String, [(String, String)])] = [
            (
                "acme.sh",
                [
                    ("api.test.cer", leaf), ("ca.cer", issuer), ("fullchain.cer", leaf + issuer), ("api.test.key", key),
                    ("api.test.csr", request),
                    (
                        "api.test.csr.conf",
                        "[ req_distinguished_name ]\n[ req ]\n[ v3_req ]\nsubjectAltName=DNS:api.test\n"
                    ),
                    (
                        "api.test.conf",
                        "Le_Domain='api.test'\nLe_ReloadCmd='__ACME_BASE64__START_c3Vkbw==__ACME_BASE64__END_'\n"
                    ),
                ]
            ),
            (
                "lego",
                [
                    ("certificates/api.test.crt", leaf + issuer), ("certificates/api.test.issuer.crt", issuer),
                    ("certificates/api.test.key", key),
                    (
                        "certificates/api.test.json",
                        "{\n  \"domain\": \"api.test\",\n  \"certUrl\": \"https://ca.test/1\"\n}\n"
                    ),
                    (
                        "accounts/ca.test/me@test/account.json",
                        "{ \"email\": \"me@test\", \"registration\": { \"uri\": \"x\" } }"
                    ),
                    ("accounts/ca.test/me@test/keys/me@test.key", try TestKey().privateKeyPEM),
                ]
            ),
            (
                "Caddy",
                [
                    ("acme-v02/api.test/api.test.crt", leaf + issuer), ("acme-v02/api.test/api.test.key", key),
                    ("acme-v02/api.test/api.test.json", "{ \"sans\": [\"api.test\"], \"issuer_data\": null }"),
                ]
            ),
            ("volume", [("..2026_11_20/tls.crt", leaf + issuer), ("..2026_11_20/tls.key", key)]),
            ("dhparam", [("fullchain.pem", leaf + issuer), ("dh.pem", TestPEM.block("DH PARAMETERS", [0x30, 0]))]),
        ]
        for (name, files) in layouts {
            let directory = try await tree(files)
            if name == "volume" {
                let linked = try await shell(
                    "ln -s ..2026_11_20 ..data; ln -s ..data/tls.crt .; ln -s ..data/tls.key .", in: directory)
                #expect(linked.status == 0)
            }
            let run = await check(directory.path)
            #expect(run.status == 0 && run.lines.count == 2 && run.errors == "", "\(name): \(run)")
            #expect(run.lines[0].hasPrefix("ok    \(directory.path)/"), "\(name): \(run)")
            #expect(run.lines.last?.hasPrefix("1 checked: 1 ok; ") == true, "\(name): \(run)")
        }
    }

    @Test("Each leaf of a directory has a result, with its issuers from other files")
    func severalLeaves() async throws {
        let other = try TestSite("www.test")
        let directory = try await tree([
            ("a.pem", leaf), ("b/b.pem", other.leaf.pemText), ("ca/a.pem", issuer),
            ("ca/b.pem", other.intermediate.pemText),
        ])
        let policy = try site.directory.add(
            policyText([
                ("api.test", ["\"\(try site.root.key.pin)\""]), ("www.test", ["\"\(unknownPin)\""]),
            ]))
        let root = try site.directory.add(other.root.pemText)
        let run = await pinctl(
            "check", "--ca-file", site.rootFile, "--ca-file", root, "--policy", policy, "--files", directory.path)
        #expect(run.lines.first?.hasPrefix("ok    \(directory.path)/a.pem for api.test  matched ") == true, "\(run)")
        #expect(run.output.contains("FAIL  \(directory.path)/b/b.pem for www.test  pin mismatch: "), "\(run)")
        #expect(run.lines.last == "2 checked: 1 ok, 1 failed" && run.status == 1, "\(run)")
        // Without the directory of the issuers, the leaf is incomplete.
        let alone = await check(directory.path + "/a.pem")
        #expect(alone.status == 4, "\(alone)")
        // Files that are named one by one are read as a directory of them.
        let named = await check(directory.path + "/a.pem", directory.path + "/ca/a.pem")
        #expect(named.status == 0 && named.lines.last == "1 checked: 1 ok", "\(named)")
    }

    @Test("The chain of another site's directory doesn't complete a chain")
    func neighbours() async throws {
        let other = try site.intermediate.leaf("api.test")
        func check(_ files: [(String, String)]) async throws -> Run {
            let directory = try await tree(files)
            defer { withExtendedLifetime(directory) {} }
            return await self.check(directory.path)
        }
        // The server of b would send its leaf alone.
        let apart = try await check([
            ("a/fullchain.pem", leaf + issuer), ("b/fullchain.pem", other.pemText), ("b/README", "b\n"),
        ])
        #expect(apart.lines.last?.hasPrefix("2 checked: 1 ok, 1 not trusted") == true && apart.status == 4, "\(apart)")
        #expect(apart.output.contains("/b/fullchain.pem for api.test  "), "\(apart)")
        for (files, isBorrowed) in [
            ([("a.pem", leaf + issuer), ("b.pem", other.pemText)], true),
            ([("a.pem", leaf + issuer), ("b.pem", other.pemText), ("c.pem", other.pemText + issuer)], false),
            ([("a.pem", leaf + issuer), ("b.pem", other.pemText + site.root.pemText)], true),
            ([("a.pem", leaf), ("b.pem", other.pemText), ("c.pem", issuer)], false),
            ([("a/a.pem", leaf), ("b/b.pem", other.pemText), ("c/ca/c.pem", issuer)], false),
            ([("a/a.pem", leaf + issuer), ("b/b.pem", other.pemText), ("b/ca.pem", issuer)], false),
        ] {
            let together = try await check(files)
            #expect(
                together.lines.last == "2 checked: 2 ok" + (isBorrowed ? " (1 with a warning)" : "")
                    && together.status == 0, "\(together)")
            let warning = "warning: its issuer, CN=Test Intermediate, is only in the file of another certificate: "
            #expect(together.output.contains(warning) == isBorrowed, "\(together)")
        }
    }

    @Test("A chain with an expired intermediate isn't completed with a current one beside it")
    func ownChain() async throws {
        let expired = try site.root.intermediate("Test Intermediate", key: site.intermediate.key) {
            $0.notAfter = $0.notBefore + 86_400
        }.pemText
        for names in [
            ("fullchain.pem", "chain.pem"), ("fullchain.cer", "ca.cer"), ("api.test.crt", "api.test.issuer.crt"),
            ("a.pem", "ca/inter.pem"),
        ] {
            let directory = try await tree([(names.0, leaf + expired), (names.1, issuer)])
            let run = await check(directory.path)
            #expect(run.status == 4 && run.output.contains("not trusted [expired]"), "\(names): \(run)")
            let good = try await tree([(names.0, leaf), (names.1, issuer)])
            #expect(await check(good.path).status == 0, "\(names)")
        }
    }

    @Test("A file whose own chain fails isn't hidden by another one with the same leaf")
    func copies() async throws {
        let unrelated = try TestCertificate.root("Other Root").pemText
        func check(_ files: [(String, String)]) async throws -> Run {
            let directory = try await tree(files)
            defer { withExtendedLifetime(directory) {} }
            return await self.check(directory.path)
        }
        for (good, bad) in [("a/fullchain.pem", "b/fullchain.pem"), ("b.pem", "a.pem")] {
            let run = try await check([(good, leaf + issuer), (bad, leaf + unrelated)])
            #expect(run.lines.last?.hasPrefix("2 checked: 1 ok, 1 not trusted") == true && run.status == 4, "\(run)")
            #expect(run.output.contains("FAIL") && run.output.contains("/\(bad) for api.test  not trusted"), "\(run)")
        }
        let alone = try await check([("a/fullchain.pem", leaf + issuer), ("b/cert.pem", leaf)])
        #expect(alone.status == 0 && alone.lines.last == "1 checked: 1 ok (1 with a warning)", "\(alone)")
        #expect(alone.output.contains("/b/cert.pem has the leaf without its issuers"), "\(alone)")
        for files in [
            [("a/fullchain.pem", leaf + issuer), ("a/cert.pem", leaf)],
            [("a/fullchain.pem", leaf + issuer), ("b/cert.pem", leaf), ("b/chain.pem", issuer)],
            [("a/fullchain.pem", leaf + issuer), ("b/fullchain.pem", leaf + issuer), ("b/cert.pem", leaf)],
        ] {
            let run = try await check(files)
            #expect(run.status == 0 && run.lines.last?.hasPrefix("1 checked: 1 ok") == true, "\(run)")
            #expect(!run.output.contains("warning"), "\(run)")
        }
    }

    @Test(
        "What is in a directory with a good chain is irrelevant by its contents, or fails the run",
        arguments: [
            ("a CRL in PEM", Int32(0), "certificate revocation list (CRL): 1"),
            ("a CRL in DER", 0, "certificate revocation list (CRL): 1"),
            ("an OCSP response", 0, "OCSP response: 1"), ("parameters", 0, "file of parameters: 1"),
            ("a README", 0, "text: 1"), ("an INI file", 0, "text: 1"), ("JSON", 0, "JSON file: 1"),
            ("a policy", 0, "file of pins: 1"), ("an encrypted key", 0, "encrypted private key: 1"),
            ("another CA", 0, "CA certificate: 1"), ("a hidden binary file", 0, "hidden file: 1"),
            ("a binary file", 2, "1 file not understood"), ("control characters", 2, "1 file not understood"),
            ("text in an old encoding", 0, "text: 1"), ("bytes that aren't text", 2, "1 file not understood"),
            ("an empty file", 2, "1 file not understood"),
            ("Base64 in a text", 2, "1 file not understood"), ("hexadecimal DER", 2, "1 file not understood"),
            ("a commented-out certificate", 2, "1 file not understood"),
            ("a dangling link", 2, "1 file not understood"), ("a damaged certificate", 2, "1 file not understood"),
            ("a pipe", 2, "1 file not understood"),
        ] as [(String, Int32, String)])
    func oneFile(what: String, status: Int32, count: String) async throws {
        let directory = try await tree([("chain.pem", leaf + issuer)])
        let list = try site.intermediate.revocationList()
        let der = site.leaf.derBytes
        switch what {
        case "a CRL in PEM": _ = try directory.add(TestPEM.block("X509 CRL", list), name: "x")
        case "a CRL in DER": _ = try directory.add(list, name: "x")
        case "an OCSP response":
            _ = try directory.add(
                TestDER.sequence(TestDER.element(0x0A, [0]), TestDER.constructed(0, [0x30, 0])), name: "x")
        case "parameters": _ = try directory.add(TestPEM.block("EC PARAMETERS", [0x06, 1, 2]), name: "x")
        case "a README": _ = try directory.add("These are the certificates.\n", name: "x")
        case "an INI file": _ = try directory.add("[default]\nserver = https://ca.test/\n", name: "x")
        case "JSON": _ = try directory.add("{ \"domain\": \"api.test\" }", name: "x")
        case "a policy": _ = try directory.add("{ \"version\": 1, \"domains\": [] }", name: "x")
        case "an encrypted key": _ = try directory.add(TestKey().encryptedPrivateKeyPEM(passphrase: "x"), name: "x")
        case "another CA": _ = try directory.add(TestCertificate.root("Another").pemText, name: "x")
        case "a hidden binary file": _ = try directory.add([0, 1, 2, 3], name: ".x")
        case "a binary file": _ = try directory.add([0, 1, 2, 3], name: "x")
        case "control characters": _ = try directory.add("a\u{1}\u{2}b\n", name: "x")
        case "text in an old encoding":
            _ = try directory.add(Array("Schl".utf8) + [0xFC] + Array("ssel\n".utf8), name: "x")
        case "bytes that aren't text": _ = try directory.add([UInt8](0xA0...0xDF), name: "x")
        case "an empty file": _ = try directory.add("", name: "x")
        case "Base64 in a text": _ = try directory.add("cert = \(TestPEM.base64(der))\n", name: "x")
        case "hexadecimal DER":
            _ = try directory.add(der.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(), name: "x")
        case "a commented-out certificate":
            _ = try directory.add(leaf.split(separator: "\n").map { "# \($0)\n" }.joined(), name: "x")
        case "a dangling link": _ = try TestCommand.run(["ln", "-s", "/no/such/file", "\(directory.path)/x"])
        case "a damaged certificate": _ = try directory.add(leaf.replacing("MII", with: "M!I"), name: "x")
        default: _ = try TestCommand.run(["mkfifo", "\(directory.path)/x"])
        }
        let run = await check(directory.path)
        #expect(run.status == status, "\(run)")
        #expect(run.lines.last?.contains(count) == true, "\(run)")
        #expect(run.lines.first?.hasPrefix("ok    \(directory.path)/chain.pem for api.test  ") == true, "\(run)")
        #expect(run.errors.isEmpty == (status == 0), "\(run)")
        let json = await check("--json", directory.path)
        #expect(
            json.output.contains(status == 0 ? "\"irrelevant\":1,\"unread\":0" : "\"irrelevant\":0,\"unread\":1"),
            "\(json)")
        // What isn't understood can be accepted, but not what is damaged or missing.
        let accepted = await check("--allow-unread", directory.path)
        let isBroken = ["a dangling link", "a damaged certificate"].contains(what)
        #expect(accepted.status == (isBroken ? 2 : 0), "\(accepted)")
        #expect(accepted.lines.last?.contains(count) == true, "\(accepted)")
    }

    @Test("A directory that can't be listed fails the run, also if it is hidden")
    func unlistedDirectories() async throws {
        let deep = (1...34).map { _ in "d" }.joined(separator: "/")
        for name in ["", "d", ".d", ".d/e", "d/.e"] {
            let directory = try await tree([("chain.pem", leaf + issuer)])
            if !name.isEmpty { try await add("no\n", "\(name)/\(deep)/x", to: directory) }
            let run = await check(directory.path)
            #expect(run.status == (name.isEmpty ? 0 : 2), "\(name): \(run)")
            #expect(run.errors.contains("cannot be listed") != name.isEmpty, "\(name): \(run)")
            #expect(await check("--allow-unread", directory.path).status == 0)
        }
        // A plain user may not list it.
        let directory = try await tree([("chain.pem", leaf + issuer), (".d/chain.pem", "no"), (".e", "\u{1}")])
        let run = try await shell(
            "chmod 755 .; chmod 000 .d; cp \(site.rootFile) root.pem; cp \(policy) policy; chmod 644 root.pem policy; "
                + "user=; [ $(id -u) != 0 ] || user='setpriv --reuid 65534 --regid 65534 --clear-groups'; "
                + "$user $(command -v pinctl) check --at 2026-11-20 --ca-file root.pem --policy policy --files .; "
                + "status=$?; chmod 755 .d; exit $status", in: directory)
        #expect(run.status == 2 && run.errors.contains("/.d: this directory cannot be listed"), "\(run)")
    }

    @Test("A certificate that a file or a directory has a thousand times is judged once", .timeLimit(.minutes(1)))
    func repeated() async throws {
        let key = try site.leaf.key.privateKeyPEM
        let files = (0..<500).flatMap { [("\($0).crt", leaf + issuer), ("\($0).key", key)] }
        let all = try await tree([("all.pem", String(repeating: leaf, count: 6_000)), ("ca.pem", issuer)])
        for directory in [all, try await tree(files)] {
            let run = await check(directory.path)
            #expect(run.status == 0 && run.lines.last?.hasPrefix("1 checked: 1 ok") == true, "\(run)")
        }
    }

    @Test("A text under the name of a certificate isn't understood, and is irrelevant under another name")
    func misnamed() async throws {
        for text in ["<html><title>404 Not Found</title></html>\n", "Not found\n", "{ \"error\": \"not found\" }\n"] {
            for (name, status) in [("x.pem", Int32(2)), ("x.CRT", 2), ("x.key", 2), ("x.html", 0), ("x", 0)] {
                let directory = try await tree([("chain.pem", leaf + issuer), (name, text)])
                let run = await check(directory.path)
                withExtendedLifetime(directory) {}
                #expect(run.status == status && run.errors.contains("/\(name): ") == (status == 2), "\(name): \(run)")
            }
        }
    }

    @Test("In a directory, a request or record with another key than the pinned one fails, and a key alone doesn't")
    func unknownKeys() async throws {
        let key = try TestKey()
        let request = try TestSigningRequest("api.test", key: key).pemText
        let bare = try site.directory.add(TestPEM.block("PUBLIC KEY", key.publicKeyDER))
        let record = await pinctl("hash", "--as", "tlsa=_443._tcp.api.test", bare).output
        for (text, status) in [
            (request, Int32(1)), (record, 1), (try key.privateKeyPEM, 0),
            (try TestPEM.block("PUBLIC KEY", key.publicKeyDER), 0),
        ] {
            let directory = try await tree([("chain.pem", leaf + issuer), ("x", text)])
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            #expect(run.status == status && run.output.contains("pin mismatch") == (status == 1), "\(text)\(run)")
        }
    }

    @Test("A directory without anything to check fails, whatever is in it")
    func nothing() async throws {
        let directory = try await tree([("README", "nothing\n"), ("privkey.pem", try TestKey().privateKeyPEM)])
        let run = await check(directory.path)
        #expect(run.errors.hasPrefix("pinctl: the files contain only keys that aren't pinned: "), "\(run)")
        #expect(
            run.lines.last == "0 checked; 2 irrelevant files (private key of no certificate: 1, text: 1)"
                && run.status == 2, "\(run)")
    }

    // MARK: Leaves

    /// A self-signed server certificate as `openssl req -x509` makes it.
    private func selfSigned(_ names: String..., key: TestKey? = nil) throws -> TestCertificate {
        var settings = TestCertificate.Settings(subject: TestName(.commonName(names[0])))
        settings.alternativeNames = names.map { .dns($0) }
        settings.isAuthority = true
        return try .selfSigned(settings, key: key)
    }

    @Test("A self-signed certificate with CA:TRUE is the leaf of its file, in a directory and as an operand")
    func selfSignedAuthority() async throws {
        let (old, new) = (try selfSigned("api.test"), try selfSigned("api.test"))
        let policy = try site.policy("{ \"pin\": \"\(try old.key.pin)\", \"role\": \"leaf\" }, \"\(unknownPin)\"")
        let directory = try await tree([("old.pem", old.pemText), ("new.pem", new.pemText)])
        let roots = ["--ca-file", directory.path + "/old.pem", "--ca-file", directory.path + "/new.pem"]
        let run = await pinctl(["check", "--policy", policy, "--files", directory.path] + roots)
        #expect(run.lines.last == "2 checked: 1 ok, 1 failed" && run.status == 1, "\(run)")
        #expect(run.output.contains("FAIL  \(directory.path)/new.pem for api.test  pin mismatch"), "\(run)")
        for (name, status) in [("old.pem", Int32(0)), ("new.pem", 1)] {
            let one = await pinctl(["check", "--policy", policy, "--files", "\(directory.path)/\(name)"] + roots)
            #expect(one.status == status, "\(one)")
            let plan = await pinctl(["plan", "--new", "\(directory.path)/\(name)", "--against", policy] + roots)
            #expect(plan.status == status, "\(plan)")
            let show = await pinctl(["show", "\(directory.path)/\(name)"] + roots)
            #expect(show.lines[0].contains("  trusted  "), "\(show)")
        }
    }

    @Test("A CA certificate with names is no leaf if another certificate of the directory chains to it")
    func namedAuthority() async throws {
        let authority = try selfSigned("ca.test")
        let leaf = try authority.leaf("api.test")
        let policy = try site.policy("\"\(try authority.key.pin)\"")
        let root = try site.directory.add(authority.pemText)
        func check(_ files: [(String, String)]) async throws -> Run {
            let directory = try await tree(files)
            defer { withExtendedLifetime(directory) {} }
            return await pinctl("check", "--policy", policy, "--ca-file", root, "--files", directory.path)
        }
        for files in [
            [("chain.pem", leaf.pemText + authority.pemText)],
            [("leaf.pem", leaf.pemText), ("ca.pem", authority.pemText)],
        ] {
            let run = try await check(files)
            #expect(run.lines.last == "1 checked: 1 ok" && run.status == 0, "\(run)")
        }
        // Alone it is a certificate for its own names.
        let alone = try await check([("ca.pem", authority.pemText)])
        #expect(alone.output.contains("not covered") && alone.status == 1, "\(alone)")
        // A CA certificate without a hostname is never a leaf, and completes chains only.
        let plain = try await check([("leaf.pem", leaf.pemText), ("ca.pem", try TestCertificate.root("Plain").pemText)])
        #expect(plain.lines.last == "1 checked: 1 ok; 1 irrelevant file (CA certificate: 1)", "\(plain)")
        #expect(plain.status == 0, "\(plain)")
    }

    @Test(
        "A file whose first certificate isn't the leaf fails, because servers present the first",
        arguments: ["reversed", "root first", "intermediate first, beside cert.pem", "in a Secret"])
    func wrongOrder(_ form: String) async throws {
        let directory: TestDirectory
        switch form {
        case "reversed": directory = try await tree([("x.pem", issuer + leaf)])
        case "root first": directory = try await tree([("x.pem", site.root.pemText + leaf + issuer)])
        case "in a Secret":
            let lines = (issuer + leaf).split(separator: "\n").map { "    \($0)\n" }.joined()
            directory = try await tree([("x.yaml", "kind: Secret\nstringData:\n  tls.crt: |\n" + lines)])
        default: directory = try await tree([("cert.pem", leaf), ("x.pem", issuer + leaf)])
        }
        let run = await check(directory.path)
        #expect(run.lines.first?.contains("/x.") == true, "\(run)")
        let first = form == "root first" ? "CN=Test Root" : "CN=Test Intermediate"
        #expect(
            run.lines.first?.contains(" for api.test  wrong order: the file begins with \(first), and this ") == true,
            "\(run)")
        #expect(run.lines.contains { $0.hasPrefix("  do: put each leaf first in a file of its own") }, "\(run)")
        #expect(run.lines.last == "1 checked: 1 failed" && run.status == 1, "\(run)")
        #expect(await check("--json", directory.path).output.contains("\"verdict\":\"wrong_order\",\"trusted\":true"))
    }

    @Test("A leaf behind another leaf fails too, unless it is first in a file of its own")
    func otherLeafFirst() async throws {
        let other = try site.intermediate.leaf("www.test", "api.test")
        for (files, verdicts) in [
            ([("x.pem", other.pemText + issuer + leaf)], ["FAIL", "ok"]),
            ([("x.pem", other.pemText + leaf + issuer)], ["FAIL", "ok"]),
            ([("x.pem", other.pemText + leaf), ("ca.pem", issuer)], ["FAIL", "ok"]),
            // Servers fail with the file of a chain, whatever else there is, but nobody deploys a collection.
            ([("x.pem", issuer + leaf), ("z.pem", leaf + issuer)], ["FAIL"]),
            ([("fullchain.pem", other.pemText + leaf + issuer), ("z.pem", leaf)], ["FAIL", "ok"]),
            ([("all.pem", other.pemText + leaf), ("ca.pem", issuer), ("z.pem", leaf + issuer)], ["ok", "ok"]),
            ([("a.pem", leaf + issuer), ("ca.pem", issuer), ("z.pem", other.pemText + leaf)], ["ok", "ok"]),
            ([("x.pem", leaf + leaf + issuer)], ["ok"]),
        ] {
            let directory = try await tree(files)
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            let found = run.lines.dropLast().filter { !$0.hasPrefix(" ") }
            #expect(found.map { $0.prefix { $0 != " " } }.map(String.init) == verdicts, "\(run)")
            #expect(run.status == (verdicts.contains("FAIL") ? 1 : 0), "\(run)")
            guard verdicts == ["FAIL", "ok"] else { continue }
            #expect(run.output.contains("wrong order: the file begins with CN=www.test, and this leaf is certificate "))
        }
    }

    @Test("A CA certificate that the policy denies is refused, also if its key is pinned")
    func deniedAuthority() async throws {
        let certificate = try X509Certificate(derBytes: site.intermediate.derBytes).fingerprint
        let pins = #"{ "host": "api.test", "pins": ["\#(try site.intermediate.key.pin)", "\#(unknownPin)"] }"#
        let file = try site.directory.add(issuer, name: "int.pem")
        for (deny, status) in [("\(certificate)", Int32(1)), (unknownPin, 0)] {
            let policy = try site.directory.add(
                #"{ "version": 1, "deny": ["\#(deny)"], "domains": [\#(pins)] }"#)
            let run = await pinctl("check", "--ca-file", site.rootFile, "--policy", policy, "--files", file)
            #expect(run.status == status, "\(run)")
        }
    }

    @Test("A private key in a directory that fits no certificate is counted apart, and alone it isn't a check")
    func unfittingKey() async throws {
        let key = try TestKey().privateKeyPEM
        let files = [("chain.pem", leaf + issuer), ("server.key", try site.leaf.key.privateKeyPEM)]
        for (more, count) in [
            ([], "(private key: 1)"), ([("x.key", key)], "(private key: 1, private key of no certificate: 1)"),
        ] {
            let directory = try await tree(files + more)
            let run = await check(directory.path)
            withExtendedLifetime(directory) {}
            #expect(run.status == 0 && run.lines.last?.hasSuffix(count) == true, "\(run)")
        }
        let alone = try await tree([("x.key", key)])
        let run = await check(alone.path)
        #expect(run.status == 2, "\(run)")
        #expect(run.errors.contains("only keys that aren't pinned: give their chains, or name the file of a key"))
        #expect(await check(alone.path + "/x.key").status == 1)
    }

    @Test("The order of PKCS #7, of certificates after the leaf, and of bundles of CA certificates doesn't matter")
    func otherOrders() async throws {
        for text in [leaf + site.root.pemText + issuer, leaf + issuer + site.root.pemText] {
            let directory = try await tree([("chain.pem", text)])
            let run = await check(directory.path)
            #expect(run.lines.last == "1 checked: 1 ok" && run.status == 0, "\(run)")
        }
        let bundled = try await tree([("fullchain.pem", leaf + issuer), ("ca-bundle.crt", site.root.pemText + issuer)])
        let bundle = await check(bundled.path)
        #expect(bundle.status == 0, "\(bundle)")
        let directory = try await tree([("chain.pem", issuer + leaf)])
        let made = try await shell(
            "openssl crl2pkcs7 -nocrl -certfile chain.pem -out x.p7b && rm chain.pem", in: directory)
        #expect(made.status == 0, "\(made)")
        #expect(await check(directory.path).status == 0)
    }

    // MARK: One host, and standard input

    @Test("--host checks the chain for that host, with the rule and the name")
    func oneHost() async throws {
        let both = try site.directory.add(
            site.intermediate.leaf("api.test", "www.test").pemText + issuer, name: "both.pem")
        let policy = try site.directory.add(
            policyText([("api.test", ["\"\(try site.root.key.pin)\""]), ("www.test", ["\"\(unknownPin)\""])]))
        func check(_ host: String, _ file: String, _ more: String...) async -> Run {
            await pinctl(
                ["check", "--ca-file", site.rootFile, "--policy", policy, "--host", host, "--files", file] + more)
        }
        let good = await check("api.test", both)
        #expect(
            good.lines == [
                "ok    \(both) for api.test  matched \(try site.root.key.pin) (root)", "1 checked: 1 ok",
            ], "\(good)")
        #expect(await check("www.test", both).status == 1)
        // A name that the certificate doesn't have, and a host without a rule.
        #expect(await check("www.test", site.chainFile).status == 4)
        let unknown = await check("other.test", both)
        #expect(unknown.output.contains("not covered") && unknown.status == 1, "\(unknown)")
        // A key is judged by the rule for the host, too: another rule's pin doesn't count.
        let key = try site.directory.add(site.root.key.privateKeyPEM, name: "root.key")
        #expect(await check("api.test", key).status == 0)
        #expect(await check("www.test", key).status == 1)
        let stray = await check("other.test", key)
        #expect(stray.output.contains("not covered") && stray.status == 1, "\(stray)")
        // Of several leaves, the one for the host counts.
        let several = await check("api.test", both, try site.directory.add(site.intermediate.leaf("a.test").pemText))
        #expect(
            several.lines.last == "1 checked: 1 ok; 1 irrelevant file (certificate for other hosts: 1)", "\(several)")
        #expect(await check("nonsense host", both).status == 2)
        let server = await pinctl("check", "--pin", unknownPin, "--host", "api.test", "api.test")
        #expect(server.errors.contains("--host applies to --files") && server.status == 2, "\(server)")
    }

    @Test("check and verify read a policy from standard input")
    func policyFromInput() async throws {
        try await StandardInput.reading(policy) {
            let run = await pinctl("check", "--ca-file", site.rootFile, "--policy", "-", "--files", site.chainFile)
            #expect(run.status == 0 && run.lines.last == "1 checked: 1 ok", "\(run)")
        }
        let unknown = try site.policy("\"\(unknownPin)\"")
        try await StandardInput.reading(unknown) {
            let run = await pinctl("check", "--ca-file", site.rootFile, "--policy", "-", "--files", site.chainFile)
            #expect(run.status == 1 && run.output.contains("(policy standard input:3:1)"), "\(run)")
        }
        try await StandardInput.reading(unknown) {
            let run = await pinctl(
                "verify", site.chainFile, "--host", "api.test", "--ca-file", site.rootFile, "--policy", "-")
            #expect(run.status == 1, "\(run)")
        }
        try await StandardInput.reading(site.directory.add("[]")) {
            let run = await pinctl("check", "--policy", "-", "--files", site.chainFile)
            #expect(run.status == 2 && run.errors.contains("standard input:1:1: "), "\(run)")
        }
    }
}
