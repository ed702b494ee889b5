import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// An Info.plist with TrustKit's configuration and NSPinnedDomains has two policies, and the app enforces both.
@Suite("pinctl with both policies of an Info.plist")
struct TwoPoliciesTests {
    let site: PinctlSite
    let file: String

    init() throws {
        site = try PinctlSite(host: "api.example.com")
        file = try site.directory.add(
            Self.infoPlist(trustKit: [unknownPin, site.root.key.pin], apple: [site.leaf.key.pin]), name: "Info.plist")
    }

    /// Pins for `api.example.com`: TrustKit's for any certificate, those of NSPinnedDomains for the leaf.
    private static func infoPlist(trustKit: [String], apple: [String]) -> String {
        let hashes = trustKit.map { "<string>\($0.dropFirst(7))</string>" }.joined()
        let identities = apple.map { pin in
            "<dict><key>SPKI-SHA256-BASE64</key><string>\(pin.dropFirst(7))</string></dict>"
        }
        return """
            <plist version="1.0"><dict>
            <key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict>
            <key>api.example.com</key><dict><key>TSKPublicKeyHashes</key><array>\(hashes)</array></dict></dict></dict>
            <key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict>
            <key>api.example.com</key><dict><key>NSPinnedLeafIdentities</key>\
            <array>\(identities.joined())</array></dict></dict></dict>
            </dict></plist>
            """
    }

