import FoundationEssentials
import PinDialects
import PinctlTestPKI
import Testing

extension DialectTests {
    @Test("A policy that the target format can't express is written only with --lossy, and every loss is reported")
    func lossy() async throws {
        let refused = await pinctl("export", "--to", "okhttp", policy)
        #expect(refused.output == "")
        #expect(refused.errors.contains("pins.jsonc:3:3: role-lost (weaker): 2 pins of api.test counted only as leaf"))
        #expect(refused.errors.contains("nothing is written: "))
        #expect(refused.status == 1)

        let written = await pinctl("export", "--to", "okhttp", "--lossy", policy)
        #expect(written.errors.contains("role-lost (weaker)"))
        #expect(written.output.contains("\"\(unknownPin)\""))
        #expect(written.status == 0)

        let allowed = await pinctl("export", "--to", "okhttp", "--allow", "role-lost", policy)
        #expect(allowed.output == written.output)
        #expect(allowed.status == 0)
        let other = await pinctl("export", "--to", "okhttp", "--allow", "expiry-lost", policy)
        #expect(other.errors.contains("give --allow role-lost, or --lossy"))
        #expect(other.status == 1)

        let impossible = await pinctl("export", "--to", "tlsa", "--lossy", "--host", "other.test", policy)
        #expect(impossible.errors.contains("no rule covers other.test"))
        #expect(impossible.status == 1)
    }

