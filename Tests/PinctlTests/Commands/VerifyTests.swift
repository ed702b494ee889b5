import CertificatePinning
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl verify")
struct VerifyTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func verify(_ words: String...) async -> Run {
        await pinctl(["verify", site.chainFile, "--ca-file", site.rootFile] + words)
    }

    @Test("verify prints ok, then the path from leaf to root with the source of each certificate")
    func trusted() async throws {
        let run = await verify("--host", "api.test")
        #expect(
            run.lines == [
                "ok    api.test  trusted",
                "  leaf          \(try site.leaf.key.pin)  EC P-256  CN=api.test  2036-01-01 (3329 d)  file",
                "  intermediate  \(try site.intermediate.key.pin)  EC P-256  CN=Test Intermediate  "
                    + "2036-01-01 (3329 d)  file",
                "  root          \(try site.root.key.pin)  EC P-256  CN=Test Root  2036-01-01 (3329 d)  store",
            ])
        #expect(run.errors == "")
        #expect(run.status == 0)
    }

    @Test("A file that doesn't begin with its leaf is noted, before the remedies for its first certificate")
    func wrongOrder() async throws {
        let reversed = try site.directory.add(site.intermediate.pemText + site.leaf.pemText, name: "reversed.pem")
        let words = ["--host", "api.test", "--ca-file", site.rootFile]
        let run = await pinctl(["verify", reversed] + words)
        #expect(run.status == 4, "\(run)")
        #expect(run.errors.contains("begins with CN=Test Intermediate, and its leaf is certificate 2"), "\(run)")
        let authority = try site.directory.add(site.intermediate.pemText, name: "authority.pem")
        for file in [site.chainFile, authority] {
            #expect(await !pinctl(["verify", file] + words).errors.contains("its leaf is"), "\(file)")
        }
    }

    @Test("A warning about the list of public suffixes is printed once and changes no verdict, and --quiet omits it")
    func suffixWarning() async throws {
        let stores = ["a", "b"].flatMap { ["--store", "\($0)=\(site.rootFile)"] }
        for format in [[], ["--json"], ["--quiet"]] {
            let words = ["verify", site.chainFile, "--host", "api.test"] + stores + format
            let silent = await pinctl(words)
            let run = await pinctl(words, suffixWarning: { $0 == testTime && !$1 ? "old: install a newer one" : nil })
            #expect(silent.errors == "")
            #expect(run.errors == (format == ["--quiet"] ? "" : "pinctl: warning: old: install a newer one\n"))
            #expect(run.output == silent.output)
            #expect(run.status == 0)
        }
    }

    @Test("verify names the pins that match")
    func matched() async throws {
        let run = await verify("--host", "api.test", "--pin", try site.intermediate.key.pin, "--pin", unknownPin)
        #expect(run.lines[0] == "ok    api.test  matched \(try site.intermediate.key.pin) (intermediate)")
        #expect(run.lines.count == 4)
        #expect(run.status == 0)
    }

    @Test("verify prints served and pinned keys side by side if no pin matches")
    func mismatch() async throws {
        let run = await verify("--host", "api.test", "--pin", unknownPin)
        #expect(
            run.lines == [
                "FAIL  api.test  pin mismatch: 0 of 1 pins match (--pin)",
                "  verified path                                                      pinned",
                "  leaf          \(try site.leaf.key.pin)  \(unknownPin)  any           not served",
                "  intermediate  \(try site.intermediate.key.pin)",
                "  root          \(try site.root.key.pin)",
                "  leaf          CN=api.test, valid from 2026-01-01 until 2036-01-01 (3329 d), file",
                "  intermediate  CN=Test Intermediate, valid from 2026-01-01 until 2036-01-01 (3329 d), file",
                "  root          CN=Test Root, valid from 2026-01-01 until 2036-01-01 (3329 d), store",
                "  cause: no certificate of the chain, which ends at CN=Test Root, has a pinned key",
                "  do: \(ifYours), serve a chain with a pinned key again, because released "
                    + "apps keep their pins\(ifNotYours)",
            ])
        #expect(run.status == 1)
    }

    @Test("verify prints why a chain isn't trusted, and the presented certificates")
    func untrusted() async throws {
        let run = await verify("--host", "www.test", "--pin", try site.leaf.key.pin)
        #expect(
            run.lines[0].hasPrefix(
                "FAIL  www.test  not trusted [name-mismatch]: leaf (CN=api.test): hostname mismatch (certificate is "
                    + "valid for api.test, not www.test)"))
        #expect(run.lines[1] == "  presented, not verified:")
        #expect(run.lines.count == 4)
        #expect(run.status == 4)
    }

    @Test("--at sets the time of verification, and an impossible date is rejected")
    func time() async throws {
        #expect(await verify("--host", "api.test", "--at", "2035-12-31").status == 0)
        #expect(await verify("--host", "api.test", "--at", "2036-01-01T00:00:00Z").status == 0)
        let late = await verify("--host", "api.test", "--at", "2036-01-01T00:00:01Z")
        #expect(
            late.lines[0].contains(
                "not trusted [expired]: leaf (CN=api.test): certificate has expired (valid until 2036-01-01T00:00:00Z"))
        #expect(late.status == 4)
        #expect(await verify("--host", "api.test", "--at", "2025-12-31T23:59:59Z").status == 4)
        #expect(await verify("--host", "api.test", "--at", "2026-02-30").status == 2)
    }

    @Test("verify follows a policy, with its ports and roles")
    func policy() async throws {
        let leafPin = "\"\(try site.leaf.key.pin)\""
        let plain = try site.policy(leafPin)
        #expect(await verify("--host", "api.test", "--policy", plain).status == 0)
        let other = await verify("--host", "api.test", "--policy", try site.policy(leafPin, host: "www.test"))
        #expect(other.lines[0].contains("not covered: "))
        #expect(other.status == 1)
        let ports = try site.policy(leafPin, rule: "\"ports\": [8443],")
        #expect(await verify("--host", "api.test", "--policy", ports).status == 1)
        #expect(await verify("--host", "api.test:8443", "--policy", ports).status == 0)
        let role = await verify(
            "--host", "api.test", "--policy",
            try site.policy("{ \"pin\": \(leafPin), \"role\": \"ca\" }, \"\(unknownPin)\""))
        #expect(role.lines[0].contains("pin mismatch: 0 of 2 pins match (policy "))
        #expect(role.lines[0].contains(":3:1)"))
        #expect(role.lines[2].hasSuffix("ca            served as leaf"))
        #expect(role.lines[3].hasSuffix("any           not served"))
        #expect(role.status == 1)
    }

    @Test("--profile strict applies the strict profile, and the message cites the standard")
    func strict() async throws {
        let leaf = try site.intermediate.leaf("api.test") { $0.serial = [0] }
        let file = try site.directory.add(leaf.pemText + site.intermediate.pemText, name: "zero.pem")
        let words = ["verify", file, "--host", "api.test", "--ca-file", site.rootFile]
        #expect(await pinctl(words).status == 0)
        #expect(await pinctl(words + ["--profile", "default"]).status == 0)
        let strict = await pinctl(words + ["--profile=strict"])
        #expect(
            strict.lines[0].contains(
                "not trusted [serial-number]: leaf (CN=api.test): its serial number is not positive"))
        #expect(strict.lines[0].hasSuffix("(RFC 5280, section 4.1.2.2)"))
        #expect(strict.status == 4)
        #expect(
            await verify("--host", "api.test", "--profile", "lax").errors.contains("--profile does not support \"lax\"")
        )
    }

    @Test("verify uses every named store, and fails if one of them doesn't trust the chain")
    func stores() async throws {
        let unrelated = try site.directory.add(try TestCertificate.root("Unrelated").pemText, name: "unrelated.pem")
        let words = ["verify", site.chainFile, "--host", "api.test", "--store", "old=\(site.rootFile)"]
        let both = await pinctl(words + ["--store", "new=\(unrelated)", "--json"])
        #expect(both.output.contains(#""store":"old","verdict":"ok""#))
        #expect(
            both.output.contains(
                #""store":"new","verdict":"untrusted","trusted":false,"trust_rule":"unknown-issuer","depth":1,"reason""#
            ))
        #expect(both.status == 4)
        // The files with the same store name form one store.
        let together = await pinctl(words + ["--store", "old=\(unrelated)"])
        #expect(together.lines[0] == "ok    api.test (old)  trusted")
        #expect(together.status == 0)
        #expect(await pinctl(words + ["--store", unrelated]).errors.contains("write NAME=FILE"))
        #expect(await pinctl(words + ["--ca-file", unrelated]).errors.contains("cannot be used together"))
    }

    @Test("CB24: verify checks the chain against CRLs and OCSP responses, and requires them on request")
    func revocation() async throws {
        // The CRLs are made for the middle of the certificates' validity.
        let time = ["--host", "api.test", "--at", "2027-01-15"]
        func run(_ words: String...) async -> Run {
            await pinctl(["verify", site.chainFile, "--ca-file", site.rootFile] + time + words)
        }
        let rootList = try site.directory.add(try site.root.revocationList(), name: "root.crl")
        let good = try site.directory.add(try site.intermediate.revocationList(), name: "good.crl")
        let revoking = try site.directory.add(
            try site.intermediate.revocationList(.init(site.leaf, reason: 1)), name: "revoking.crl")
        #expect(await run("--crl", good).status == 0)
        #expect(await run("--crl", good, "--crl", rootList, "--revocation", "require").status == 0)
        let revoked = await run("--crl", revoking)
        #expect(revoked.lines[0].contains("not trusted [revoked]: leaf (CN=api.test): "))
        #expect(revoked.lines[0].contains("revoked"))
        #expect(revoked.status == 4)
        #expect(await run("--revocation", "require").status == 4)
        #expect(await run("--revocation", "maybe").errors.contains("--revocation does not support \"maybe\""))

        let response = TestOCSPResponse(site.leaf, issuedBy: site.intermediate)
        let staple = try site.directory.add(try response.signed(by: site.intermediate), name: "good.ocsp")
        #expect(await run("--ocsp", staple).status == 0)
        let unknown = try site.directory.add(try response.signed(by: site.root), name: "unknown.ocsp")
        #expect(await run("--ocsp", unknown).status == 4)
        var endless = response
        endless.nextUpdate = nil
        let replayed = try site.directory.add(try endless.signed(by: site.intermediate), name: "endless.ocsp")
        #expect(
            await run("--ocsp", replayed).lines[0].hasSuffix(
                "the stapled OCSP response has no expiry date: have its issuer set nextUpdate"))
        #expect(await run("--crl", site.chainFile).status == 2)
        let broken = try site.directory.add(
            "-----BEGIN X509 CRL-----\nMAMCAQU=\n-----END X509 CRL-----\n", name: "broken.crl")
        #expect(
            await run("--crl", broken).errors.contains(
                "broken.crl:1: CRL or certificate is malformed: "))
        #expect(await run("--ocsp", site.directory.path + "/none").errors.contains("--ocsp: "))
    }

    @Test("--verbose prints every path that was tried and why it was rejected")
    func verbose() async throws {
        let late = try site.root.crossSign(site.intermediate) {
            ($0.notBefore, $0.notAfter) = (1_600_000_000, 1_700_000_000)
        }
        let file = try site.directory.add(
            site.leaf.pemText + late.pemText + site.intermediate.pemText, name: "crossed.pem")
        let run = await pinctl("verify", file, "--host", "api.test", "--ca-file", site.rootFile, "-v")
        #expect(run.status == 0)
        #expect(run.lines.contains("  tried  api.test < Test Intermediate < Test Root  valid"))
        #expect(
            run.lines.contains {
                $0.hasPrefix(
                    "  tried  api.test < Test Intermediate  expired: certificate 1 (CN=Test Intermediate): certificate "
                        + "has expired")
            })
        let json = await pinctl(
            "verify", file, "--host", "api.test", "--ca-file", site.rootFile, "--verbose", "--json")
        #expect(json.output.contains(##""tried":[{"valid":true,"path":["api.test","Test Intermediate","Test Root"]}"##))
        #expect(json.output.contains(##""trust_rule":"expired","depth":1,"##))
    }

    @Test("verify reads the chain from standard input, in any order after the leaf and with other PEM blocks in it")
    func inputs() async throws {
        let noise = TestPEM.block("DH PARAMETERS", [0x30, 0]) + (try site.leaf.key.privateKeyPEM)
        let shuffled = try site.directory.add(
            site.leaf.pemText + noise + site.root.pemText + site.intermediate.pemText, name: "shuffled.pem")
        let run = try await shell(
            "pinctl verify - --host api.test --ca-file root.pem --at 2026-11-20 < \(shuffled)", in: site.directory)
        #expect(run.status == 0)
        #expect(run.lines.count == 4)
    }

    @Test("A chain file with a broken block is rejected")
    func broken() async throws {
        let broken = try site.directory.add(
            site.leaf.pemText + site.intermediate.pemText.replacing("\nMII", with: "\n!II"), name: "broken.pem")
        let run = await pinctl("verify", broken, "--host", "api.test", "--ca-file", site.rootFile)
        #expect(run.output == "")
        #expect(run.errors.contains("broken.pem:"))
        #expect(run.status == 2)
        let key = try site.directory.add(try site.leaf.key.publicKeyPEM)
        #expect(await pinctl("verify", key, "--host", "api.test").errors.contains("contains no certificate"))
    }

    struct Document: Decodable {
        struct Result: Decodable {
            struct Element: Decodable, Equatable {
                let role: String
                let pin: String
                let subject: String
                let source: String
                let notAfter: String
            }
            struct Pin: Decodable {
                let pin: String
                let matched: Bool
            }
            let verdict: String
            let trusted: Bool?
            let chain: [Element]?
            let pins: [Pin]?
            let reason: String?
        }
        struct Summary: Decodable { let exitCode: Int32 }
        let schema: String
        let results: [Result]
        let summary: Summary
    }

    @Test("CL5: The verdict in the JSON and the exit code agree")
    func json() async throws {
        for (words, verdict, status) in [
            (["--host", "api.test"], "ok", Int32(0)), (["--host", "api.test", "--pin", unknownPin], "pin_mismatch", 1),
            (["--host", "www.test"], "name_mismatch", 4),
        ] {
            let run = await pinctl(["verify", site.chainFile, "--json", "--ca-file", site.rootFile] + words)
            let document = try run.decoded(as: Document.self)
            #expect(document.schema == "pinctl.verify/1")
            #expect(document.results.map(\.verdict) == [verdict])
            #expect(document.results[0].trusted == (status != 4))
            #expect(document.summary.exitCode == status)
            #expect(run.status == status)
            if verdict == "pin_mismatch" {
                #expect(document.results[0].pins?.map(\.matched) == [false])
                #expect(
                    document.results[0].chain?.last
                        == Document.Result.Element(
                            role: "root", pin: try site.root.key.pin, subject: "CN=Test Root", source: "store",
                            notAfter: "2036-01-01T00:00:00Z"))
            }
            if verdict == "untrusted" { #expect(document.results[0].reason?.contains("www.test") == true) }
        }
    }

    @Test("An empty --host is rejected with what to give")
    func emptyHost() async {
        let run = await pinctl("verify", site.chainFile, "--ca-file", site.rootFile, "--host", "")
        #expect(run.errors == "pinctl: --host: empty hostname: use a DNS name or an IP address\n")
        #expect(run.status == 2)
    }
}
