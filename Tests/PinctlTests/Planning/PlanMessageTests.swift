import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// What `plan` says about input that can't be used, and how it shortens its matrix.
@Suite("pinctl plan, messages")
struct PlanMessageTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func plan(_ words: String...) async -> Run { await pinctl(["plan", "--ca-file", site.rootFile] + words) }

    @Test("A chain that begins with a CA certificate is refused, in whichever order the rest is")
    func order() async throws {
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        let chains = [
            [site.root], [site.intermediate, site.leaf], [site.intermediate, site.root],
            [site.root, site.intermediate, site.leaf],
        ]
        for chain in chains {
            let file = try site.directory.add(chain.map(\.pemText).joined())
            for host in [[], ["--host", "api.test"]] {
                let run = await pinctl(["plan", "--new", file, "--against", policy] + host)
                #expect(run.status == 2)
                #expect(
                    run.errors.contains(
                        "\(file): its first certificate is a CA certificate: give the chain that servers will send, "
                            + "leaf first"), "\(run)")
            }
        }
    }

    @Test("A pinned certificate is called one, and a pinned key a key")
    func objects() async throws {
        func digest(_ certificate: TestCertificate) -> String {
            sha256Digest(certificate.derBytes.span).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
                .joined()
        }
        let old = try site.intermediate.leaf("api.test")
        let new = try site.directory.add(site.leaf.pemText + site.intermediate.pemText)
        let certificates = "verify_certificate_hash: [\"\(digest(old))\"]"
        let keys = "verify_certificate_spki: [\"\(try old.key.pin.dropFirst("sha256/".count))\"]"
        for (index, (lines, noun)) in [
            ([certificates], "certificate"), ([keys], "key"), ([certificates, keys], "key or certificate"),
        ].enumerated() {
            let file = try site.directory.add(
                "sni: api.test\ncommon_tls_context:\n  validation_context:\n    trusted_ca: {filename: r}\n"
                    + lines.map { "    \($0)\n" }.joined(), name: "envoy\(index).yaml")
            let run = await plan("--new", new, "--against", file)
            #expect(run.status == 1, "\(run)")
            #expect(run.output.contains("when the \(noun) of each pin can be removed:"), "\(run)")
            for object in ["certificate", "key"] {
                let isPinned = noun.contains(object)
                #expect(run.output.contains("keep: a chain with this \(object) lets") == isPinned, "\(run)")
            }
        }
    }

    @Test("A PKCS #7 file has no order, so its leaf is found behind a CA certificate, as in check --files")
    func unordered() async throws {
        let policy = try site.policy("\"\(try site.leaf.key.pin)\", \"\(unknownPin)\"")
        let chain = try site.directory.add(site.intermediate.pemText + site.leaf.pemText)
        for form in ["PEM", "DER"] {
            let file = "\(site.directory.path)/\(form).p7b"
            _ = try TestCommand.run([
                "openssl", "crl2pkcs7", "-nocrl", "-certfile", chain, "-outform", form, "-out", file,
            ])
            let plan = await plan("--new", file, "--against", policy)
            #expect(plan.status == 0 && plan.output.contains("survives"), "\(plan)")
            let check = await pinctl("check", "--ca-file", site.rootFile, "--policy", policy, "--files", file)
            #expect(check.status == 0, "\(check)")
        }
        let authorities = try site.directory.add(site.intermediate.pemText)
        let bundle = "\(site.directory.path)/ca.p7b"
        _ = try TestCommand.run(["openssl", "crl2pkcs7", "-nocrl", "-certfile", authorities, "-out", bundle])
        let none = await plan("--new", bundle, "--against", policy)
        #expect(none.status == 2 && none.errors.contains("has only CA certificates"), "\(none)")
        // Servers may send either leaf.
        let other = try site.intermediate.leaf("api.test")
        for pair in [[site.leaf, other], [other, site.leaf]] {
            let file = try site.directory.add((pair + [site.intermediate]).map(\.pemText).joined())
            _ = try TestCommand.run(["openssl", "crl2pkcs7", "-nocrl", "-certfile", file, "-out", bundle])
            #expect(await plan("--new", bundle, "--against", policy).status == 1)
        }
    }

    @Test("The matrix names a pin or says that it is one, and never has a part of it")
    func shortPins() async throws {
        let key = try TestKey()
        let file = try site.directory.add(key.publicKeyPEM)
        let policy = try site.policy("\"\(try key.pin)\", \"\(unknownPin)\"")
        let run = await plan("--new", file, "--host", "api.test", "--against", policy)
        #expect(run.status == 0)
        #expect(run.lines.contains("\(policy)  only one pin"), "\(run)")
        #expect(run.output.contains("survives only by \(try key.pin) (leaf)"))
        #expect(!run.output.contains("…"))
    }

    @Test("--fail-within isn't about the expiry of a rule that only reports, unless every server is refused then")
    func reportingRule() async throws {
        for (action, status) in [("stop-pinning", Int32(0)), ("report", 0), ("fail", 1)] {
            let policy = try site.policy(
                "\"\(unknownPin)\"",
                rule: #" "mode": "report", "expires": "2026-12-01T00:00:00Z", "onExpiry": "\#(action)","#)
            let run = await plan("--new", site.chainFile, "--against", policy, "--fail-within", "100d")
            #expect(run.status == status && run.output.contains("until") == (status == 1), "\(action): \(run)")
        }
        let enforced = try site.policy(
            "\"\(try site.root.key.pin)\"", rule: #" "expires": "2026-12-01T00:00:00Z", "onExpiry": "stop-pinning","#)
        #expect(await plan("--new", site.chainFile, "--against", enforced, "--fail-within", "100d").status == 1)
    }

    @Test("A path in git with a leading slash, and a missing policy, are errors that say what to write")
    func sources() async throws {
        let slash = await plan("--new", site.chainFile, "--against", "git:ios-*:/pins/pins.jsonc")
        #expect(slash.status == 2)
        #expect(
            slash.errors.contains(
                "git:ios-*:/pins/pins.jsonc: a path in git begins at the top of the repository: write pins/pins.jsonc, "
                    + "without a leading slash"), "\(slash)")
        let none = await plan("--new", site.chainFile)
        #expect(none.status == 2)
        #expect(none.errors.contains("give --policy FILE, or releases with --against SOURCE"), "\(none)")
        #expect(!none.errors.contains("--pin"))
    }
}