    @Test("export --check compares the meaning, not the text, of every file that the policy exports")
    func check() async throws {
        let missing = await pinctl("export", "--check", policy)
        #expect(missing.errors.contains("Pins.kt"))
        #expect(missing.status == 2)

        _ = try site.directory.add(
            """
            // Written by hand, in another order.
            val pinner = CertificatePinner.Builder().add("api.test", "\(unknownPin)")\
            .add("api.test", "\(try site.leaf.key.pin)").build()
            """, name: "Pins.kt")
        _ = await pinctl("export", "--to", "apple", "--output", site.directory.path + "/Info.plist", policy)
        let good = await pinctl("export", "--check", policy)
        #expect(good.lines.filter { $0.hasPrefix("ok   ") }.count == 2)
        #expect(good.lines[0].hasSuffix("matches the policy as far as its format allows"))
        #expect(good.lines[1].contains("role-lost (weaker)"))
        #expect(good.lines.last?.hasSuffix("Info.plist  matches the policy") == true)
        #expect(good.status == 0)

        try "val p = CertificatePinner.Builder().add(\"*.api.test\", \"\(unknownPin)\")".write(
            toFile: site.directory.path + "/Pins.kt", atomically: true, encoding: .utf8)
        let drift = await pinctl("export", "--check", policy)
        #expect(drift.lines[0].hasPrefix("FAIL  "))
        #expect(
            drift.lines[0].hasSuffix(
                "write it again with pinctl export --to okhttp --allow hosts-lost --allow role-lost --into "
                    + "\(site.directory.path)/Pins.kt \(policy)"))
        #expect(drift.lines.contains("      api.test: is missing"))
        #expect(drift.lines.contains("      *.api.test: is pinned, but has no rule in the policy"))
        #expect(drift.lines.last?.hasPrefix("ok ") == true)
        #expect(drift.status == 1)
    }

    @Test("The pins in Envoy's configuration are written, replaced, compared, imported and linted")
    func envoy() async throws {
        let key = try site.leaf.key.pin
        let source = try site.directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": [
              { "pin": "\(key)", "role": "leaf" }, { "pin": "\(unknownPin)", "role": "leaf", "backup": true } ] } ] }
            """, name: "leaf.jsonc")
        let written = await pinctl("export", "--to", "envoy", source)
        #expect(written.errors == "")
        #expect(written.output.contains("verify_certificate_spki:\n          - \"\(key.dropFirst(7))\"\n"))
        let imported = await pinctl("import", try site.directory.add(written.output, name: "clusters.yaml"))
        #expect(imported.output.contains("\"host\": \"api.test\""), "\(imported.errors)")
        #expect(imported.output.contains(key))

        let before = """
            # Ours.
            sni: api.test
            common_tls_context:
              validation_context:   # checked
                trusted_ca: {filename: roots.pem}
                verify_certificate_spki: ["\(unknownPin.dropFirst(7))"]

            """
        let file = try site.directory.add(before, name: "envoy.yaml")
        let drift = await pinctl("export", "--to", "envoy", "--into", file, "--check", source)
        #expect(drift.status == 1)
        #expect(drift.lines[0].hasPrefix("FAIL  \(file)"))
        #expect(await pinctl("export", "--to", "envoy", "--into", file, source).lines == ["wrote \(file)"])
        #expect(
            try String(contentsOfFile: file, encoding: .utf8)
                == before.replacing(
                    "[\"\(unknownPin.dropFirst(7))\"]",
                    with: "[\"\(unknownPin.dropFirst(7))\", \"\(key.dropFirst(7))\"]"))
        #expect(await pinctl("export", "--to", "envoy", "--into", file, "--check", source).status == 0)
        let explained = await pinctl("explain", "api.test", "--policy", file)
        #expect(explained.output.contains(key), "\(explained.output)\(explained.errors)")

        let broken = try site.directory.add("validation_context:\n  verify_certificate_spki: [AAAA]\n", name: "b.yaml")
        let lint = await pinctl("lint", broken)
        #expect(lint.output.contains("\(broken):2:29: error[P001]"), "\(lint.output)\(lint.errors)")
        let alias = try site.directory.add("validation_context: *a\nverify_certificate_spki: []\n", name: "a.yaml")
        let refused = await pinctl("lint", alias)
        #expect("\(refused.output)\(refused.errors)".contains("\(alias):1:21:"), "\(refused.output)\(refused.errors)")
        #expect(refused.status != 0)
        // curl pins only keys, so a pin of a certificate is left out.
        let hash = try site.directory.add(
            "sni: api.test\ncommon_tls_context:\n  validation_context:\n    trusted_ca: {filename: r}\n"
                + "    verify_certificate_hash: [\"\(String(repeating: "ab", count: 32))\"]\n", name: "h.yaml")
        let lost = await pinctl("export", "--to", "curl", hash)
        #expect(lost.errors.contains("cert-pin (stricter)"), "\(lost.errors)")
        #expect(lost.status == 1)
    }

    @Test("export --into replaces the pins of a file and no other byte")
    func into() async throws {
        let before = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict>
              <key>CFBundleName</key>   <string>Über &amp; so</string><!-- stays -->
            </dict></plist>
            """
        let file = try site.directory.add(before, name: "App.plist")
        let run = await pinctl("export", "--to", "apple", "--into", file, policy)
        #expect(run.lines == ["wrote \(file)"])
        let after = try String(contentsOfFile: file, encoding: .utf8)
        #expect(after.contains("<key>CFBundleName</key>   <string>Über &amp; so</string><!-- stays -->"))
        #expect(after.contains("NSPinnedDomains"))
        let again = await pinctl("export", "--to", "apple", "--into", file, policy)
        #expect(again.lines == ["\(file) already matches the policy"])
        #expect(await pinctl("export", "--to", "apple", "--into", file, "--check", policy).status == 0)
        let wrong = await pinctl("export", "--to", "curl", "--lossy", "--into", file, policy)
        #expect(wrong.status == 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == after)
    }

    @Test("export --into keeps the file's permissions")
    func permissions() async throws {
        let file = try site.directory.add("<plist><dict></dict></plist>", name: "Shared.plist")
        _ = try await shell("chmod 666 \(file)")
        #expect(await pinctl("export", "--to", "apple", "--into", file, policy).status == 0)
        #expect(try await shell("stat -c %a \(file)").output.hasPrefix("666"))
    }

    @Test("Replacing a file reports pinned hosts that the policy doesn't have")
    func replaced() async throws {
        let file = try site.directory.add(
            """
            <network-security-config><domain-config><domain>old.test</domain><pin-set>
            <pin digest="SHA-256">\(unknownPin.dropFirst(7))</pin></pin-set></domain-config></network-security-config>
            """, name: "nsc.xml")
        let run = await pinctl("export", "--to", "android", "--lossy", "--into", file, policy)
        #expect(
            run.errors.contains(
                "note: \(file): old.test: removed, because no rule of the policy pins it"), "\(run)")
        #expect(run.status == 0)
        let wrong = await pinctl("check", "--policy", file, "api.test")
        #expect(wrong.errors.contains("convert it with pinctl import \(file)"))
        #expect(wrong.status == 2)
    }

    @Test(
        "A host that the file pins and the policy has no rule for is removed only if that is accepted",
        arguments: [PinDialect.android, .apple, .trustkit, .okhttp])
    func lostHosts(dialect: PinDialect) async throws {
        func policy(_ hosts: String...) throws -> String {
            try site.directory.add(
                policyText(
                    hosts.map { host in
                        let pins = [unknownPin, try site.leaf.key.pin]
                        return (host, pins.map { #"{ "pin": "\#($0)", "role": "leaf" }"# })
                    }))
        }
        let all = try policy("api.example.com", "pay.example.com", "www.pay.example.com")
        let written = await pinctl("export", "--to", dialect.rawValue, "--lossy", all)
        #expect(written.status == 0, "\(written)")
        let file = try site.directory.add(written.output, name: "Pins.kt")
        let into = ["export", "--to", dialect.rawValue, "--allow", "role-lost", "--allow", "reports-lost"]
        let one = try policy("api.example.com")
        let refused = await pinctl(into + ["--into", file, one])
        #expect(refused.status == 1 && refused.output == "", "\(refused)")
        for host in ["pay.example.com", "www.pay.example.com"] {
            #expect(
                refused.errors.contains(
                    "hosts-lost (weaker): \(host) loses its pins in \(file), because no rule of the policy pins it"),
                "\(refused)")
        }
        #expect(refused.errors.contains("give --allow hosts-lost, or --lossy"))
        #expect(!refused.errors.contains("removed"))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == written.output)
        // What --check and lint propose is what then works.
        let check = await pinctl(into + ["--into", file, "--check", one])
        #expect(check.status == 1 && check.lines[0].contains(" --allow hosts-lost"), "\(check)")
        // The rule of a parent, or one that is off, is a rule.
        let rest = await pinctl(into + ["--allow", "hosts-lost", "--into", file, one])
        #expect(rest.status == 0 && rest.lines == ["wrote \(file)"], "\(rest)")
        #expect(try !String(contentsOfFile: file, encoding: .utf8).contains("pay.example.com"))
    }

    @Test("Names below a host that lose their pins are a change too, and a parent's rule keeps them")
    func lostSubdomains() async throws {
        let file = try site.directory.add(
            androidText([unknownPin, site.root.key.pin])
                .replacing("<domain>", with: #"<domain includeSubdomains="true">"#), name: "nsc.xml")
        let pins = "\"\(unknownPin)\", \"\(try site.root.key.pin)\""
        let run = await pinctl("export", "--to", "android", "--into", file, try site.policy(pins))
        #expect(run.status == 1)
        #expect(
            run.errors.contains("scope-narrowed (weaker): names below api.test lose their pins in \(file)"), "\(run)")
        let parent = try site.policy(pins, rule: #" "subdomains": true,"#, host: "example.test")
        let inner = try site.directory.add(
            androidText([unknownPin]).replacing("api.test", with: "api.example.test"), name: "inner.xml")
        #expect(await pinctl("export", "--to", "android", "--into", inner, parent).status == 0)
    }

    @Test("A call of add without pins gets those of its host")
    func callWithoutPins() async throws {
        let file = try site.directory.add(
            "val pinner = CertificatePinner.Builder()\n    .add(\"api.test\")\n    .build()\n", name: "Client.kt")
        let policy = try site.policy("\"\(unknownPin)\"")
        let run = await pinctl("export", "--to", "okhttp", "--allow", "hosts-lost", "--into", file, policy)
        #expect(run.status == 0, "\(run)")
        #expect(await pinctl("export", "--to", "okhttp", "--into", file, "--check", policy).status == 0)
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains(unknownPin))
    }

    @Test("Slashes in a string, such as those of a pin, aren't reported as a removed comment")
    func slashesInStrings() async throws {
        let old = "sha256/ab//" + String(repeating: "A", count: 39) + "="
        let text = """
            val say = "a \\" // b"
            val raw = \"""
                src/**/*.kt
                \"""
            val quote = '"'
            val pinner = CertificatePinner.Builder()
                .add("api.test", "\(unknownPin)")
                .add("api.test", "\(old)")  // the old one
                .build()

            """
        let file = try site.directory.add(text, name: "Client.kt")
        let run = await pinctl(
            "export", "--to", "okhttp", "--into", file,
            try site.policy("\"\(unknownPin)\", \"\(try site.root.key.pin)\""))
        #expect(run.status == 0)
        let removed = run.errors.split(separator: "\n").filter { $0.contains("removed the comment") }
        #expect(removed == ["pinctl: note: \(file): removed the comment \"the old one\""], "\(run)")
    }

    @Test("An expiration and the comment of a removed pin are removed, and every other comment is kept")
    func lostComments() async throws {
        let file = try site.directory.add(
            androidText([unknownPin, "sha256/" + String(repeating: "A", count: 43) + "="], expiration: "2027-01-01")
                .replacing("</pin-set>", with: "<!-- the end --></pin-set>")
                .replacing("<pin digest=\"SHA-256\">AAAA", with: "<!-- of the old HSM --><pin digest=\"SHA-256\">AAAA")
                .replacing(
                    "<pin digest=\"SHA-256\">\(unknownPin.dropFirst(7))",
                    with: "<!-- of the new HSM --><pin digest=\"SHA-256\">\(unknownPin.dropFirst(7))"),
            name: "nsc.xml")
        let run = await pinctl(
            "export", "--to", "android", "--into", file,
            try site.policy("\"\(unknownPin)\", \"\(try site.root.key.pin)\""))
        #expect(run.status == 0)
        #expect(run.errors.contains("api.test: changed the expiry from 2027-01-01 (stop-pinning) to never"), "\(run)")
        #expect(run.errors.contains("note: \(file): removed the comment \"of the old HSM\""), "\(run)")
        #expect(!run.errors.contains("the new HSM") && !run.errors.contains("the end"), "\(run)")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("<!-- of the new HSM --><pin") && text.contains("<!-- the end --></pin-set>"), "\(text)")
        #expect(!text.contains("the old HSM") && !text.contains("expiration"), "\(text)")
    }

    @Test("A host without pins doesn't become a rule, and a file that agrees with the policy isn't rewritten")
    func idleRules() async throws {
        let config = try site.directory.add(
            """
            <network-security-config>
              <domain-config cleartextTrafficPermitted="true"><domain>localhost</domain></domain-config>
              <domain-config><!-- ours --><domain>api.test</domain><pin-set>\
            <pin digest="SHA-256">\(unknownPin.dropFirst(7))</pin>
              </pin-set></domain-config>
            </network-security-config>
            """, name: "exception.xml")
        let before = try String(contentsOfFile: config, encoding: .utf8)
        let imported = await pinctl("import", config)
        #expect(imported.status == 0)
        #expect(!imported.output.contains("localhost"))
        let file = try site.directory.add(imported.output)
        let checked = await pinctl("export", "--to", "android", "--into", config, "--check", file)
        #expect(checked.status == 0)
        let written = await pinctl("export", "--to", "android", "--into", config, file)
        #expect(written.lines == ["\(config) already matches the policy"])
        #expect(try String(contentsOfFile: config, encoding: .utf8) == before)
        let lint = await pinctl("lint", config)
        #expect(!lint.output.contains("localhost"))
    }

    @Test("Trust anchors that only the config has are kept, and aren't reported as a difference")
    func roots() async throws {
        let config = try site.directory.add(
            """
            <network-security-config><domain-config><domain>api.test</domain>
            <trust-anchors><certificates src="@raw/ours"/></trust-anchors>
            <pin-set><pin digest="SHA-256">\(unknownPin.dropFirst(7))</pin></pin-set></domain-config>\
            </network-security-config>
            """, name: "roots.xml")
        let into = ["export", "--to", "android", "--into", config]
        #expect(await pinctl(into + ["--lossy", policy]).status == 0)
        #expect(try String(contentsOfFile: config, encoding: .utf8).contains("<certificates src=\"@raw/ours\"/>"))
        #expect(await pinctl(into + ["--check", policy]).status == 0)
    }

    @Test(
        "A root file with the name of a set of Android's roots isn't exported as that set",
        arguments: ["user", "system"])
    func rootFile(name: String) async throws {
        _ = try site.directory.add(site.root.pemText, name: name)
        let policy = try site.policy(
            "\"\(try site.leaf.key.pin)\", { \"pin\": \"\(unknownPin)\", \"backup\": true }",
            rule: #""anchors": { "files": ["\#(name)"] },"#)
        let run = await pinctl("export", "--to", "android", "--lossy", policy)
        #expect(run.errors.contains("not with ./\(name)"))
        #expect(run.output.contains("api.test") && !run.output.contains("src=\"\(name)\""))
        #expect(run.status == 0)
    }
}
