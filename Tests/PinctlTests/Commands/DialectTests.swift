import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl import, export and explain")
struct DialectTests {
    let site: PinctlSite
    /// The rule is on line 3.
    let policy: String

    init() throws {
        site = try PinctlSite()
        policy = try site.directory.add(
            """
            { "version": 1, "exports": [{ "to": "okhttp", "file": "Pins.kt" }, { "to": "apple", "file": "Info.plist" }],
              "domains": [
              { "host": "api.test", "pins": [
                { "pin": "\(try site.leaf.key.pin)", "role": "leaf" }, \
            { "pin": "\(unknownPin)", "role": "leaf", "backup": true }] },
            ] }
            """, name: "pins.jsonc")
    }

    @Test("An export to apple without losses imports as the same policy")
    func roundTrip() async throws {
        let plist = site.directory.path + "/Info.plist"
        let run = await pinctl("export", "--to", "apple", "--output", plist, policy)
        #expect(run.lines == ["wrote \(plist)"])
        #expect(run.errors == "")
        let read = await pinctl("import", plist)
        #expect(read.errors == "")
        #expect(read.output.contains("{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\" }"))
        let again = await pinctl("export", "--to", "apple", try site.directory.add(read.output))
        #expect(again.output == (try String(contentsOfFile: plist, encoding: .utf8)))
    }

