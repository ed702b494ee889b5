import FoundationEssentials
import TestPKI
import Testing

@Suite("pinctl import, export and explain")
struct DialectTests {
    let site: Site
    /// The rule is on line 3.
    let policy: String

    init() throws {
        site = try Site()
        policy = try site.folder.add(
            """
            { "version": 1, "exports": [{ "to": "okhttp", "file": "Pins.kt" }, { "to": "apple", "file": "Info.plist" }],
              "domains": [
              { "host": "api.test", "pins": [
                { "pin": "\(try site.leaf.key.pin)", "role": "leaf" }, { "pin": "\(strangePin)", "role": "leaf", "backup": true }] },
            ] }
            """, name: "pins.jsonc")
    }

    @Test("A policy that the target format can't express is written only with --lossy, and every loss is reported")
    func lossy() async throws {
        let refused = await pinctl("export", "--to", "okhttp", policy)
        #expect(refused.output == "")
        #expect(refused.errors.contains("pins.jsonc:3:3: role-lost (weaker): 2 pins of api.test counted only as leaf"))
        #expect(refused.errors.contains("nothing is written: "))
        #expect(refused.status == 1)

        let written = await pinctl("export", "--to", "okhttp", "--lossy", policy)
        #expect(written.errors.contains("role-lost (weaker)"))
        #expect(written.output.contains("\"\(strangePin)\""))
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

    @Test("An export to apple without losses imports as the same policy")
    func roundTrip() async throws {
        let plist = site.folder.path + "/Info.plist"
        let run = await pinctl("export", "--to", "apple", "--output", plist, policy)
        #expect(run.lines == ["wrote \(plist)"])
        #expect(run.errors == "")
        let read = await pinctl("import", plist)
        #expect(read.errors == "")
        #expect(read.output.contains("{ \"pin\": \"\(strangePin)\", \"role\": \"leaf\" }"))
        let again = await pinctl("export", "--to", "apple", try site.folder.add(read.output))
        #expect(again.output == (try String(contentsOfFile: plist, encoding: .utf8)))
    }

    @Test("export --check compares the meaning, not the text, of every file that the policy exports")
    func check() async throws {
        let missing = await pinctl("export", "--check", policy)
        #expect(missing.errors.contains("Pins.kt"))
        #expect(missing.status == 2)

        _ = try site.folder.add(
            """
            // Written by hand, in another order.
            val pinner = CertificatePinner.Builder().add("api.test", "\(strangePin)").add("api.test", "\(try site.leaf.key.pin)").build()
            """, name: "Pins.kt")
        _ = await pinctl("export", "--to", "apple", "--output", site.folder.path + "/Info.plist", policy)
        let good = await pinctl("export", "--check", policy)
        #expect(good.lines.filter { $0.hasPrefix("ok   ") }.count == 2)
        #expect(good.lines[0].hasSuffix("says what it can of the policy"))
        #expect(good.lines[1].contains("role-lost (weaker)"))
        #expect(good.lines.last?.hasSuffix("Info.plist  says what the policy says") == true)
        #expect(good.status == 0)

        try "val p = CertificatePinner.Builder().add(\"*.api.test\", \"\(strangePin)\")".write(
            toFile: site.folder.path + "/Pins.kt", atomically: true, encoding: .utf8)
        let drift = await pinctl("export", "--check", policy)
        #expect(drift.lines[0].hasPrefix("FAIL  "))
        #expect(drift.lines[0].hasSuffix("put in what pinctl export --to okhttp --allow role-lost \(policy) prints"))
        #expect(drift.lines.contains("      api.test: is missing"))
        #expect(drift.lines.contains("      *.api.test: is pinned, but has no rule in the policy"))
        #expect(drift.lines.last?.hasPrefix("ok ") == true)
        #expect(drift.status == 1)
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
        let file = try site.folder.add(before, name: "App.plist")
        let run = await pinctl("export", "--to", "apple", "--into", file, policy)
        #expect(run.lines == ["wrote \(file)"])
        let after = try String(contentsOfFile: file, encoding: .utf8)
        #expect(after.contains("<key>CFBundleName</key>   <string>Über &amp; so</string><!-- stays -->"))
        #expect(after.contains("NSPinnedDomains"))
        let again = await pinctl("export", "--to", "apple", "--into", file, policy)
        #expect(again.lines == ["\(file) says that already"])
        #expect(await pinctl("export", "--to", "apple", "--into", file, "--check", policy).status == 0)
        let wrong = await pinctl("export", "--to", "curl", "--lossy", "--into", file, policy)
        #expect(wrong.status == 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == after)
    }

    @Test("export --into keeps the file's permissions")
    func permissions() async throws {
        let file = try site.folder.add("<plist><dict></dict></plist>", name: "Shared.plist")
        _ = try await shell("chmod 666 \(file)")
        #expect(await pinctl("export", "--to", "apple", "--into", file, policy).status == 0)
        #expect(try await shell("stat -c %a \(file)").output.hasPrefix("666"))
    }

    @Test("lint and explain report trust anchors that bypass pins")
    func bypass() async throws {
        let file = try site.folder.add(
            """
            <network-security-config>
              <base-config><trust-anchors><certificates src="system" overridePins="true"/></trust-anchors></base-config>
              <domain-config><domain>api.test</domain><pin-set>
                <pin digest="SHA-256">\(try site.leaf.key.pin.dropFirst(7))</pin>
                <pin digest="SHA-256">\(try site.intermediate.key.pin.dropFirst(7))</pin>
              </pin-set></domain-config>
            </network-security-config>
            """, name: "bypass.xml")
        let linted = await pinctl("lint", file)
        #expect(linted.lines[0].contains(":3:3: error[P024] pins do not count for chains that end at \"system\""))
        #expect(linted.status == 1 && linted.errors == "")
        let explained = await pinctl("explain", "api.test", "--policy", file)
        #expect(explained.lines[1].hasSuffix("enforce, pins are ignored for chains that end at system"))
    }

    @Test("explain lists a host's rules for several ports separately, and mentions keys that are denied everywhere")
    func ports() async throws {
        let file = try site.folder.add(
            """
            { "version": 1, "deny": ["\(strangePin)"], "domains": [
              { "host": "api.test", "ports": [443], "pins": ["\(try site.leaf.key.pin)"] },
              { "host": "api.test", "ports": [8443], "pins": ["\(try site.intermediate.key.pin)"] },
            ] }
            """, name: "ports.jsonc")
        let pinned = await pinctl("explain", "api.test", "--policy", file)
        #expect(pinned.lines[0] == "api.test: 2 rules apply, each at its ports, as the policy file matches hosts")
        let other = await pinctl("explain", "other.test", "--policy", file)
        #expect(other.lines[0].hasSuffix("verifies the chain and refuses only denied keys"))
    }

    @Test("explain matches hosts as the file's own system does")
    func host() async throws {
        let file = try site.folder.add(
            "val p = CertificatePinner.Builder().add(\"*.api.test\", \"\(strangePin)\").build()", name: "Deep.kt")
        let apex = await pinctl("explain", "api.test", "--policy", file)
        #expect(apex.lines == ["api.test: no rule covers it: OkHttp only verifies the chain"])
        let below = await pinctl("explain", "www.api.test", "--policy", file)
        #expect(below.lines[0] == "www.api.test: one rule applies, as OkHttp matches hosts")
        #expect(below.lines[2].contains(strangePin))
        #expect(apex.status == 1)
        let target = await pinctl("explain", "https://www.api.test:8443/path", "--policy", file)
        #expect(target.lines[0] == "www.api.test: one rule applies, as OkHttp matches hosts")
        #expect(target.status == 0)
        let pasted = await pinctl("explain", file)
        #expect(pasted.errors.contains("is a file: give it as pinctl explain - < "))
        #expect(pasted.status == 2)
        let other = await pinctl("explain", "api.test", "--policy", file, "--as", "android")
        #expect(other.lines[0].hasPrefix("api.test: one rule applies, as Android"))
        #expect(other.errors.contains("scope-widened"))
    }

    @Test("explain reports whether a digest is a pin, the digest of something else, or unknown")
    func digest() async throws {
        let pin = try site.leaf.key.pin
        let good = await pinctl("explain", pin, "--in", site.chain)
        #expect(good.lines == ["\(pin):", "  the pin of \(site.chain)[0]  CN=api.test"])
        #expect(good.status == 0)

        let file = site.folder.path + "/chain.pem"
        let command = "openssl x509 -in \(file) -outform der | openssl dgst -sha256 -binary | openssl base64"
        let certificate = try await shell(command).output.filter { !$0.isWhitespace }
        let mistaken = await pinctl("explain", certificate, "--in", site.chain)
        #expect(mistaken.lines[1].hasPrefix("  not the pin, but the SHA-256 of "))
        #expect(mistaken.lines[1].hasSuffix("write \(pin)"))
        #expect(mistaken.status == 1)

        let empty = await pinctl("explain", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
        #expect(empty.lines[1].hasPrefix("  no pin: "))
        #expect(empty.status == 1)
        let named = await pinctl("explain", strangePin, "--policy", policy)
        #expect(named.lines[1].hasPrefix("  pinned: a pin of the rule for api.test"))
        let folder = try TestFolder()
        _ = try folder.add(site.leaf.key.encryptedPrivateKeyPEM(passphrase: "open sesame"), name: "leaf.p8")
        _ = try folder.add("no key\n", name: "README")
        let password = try site.folder.add("open sesame\n")
        let opened = await pinctl("explain", pin, "--in", folder.path, "--password-file", password)
        #expect(opened.lines.contains("  the pin of \(folder.path)/leaf.p8[0]") && opened.status == 0, "\(opened)")
        let closed = await pinctl("explain", pin, "--in", folder.path)
        #expect(closed.errors.contains("leaf.p8[0]: is an encrypted private key") && closed.status == 2)
        let unknown = await pinctl("explain", strangePin, "--in", site.chain)
        #expect(unknown.lines[1].contains("no digest of 2 keys and certificates"))
        #expect(unknown.status == 1)
    }

    @Test("explain searches a server's keys without sending a request")
    func server() async throws {
        try await site.serve { server in
            let pin = try site.intermediate.key.pin
            let run = await pinctl("explain", pin, "--timeout=60", "--connect-timeout=60", "--in", server.target())
            #expect(run.lines[1].hasPrefix("  the pin of api.test:\(server.port) via "))
            #expect(run.lines[1].hasSuffix("[1]  CN=Test Intermediate"))
            #expect(await server.ended(1)[0].applicationBytes.isEmpty)
        }
    }

    @Test("explain reads OkHttp's exception from standard input")
    func exception() async throws {
        let text = """
            E/App: javax.net.ssl.SSLPeerUnverifiedException: Certificate pinning failure!
              Peer certificate chain:
                \(try site.leaf.key.pin): CN=api.test
              Pinned certificates for api.test:
                \(strangePin)
            """
        let run = try await shell(
            "pinctl explain - --in chain.pem < \(try site.folder.add(text))", in: site.folder)
        #expect(run.lines.first == "OkHttp refused api.test")
        #expect(run.output.contains("none of the pinned keys was served"))
        #expect(run.status == 1)
        let nothing = try await shell("echo no | pinctl explain -")
        #expect(nothing.status == 2)
        #expect(nothing.errors.contains("holds no exception of OkHttp"))
    }

    @Test("Replacing a file reports pinned hosts that the policy doesn't have")
    func replaced() async throws {
        let file = try site.folder.add(
            """
            <network-security-config><domain-config><domain>old.test</domain><pin-set>
            <pin digest="SHA-256">\(strangePin.dropFirst(7))</pin></pin-set></domain-config></network-security-config>
            """, name: "nsc.xml")
        let run = await pinctl("export", "--to", "android", "--lossy", "--into", file, policy)
        #expect(run.errors.contains("note: until now old.test: is pinned, but has no rule in the policy"))
        #expect(run.status == 0)
        let wrong = await pinctl("check", "--policy", file, "api.test")
        #expect(wrong.errors.contains("make one of it with pinctl import \(file)"))
        #expect(wrong.status == 2)
    }

    @Test("A host without pins doesn't become a rule, and a file that agrees with the policy isn't rewritten")
    func idleRules() async throws {
        let config = try site.folder.add(
            """
            <network-security-config>
              <domain-config cleartextTrafficPermitted="true"><domain>localhost</domain></domain-config>
              <domain-config><!-- ours --><domain>api.test</domain><pin-set><pin digest="SHA-256">\(strangePin.dropFirst(7))</pin>
              </pin-set></domain-config>
            </network-security-config>
            """, name: "exception.xml")
        let before = try String(contentsOfFile: config, encoding: .utf8)
        let imported = await pinctl("import", config)
        #expect(imported.status == 0)
        #expect(!imported.output.contains("localhost"))
        let file = try site.folder.add(imported.output)
        let checked = await pinctl("export", "--to", "android", "--into", config, "--check", file)
        #expect(checked.status == 0)
        let written = await pinctl("export", "--to", "android", "--into", config, file)
        #expect(written.lines == ["\(config) says that already"])
        #expect(try String(contentsOfFile: config, encoding: .utf8) == before)
        let lint = await pinctl("lint", config)
        #expect(!lint.output.contains("localhost"))
    }

    @Test("explain reports a denied pin as denied, and lint doesn't read exported Swift")
    func denied() async throws {
        let pin = try site.leaf.key.pin
        let file = try site.folder.add(
            #"{ "version": 1, "deny": ["\#(pin)"], "domains": [{ "host": "api.test", "pins": ["\#(strangePin)"] }] }"#)
        let run = await pinctl("explain", pin, "--policy", file)
        #expect(run.lines[1] == "  denied by the policy, wherever it stands")
        #expect(run.status == 1)
        let swift = await pinctl("export", "--to", "swift", file)
        #expect(swift.status == 0)
        let lint = await pinctl("lint", try site.folder.add(swift.output))
        #expect(lint.errors.contains("Swift can only be written"))
        #expect(lint.status == 2)
    }

    @Test("Trust anchors that only the config has are kept, and aren't reported as a difference")
    func roots() async throws {
        let config = try site.folder.add(
            """
            <network-security-config><domain-config><domain>api.test</domain>
            <trust-anchors><certificates src="@raw/ours"/></trust-anchors>
            <pin-set><pin digest="SHA-256">\(strangePin.dropFirst(7))</pin></pin-set></domain-config></network-security-config>
            """, name: "roots.xml")
        let into = ["export", "--to", "android", "--into", config]
        #expect(await pinctl(into + ["--lossy", policy]).status == 0)
        #expect(try String(contentsOfFile: config, encoding: .utf8).contains("<certificates src=\"@raw/ours\"/>"))
        #expect(await pinctl(into + ["--check", policy]).status == 0)
    }

    @Test("import reports a host that a policy can't express")
    func badHost() async throws {
        let code = "val p = CertificatePinner.Builder().add(\"*.api.test\", \"\(strangePin)\")"
        let nsc = """
            <network-security-config><domain-config><domain>api.test:443</domain><pin-set>
            <pin digest="SHA-256">\(strangePin.dropFirst(7))</pin></pin-set></domain-config></network-security-config>
            """
        let run = await pinctl("import", try site.folder.add(nsc))
        #expect(run.errors.contains("is not a host name"))
        #expect(run.output == "")
        #expect(run.status == 1)
        #expect(await pinctl("import", "--lossy", try site.folder.add(code)).status == 0)
    }

    @Test("Paths of anchor files are rewritten relative to the imported policy's new directory")
    func importedRoots() async throws {
        _ = try site.folder.add(site.root.pemText, name: "own.pem")
        for folder in ["pins", "other"] { _ = try TestCommand.run(["mkdir", "\(site.folder.path)/\(folder)"]) }
        _ = try site.folder.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": ["\(strangePin)"],
              "anchors": { "files": ["../own.pem"] } }] }
            """, name: "pins/p.jsonc")
        for (output, file) in [("new.jsonc", "pins/../own.pem"), ("other/new.jsonc", "../pins/../own.pem")] {
            let run = try await shell("pinctl import pins/p.jsonc -o \(output)", in: site.folder)
            #expect(run.status == 0, "\(run.errors)")
            let text = try String(contentsOfFile: "\(site.folder.path)/\(output)", encoding: .utf8)
            #expect(text.contains("\"\(file)\""), "\(text)")
        }
        let printed = try await shell("pinctl import pins/p.jsonc", in: site.folder)
        #expect(printed.status == 0 && printed.output.contains("\"pins/../own.pem\""), "\(printed.errors)")
    }

    @Test("The host of a header comes from --host, with its subdomains")
    func header() async throws {
        let header =
            "Public-Key-Pins: max-age=5; includeSubDomains; "
            + "pin-sha256=\"\(strangePin.dropFirst(7))\"; pin-sha256=\"\(try site.leaf.key.pin.dropFirst(7))\""
        let run = await pinctl("import", "--lossy", "--host", "api.test", try site.folder.add(header))
        #expect(run.output.contains("\"subdomains\": true"))
        #expect(run.output.contains("\"host\": \"api.test\""))
        #expect(run.status == 0)
    }

    @Test("explain searches a server's chain and the trust store behind it, since a server doesn't send the root")
    func explainAtServer() async throws {
        try await site.serve { server in
            for (pin, place) in [
                (try site.leaf.key.pin, "the pin of api.test:\(server.port) via "),
                (try site.root.key.pin, "the pin of the store, behind "),
            ] {
                let run = await pinctl("explain", pin, "--in", server.target(), "--ca-file", site.anchors)
                #expect(run.status == 0 && run.output.contains(place), "\(run.output)\(run.errors)")
            }
            let strange = await pinctl("explain", strangePin, "--in", server.target(), "--ca-file", site.anchors)
            #expect(strange.status == 1 && strange.output.contains("no digest of 3 keys"), "\(strange.output)")
        }
    }

    @Test(
        "A file that isn't a pin file is rejected with what to do",
        arguments: [["import"], ["export", "--to", "okhttp"]])
    func unreadable(words: [String]) async throws {
        let text = await pinctl(words + [try site.folder.add("hello")])
        #expect(text.errors.contains("no dialect is recognized: name it with --from"))
        #expect(text.status == 2)
        #expect(await pinctl(words + ["/no/such/file"]).status == 2)
        #expect(await pinctl(words + [site.folder.path]).status == 2)
        let unknown = await pinctl(words + ["--from", "andriod", policy])
        #expect(unknown.errors.contains("did you mean android?"))
    }

    @Test("An error in a file whose dialect was guessed names that dialect")
    func assumed() async throws {
        let file = try site.folder.add("sha256//AAAA", name: "pins.txt")
        for words in [["import"], ["export", "--to", "okhttp"], ["explain", "api.test", "--policy"], ["lint"]] {
            let run = await pinctl(words + [file])
            #expect(
                run.errors.contains(
                    "pins.txt: was read as curl (curl), judging by its contents: name another dialect with --from"),
                "\(words) \(run.errors)")
        }
        let named = await pinctl("import", "--from", "curl", file)
        #expect(!named.errors.contains("was read as") && named.status == 2)
        // Source code is recognized as source code, whatever its comments contain.
        let source = try site.folder.add(
            "// curl: sha256//\(strangePin.dropFirst(7))\nval p = CertificatePinner.Builder().add(\"api.test\", \"\(strangePin)\")",
            name: "Pins.kt")
        #expect(await pinctl("import", source).status == 0)
    }

    @Test("Two builders are alternatives, and are read as one rule only with --allow")
    func builders() async throws {
        let text = """
            val a = CertificatePinner.Builder().add("api.test", "\(strangePin)").build()
            val b = CertificatePinner.Builder().add("api.test", "\(try site.leaf.key.pin)").build()
            """
        let file = try site.folder.add(text, name: "Two.kt")
        for words in [["import"], ["export", "--to", "android"]] {
            let run = await pinctl(words + [file])
            #expect(
                run.errors.contains(
                    "Two.kt:2:9: combine-changed (weaker): the builders on lines 1 and 2 are alternatives"))
            #expect(run.output == "" && run.status == 1)
            let allowed = await pinctl(words + ["--allow", "combine-changed", file])
            #expect(allowed.output.contains(strangePin.dropFirst(7)) && allowed.status == 0)
        }
        let plan = await pinctl("plan", "--ca-file", site.anchors, "--new", site.chain, "--against", file)
        #expect(plan.errors.contains("are alternatives") && plan.status == 2, "\(plan.errors)")
    }

    @Test("A configuration without pins exits with 1, and nothing is written")
    func noPins() async throws {
        let file = try site.folder.add(
            """
            <network-security-config><domain-config cleartextTrafficPermitted="true"><domain>localhost</domain></domain-config>
            </network-security-config>
            """, name: "plain.xml")
        let output = site.folder.path + "/none.jsonc"
        let run = await pinctl("import", "-o", output, file)
        #expect(run.errors.contains("no pins: \(file) pins no host, and nothing is written"), "\(run.errors)")
        #expect(run.output == "" && run.status == 1)
        #expect(!FileManager.default.fileExists(atPath: output))
    }

    @Test("import omits what a policy can't express with a note, and the policy that it writes loads")
    func importLoads() async throws {
        let pins = "<pin-set><pin digest=\"SHA-256\">\(strangePin.dropFirst(7))</pin></pin-set>"
        let file = try site.folder.add(
            """
            <network-security-config>
              <domain-config><domain>api.test.</domain>\(pins)
                <trustkit-config enforcePinning="true" disableDefaultReportUri="true">
                  <report-uri>http://reports.test/</report-uri><report-uri>https://reports.test/</report-uri>
                </trustkit-config></domain-config>
              <domain-config><domain>b.test</domain>\(pins)<trust-anchors/></domain-config>
            </network-security-config>
            """, name: "odd.xml")
        let refused = await pinctl("import", file)
        #expect(refused.output == "" && refused.status == 1)
        let run = await pinctl("import", "--allow", "anchors-lost", "--allow", "scope-widened", file)
        #expect(run.status == 0, "\(run.errors)")
        for note in [
            "scope-widened (stricter): api.test. is pinned as api.test",
            "reports-lost (unchanged): reports to http://reports.test/ are left out",
            "anchors-lost (weaker): b.test trusts no root",
        ] { #expect(run.errors.contains(note), "\(note) \(run.errors)") }
        #expect(!run.output.contains("http://") && run.output.contains("https://reports.test/"))
        let written = try site.folder.add(run.output)
        #expect(await pinctl("export", "--to", "policy", written).status == 0)
        let suffix = try site.folder.add(
            "<network-security-config><domain-config><domain includeSubdomains=\"true\">com</domain>\(pins)</domain-config>"
                + "</network-security-config>", name: "suffix.xml")
        let unloadable = await pinctl("import", "--lossy", suffix)
        #expect(unloadable.output == "" && unloadable.status == 1, "\(unloadable)")
        #expect(unloadable.errors.contains("nothing is written: change \(suffix) first"))
    }

    @Test(
        "explain reports the expiration day of a pin-set for devices of all time zones",
        arguments: [
            ("2026-11-19T11:00:00Z", ", until 2026-11-20 (stop-pinning)"),
            ("2026-11-19T13:00:00Z", ", expired 2026-11-20 (stop-pinning) where that day has begun"),
            ("2026-11-20T11:00:00Z", ", expired 2026-11-20 (stop-pinning) where that day has begun"),
            ("2026-11-20T13:00:00Z", ", expired 2026-11-20 (stop-pinning)"),
        ])
    func expiredConfig(time: String, expected: String) async throws {
        let file = try site.folder.add(androidText([strangePin, try site.leaf.key.pin], expiration: "2026-11-20"))
        let run = await pinctl("explain", "api.test", "--policy", file, "--at", time)
        #expect(run.lines[1].hasSuffix(expected), "\(run.lines)")
    }

    @Test("An allow comment next to a pin counts in XML, and the same text outside a comment doesn't")
    func allowanceInMarkup() async throws {
        func findings(_ line: String, above: String = "") async throws -> Run {
            await pinctl(
                "lint",
                try site.folder.add(
                    """
                    <network-security-config><domain-config><domain>api.test</domain>
                    <pin-set>
                    <pin digest="SHA-256">\(strangePin.dropFirst(7))</pin>
                    \(above)
                    <pin digest="SHA-256">AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=</pin> \(line)
                    </pin-set></domain-config></network-security-config>
                    """))
        }
        let open = try await findings("")
        #expect(open.output.contains(":5:") && open.output.contains("P002") && open.status == 1, "\(open.output)")
        #expect(try await !findings("<!-- pinctl-allow P002: a slot -->").output.contains("P002"))
        #expect(try await !findings("", above: "<!-- pinctl-allow P002: a slot -->").output.contains("P002"))
        let text = try await findings("<![CDATA[ <!-- pinctl-allow P002: a slot --> ]]>")
        #expect(text.output.contains("P002"), "\(text.output)")
    }
}