    @Test("lint checks both policies and names the policy of each finding")
    func lint() async throws {
        let run = await pinctl("lint", file)
        try #require(run.lines.count == 2, "\(run.output)")
        #expect(run.lines[0].hasPrefix("\(file):5:1: warning[P003] NSPinnedDomains: api.example.com has only one pin"))
        let trustKit = try site.directory.add(
            Self.infoPlist(trustKit: [unknownPin, site.root.key.pin], apple: [unknownPin, site.leaf.key.pin])
                .replacing(
                    "TSKPublicKeyHashes</key>", with: "TSKEnforcePinning</key><false/><key>TSKPublicKeyHashes</key>"),
            name: "Other.plist")
        let other = await pinctl("lint", trustKit)
        #expect(
            other.lines[0].hasPrefix("\(trustKit):3:1: warning[P019] TrustKit: api.example.com has been in report mode")
        )
        let one = await pinctl("lint", file, "--from", "trustkit")
        #expect(one.lines == ["1 linted: errors 0, warnings 0"])
        let report = await pinctl("lint", file, "--report", "junit=-")
        #expect(report.output.contains("\(file) (TrustKit)") && report.output.contains("\(file) (NSPinnedDomains)"))
    }

    @Test("A TrustKit dictionary without NSPinnedDomains, inside TSKConfiguration or not, is one policy")
    func trustKitAlone() async throws {
        let hashes = [unknownPin, try site.root.key.pin].map { "<string>\($0.dropFirst(7))</string>" }.joined()
        let domains =
            "<dict><key>TSKPinnedDomains</key><dict><key>api.example.com</key><dict><key>TSKPublicKeyHashes</key>"
            + "<array>\(hashes)</array></dict></dict></dict>"
        for content in [domains, "<dict><key>TSKConfiguration</key>\(domains)</dict>"] {
            let file = try site.directory.add(
                "<plist version=\"1.0\">\(content)</plist>", name: content == domains ? "Bare.plist" : "TrustKit.plist")
            #expect(await pinctl("lint", file).lines == ["1 linted: errors 0, warnings 0"])
            let rules = await pinctl("explain", "api.example.com", "--policy", file)
            #expect(
                rules.status == 0 && rules.lines[0].hasPrefix("api.example.com: one rule applies, as TrustKit"),
                "\(rules)")
        }
    }

    @Test("explain reports the rules of both policies, or of the one selected with --from")
    func explain() async throws {
        let run = await pinctl("explain", "api.example.com", "--policy", file)
        #expect(run.lines.contains("\(file) (TrustKit): api.example.com: one rule applies, as TrustKit matches hosts"))
        #expect(
            run.lines.contains { $0.hasPrefix("\(file) (NSPinnedDomains): api.example.com: one rule applies, as ") })
        #expect(run.status == 0)
        let one = await pinctl("explain", "api.example.com", "--policy", file, "--from", "apple")
        #expect(one.lines[0].hasPrefix("api.example.com: one rule applies") && !one.output.contains(unknownPin))
        for pin in [unknownPin, try site.leaf.key.pin] {
            #expect(await pinctl("explain", pin, "--policy", file).lines[1].hasPrefix("  pinned: "))
        }
        let other = await pinctl("explain", unknownPin, "--policy", file, "--from", "apple")
        #expect(!other.output.contains("pinned: ") && other.status == 1)
        let none = await pinctl("explain", "b.test", "--policy", file)
        #expect(none.lines.count { $0.contains("b.test: no rule covers it") } == 2 && none.status == 1)
    }

    @Test("import and export require a choice of one policy, since neither replaces the other")
    func oneByOne() async throws {
        for command in [["import"], ["export", "--to", "okhttp"]] {
            let run = await pinctl(command + [file])
            #expect(
                run.errors == "pinctl: \(file): has 2 independent policies, "
                    + "\(file) (TrustKit) and \(file) (NSPinnedDomains): "
                    + "choose one with --from trustkit or --from apple\n")
            #expect(run.output == "" && run.status == 2)
        }
        let trustKit = await pinctl("import", file, "--from", "trustkit")
        #expect(trustKit.output.contains(unknownPin) && trustKit.status == 0)
        let apple = await pinctl("import", file, "--from", "apple", "--lossy")
        #expect(!apple.output.contains(unknownPin))
        #expect(apple.output.contains(try site.leaf.key.pin) && apple.status == 0)
        let checked = await pinctl("check", "--policy", file, "api.example.com")
        #expect(checked.errors.contains("TrustKit and ") && checked.errors.contains("NSPinnedDomains"))
        #expect(checked.errors.contains("pinctl import --from trustkit|apple \(file)") && checked.status == 2)
    }

    @Test("plan checks a chain by both: if one of them rejects it, the release breaks")
    func plan() async throws {
        func verdicts(_ words: String...) async throws -> [String] {
            let run = await pinctl(
                ["plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--against", file, "--json"] + words)
            return try run.decoded(as: PlanDocument.self).results.map { "\($0.release ?? "") \($0.verdict ?? "")" }
        }
        #expect(
            try await verdicts() == ["\(file) (TrustKit) survives_only", "\(file) (NSPinnedDomains) survives_only"])
        #expect(try await verdicts("--from", "trustkit") == ["\(file) survives_only"])
        let renewed = try site.intermediate.leaf("api.example.com")
        let chain = try site.directory.add(renewed.pemText + site.intermediate.pemText)
        let run = await pinctl(
            "plan", "--ca-file", site.rootFile, "--new", chain, "--against", file, "--share", "\(file)=40%")
        #expect(run.lines.contains { $0.hasPrefix("BREAKS  ") && $0.contains("\(file) (NSPinnedDomains)") })
        #expect(run.lines.contains { $0.contains("40 % of users have a release that breaks") }, "\(run.output)")
        #expect(run.status == 1)
        // The users of a file with two policies are counted once.
        let unrelated = try TestCertificate.root("Unknown").leaf("api.example.com")
        let both = await pinctl(
            "plan", "--ca-file", site.rootFile, "--new", try site.directory.add(unrelated.pemText), "--against", file,
            "--share", "\(file)=60%")
        #expect(!both.output.contains("120 %"))
    }

    @Test("A misspelled NSPinnedDomains next to TrustKit's configuration is an error and isn't skipped")
    func misspelled() async throws {
        let text = try String(contentsOfFile: file, encoding: .utf8).replacing(
            "NSPinnedDomains", with: "NSPinnedDomain")
        let run = await pinctl("lint", try site.directory.add(text))
        #expect(run.lines.contains { $0.contains("error[P024] NSPinnedDomains: no pins: ") }, "\(run.output)")
        #expect(run.lines.contains { $0.contains("error[P026] NSPinnedDomains: \"NSPinnedDomain\" is ignored") })
        #expect(run.status == 1)
    }

    @Test("A property list with one of the two is one policy, whatever its comments contain")
    func one() async throws {
        let apple =
            "<plist version=\"1.0\"><!-- no TSKConfiguration --><dict><key>NSAppTransportSecurity</key><dict>"
            + "<key>NSPinnedDomains</key><dict><key>api.example.com</key><dict><key>NSPinnedLeafIdentities</key>"
            + "<array><dict><key>SPKI-SHA256-BASE64</key><string>\(unknownPin.dropFirst(7))</string></dict></array>"
            + "</dict></dict></dict></dict></plist>"
        let run = await pinctl("import", "--lossy", try site.directory.add(apple))
        #expect(run.output.contains(unknownPin) && run.status == 0, "\(run.errors)")
    }
}