    @Test("lint and explain report trust anchors that bypass pins")
    func bypass() async throws {
        let file = try site.directory.add(
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
        #expect(linted.lines[0].contains(":3:3: error[P024] pins are ignored for chains that end at \"system\""))
        #expect(linted.status == 1 && linted.errors == "")
        let explained = await pinctl("explain", "api.test", "--policy", file)
        #expect(explained.lines[1].hasSuffix("enforce, pins are ignored for chains that end at system"))
    }

    @Test("import reports a host that a policy can't express")
    func badHost() async throws {
        let code = "val p = CertificatePinner.Builder().add(\"*.api.test\", \"\(unknownPin)\")"
        let nsc = """
            <network-security-config><domain-config><domain>api.test:443</domain><pin-set>
            <pin digest="SHA-256">\(unknownPin.dropFirst(7))</pin></pin-set></domain-config></network-security-config>
            """
        let run = await pinctl("import", try site.directory.add(nsc))
        #expect(run.errors.contains("is not a hostname"))
        #expect(run.output == "")
        #expect(run.status == 1)
        #expect(await pinctl("import", "--lossy", try site.directory.add(code)).status == 0)
    }

    @Test("Paths of anchor files are rewritten relative to the imported policy's new directory")
    func importedRoots() async throws {
        _ = try site.directory.add(site.root.pemText, name: "own.pem")
        for directory in ["pins", "other"] {
            _ = try TestCommand.run(["mkdir", "\(site.directory.path)/\(directory)"])
        }
        _ = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": ["\(unknownPin)"],
              "anchors": { "files": ["../own.pem"] } }] }
            """, name: "pins/p.jsonc")
        for (output, file) in [("new.jsonc", "pins/../own.pem"), ("other/new.jsonc", "../pins/../own.pem")] {
            let run = try await shell("pinctl import pins/p.jsonc -o \(output)", in: site.directory)
            #expect(run.status == 0, "\(run.errors)")
            let text = try String(contentsOfFile: "\(site.directory.path)/\(output)", encoding: .utf8)
            #expect(text.contains("\"\(file)\""), "\(text)")
        }
        let printed = try await shell("pinctl import pins/p.jsonc", in: site.directory)
        #expect(printed.status == 0 && printed.output.contains("\"pins/../own.pem\""), "\(printed.errors)")
    }

    @Test("The host of a header comes from --host, with its subdomains")
    func header() async throws {
        let header =
            "Public-Key-Pins: max-age=5; includeSubDomains; "
            + "pin-sha256=\"\(unknownPin.dropFirst(7))\"; pin-sha256=\"\(try site.leaf.key.pin.dropFirst(7))\""
        let run = await pinctl("import", "--lossy", "--host", "api.test", try site.directory.add(header))
        #expect(run.output.contains("\"subdomains\": true"))
        #expect(run.output.contains("\"host\": \"api.test\""))
        #expect(run.status == 0)
    }

    @Test(
        "A file that isn't a pin file is rejected with what to do",
        arguments: [["import"], ["export", "--to", "okhttp"]])
    func unreadable(words: [String]) async throws {
        let text = await pinctl(words + [try site.directory.add("hello")])
        #expect(text.errors.contains("no dialect is recognized: name it with --from"))
        #expect(text.status == 2)
        #expect(await pinctl(words + ["/no/such/file"]).status == 2)
        #expect(await pinctl(words + [site.directory.path]).status == 2)
        let unknown = await pinctl(words + ["--from", "andriod", policy])
        #expect(unknown.errors.contains("did you mean android?"))
    }

    @Test("An error in a file whose dialect was guessed names that dialect")
    func assumed() async throws {
        let file = try site.directory.add("sha256//AAAA", name: "pins.txt")
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
        let source = try site.directory.add(
            "// curl: sha256//\(unknownPin.dropFirst(7))\n"
                + "val p = CertificatePinner.Builder().add(\"api.test\", \"\(unknownPin)\")",
            name: "Pins.kt")
        #expect(await pinctl("import", source).status == 0)
    }

    @Test("Two builders are alternatives, and are read as one rule only with --allow")
    func builders() async throws {
        let text = """
            val a = CertificatePinner.Builder().add("api.test", "\(unknownPin)").build()
            val b = CertificatePinner.Builder().add("api.test", "\(try site.leaf.key.pin)").build()
            """
        let file = try site.directory.add(text, name: "Two.kt")
        for words in [["import"], ["export", "--to", "android"]] {
            let run = await pinctl(words + [file])
            #expect(
                run.errors.contains(
                    "Two.kt:2:9: combine-changed (weaker): the builders on lines 1 and 2 are alternatives"))
            #expect(run.output == "" && run.status == 1)
            let allowed = await pinctl(words + ["--allow", "combine-changed", file])
            #expect(allowed.output.contains(unknownPin.dropFirst(7)) && allowed.status == 0)
        }
        let plan = await pinctl("plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--against", file)
        #expect(plan.errors.contains("are alternatives") && plan.status == 2, "\(plan.errors)")
    }

    @Test("A configuration without pins exits with 1, and nothing is written")
    func noPins() async throws {
        let file = try site.directory.add(
            """
            <network-security-config><domain-config cleartextTrafficPermitted="true">\
            <domain>localhost</domain></domain-config>
            </network-security-config>
            """, name: "plain.xml")
        let output = site.directory.path + "/none.jsonc"
        let run = await pinctl("import", "-o", output, file)
        #expect(run.errors.contains("no pins: \(file) pins no host, and nothing is written"), "\(run.errors)")
        #expect(run.output == "" && run.status == 1)
        #expect(!FileManager.default.fileExists(atPath: output))
    }

    @Test("import omits what a policy can't express with a note, and the policy that it writes loads")
    func importLoads() async throws {
        let pins = "<pin-set><pin digest=\"SHA-256\">\(unknownPin.dropFirst(7))</pin></pin-set>"
        let file = try site.directory.add(
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
        let written = try site.directory.add(run.output)
        #expect(await pinctl("export", "--to", "policy", written).status == 0)
        let suffix = try site.directory.add(
            "<network-security-config><domain-config>"
                + "<domain includeSubdomains=\"true\">com</domain>\(pins)</domain-config>"
                + "</network-security-config>", name: "suffix.xml")
        let unloadable = await pinctl("import", "--lossy", suffix)
        #expect(unloadable.output == "" && unloadable.status == 1, "\(unloadable)")
        #expect(unloadable.errors.contains("nothing is written: change \(suffix) first"))
    }

    @Test("An allow comment next to a pin counts in XML, and the same text outside a comment doesn't")
    func allowanceInMarkup() async throws {
        func findings(_ line: String, above: String = "") async throws -> Run {
            await pinctl(
                "lint",
                try site.directory.add(
                    """
                    <network-security-config><domain-config><domain>api.test</domain>
                    <pin-set>
                    <pin digest="SHA-256">\(unknownPin.dropFirst(7))</pin>
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
