import FoundationEssentials
import PinctlTestPKI
import Testing

/// Certificate Transparency in `show`, `check` and `verify`.
@Suite("Certificate Transparency in commands")
struct TransparencyCommandTests {
    let site: PinctlSite
    let logs: [TestLog]
    let list: String
    /// A leaf with timestamps of both logs.
    let logged: TestCertificate

    init() throws {
        site = try PinctlSite()
        logs = [try TestLog("Alpha 2026", owner: "Alpha"), try TestLog("Beta 2026", owner: "Beta")]
        list = try site.directory.add(try TestLog.listJSON(logs, published: "2026-11-01T00:00:00Z"), name: "logs.json")
        logged = try site.intermediate.leaf("api.test", loggedBy: logs, adjusting: Self.shorten)
    }

    private static func shorten(_ settings: inout TestCertificate.Settings) {
        // 2026-10-01, for 90 days.
        settings.notBefore = 1_790_812_800
        settings.notAfter = settings.notBefore + 90 * 86_400 - 1
    }

    private func check(_ server: LoopbackServer, _ leaf: TestCertificate, _ flags: String...) async throws -> Run {
        await pinctl(
            ["check", "--ca-file", site.rootFile, "--pin", try leaf.key.pin, "--warn-within", "1d", server.target()]
                + flags)
    }

    @Test("check warns about a leaf without timestamps, and rejects it with --transparency require")
    func check() async throws {
        try await site.serve { server in
            #expect(try await check(server, site.leaf).status == 0)
            let report = try await check(server, site.leaf, "--ct-logs", list)
            #expect(report.status == 0)
            #expect(report.output.contains("not enough Certificate Transparency (no timestamps"), "\(report)")
            #expect(try await check(server, site.leaf, "--ct-logs", list, "--fail-on", "warning").status == 1)
            let required = try await check(server, site.leaf, "--ct-logs", list, "--transparency", "require")
            #expect(required.status == 4 && required.output.contains("[certificate-transparency]"), "\(required)")
        }
        try await site.serve([logged, site.intermediate]) { server in
            let run = try await check(server, logged, "--ct-logs", list, "--transparency", "require")
            #expect(run.status == 0 && !run.output.contains("Transparency"), "\(run)")
        }
    }

    @Test(
        "Timestamps in the handshake count, and those in the stapled response are listed only",
        arguments: ["1.2", "1.3"])
    func delivered(version: String) async throws {
        let leaf = try site.intermediate.leaf("api.test", adjusting: Self.shorten)
        let timestamps = try logs.map { try $0.timestamp(of: .certificate(leaf.derBytes)) }
        var response = TestOCSPResponse(leaf, issuedBy: site.intermediate)
        let now = Int64(testTime.timeIntervalSince1970)
        (response.thisUpdate, response.nextUpdate) = (now - 3_600, now + 3_600)
        response.extensions = [TestLog.stapleExtension(TestLog.list([timestamps[1]]))]
        let staple = try response.signed(by: site.intermediate)
        response.extensions = [TestLog.stapleExtension(TestLog.list(timestamps))]
        let both = try response.signed(by: site.intermediate)
        let flags = ["--ct-logs", list, "--max-tls", version]
        try await LoopbackServer(chain: [leaf, site.intermediate]) {
            $0.timestamps = TestLog.list(Array(timestamps.prefix(2)))
            $0.staple = staple
        }.run { server in
            let run = await pinctl(
                [
                    "check", "--ca-file", site.rootFile, "--pin", try leaf.key.pin, server.target(), "--transparency",
                    "require",
                ]
                    + flags)
            #expect(run.status == 0, "\(run)")
            let shown = await pinctl(["show", "--ca-file", site.rootFile, server.target()] + flags)
            #expect(
                shown.lines.filter { $0.hasPrefix("  timestamp ") } == [
                    "  timestamp     2026-06-01T00:00:00Z  valid  in the TLS extension  Alpha 2026 (Alpha)",
                    "  timestamp     2026-06-01T00:00:00Z  valid  in the TLS extension  Beta 2026 (Beta)",
                    "  timestamp     2026-06-01T00:00:00Z  valid  in the stapled OCSP response, where "
                        + "it doesn't count  Beta 2026 (Beta)",
                ], "\(shown)")
            #expect(shown.lines.contains("  transparency: compliant with the policies of Chrome and Apple"))
        }
        try await LoopbackServer(chain: [leaf, site.intermediate]) { $0.staple = both }.run { server in
            let run = await pinctl(
                [
                    "check", "--ca-file", site.rootFile, "--pin", try leaf.key.pin, server.target(), "--transparency",
                    "require",
                ] + flags)
            #expect(run.status == 4 && run.output.contains("only in the stapled OCSP response"), "\(run)")
        }
    }

    struct Document: Decodable {
        struct Timestamp: Decodable {
            let source: String
            let status: String
            let time: String?
            let log: String?
            let `operator`: String?
        }
        struct Transparency: Decodable {
            let compliant: Bool
            let reason: String?
        }
        struct Result: Decodable {
            let timestamps: [Timestamp]
            let transparency: Transparency?
        }
        let results: [Result]
    }

    @Test("show lists the timestamps of a file, and verifies them with a list of logs")
    func show() async throws {
        let file = try site.directory.add(logged.pemText + site.intermediate.pemText, name: "logged.pem")
        let bare = await pinctl("show", "--ca-file", site.rootFile, file)
        let rows = bare.lines.filter { $0.hasPrefix("  timestamp ") }
        #expect(rows.count == 2 && rows.allSatisfy { $0.contains("  not verified  log ") }, "\(bare)")
        #expect(!bare.output.contains("  transparency:"))
        let json = try await pinctl("show", "--ca-file", site.rootFile, "--ct-logs", list, "--json", file)
            .decoded(as: Document.self)
        let result = try #require(json.results.first)
        #expect(result.timestamps.map(\.status) == ["valid", "valid"])
        #expect(result.timestamps.map(\.source) == ["certificate", "certificate"])
        #expect(result.timestamps.map(\.log) == ["Alpha 2026", "Beta 2026"])
        #expect(result.timestamps.map(\.`operator`) == ["Alpha", "Beta"])
        #expect(result.timestamps[0].time == "2026-06-01T00:00:00Z")
        #expect(result.transparency?.compliant == true)
        // The chain needn't be trusted.
        let other = try site.directory.add(TestCertificate.root("Other").pemText)
        let untrusted = await pinctl("show", "--ca-file", other, "--ct-logs", list, file)
        #expect(untrusted.lines.filter { $0.contains("  valid  Alpha 2026 (Alpha)") }.count == 1, "\(untrusted)")
    }

    @Test("verify checks timestamps too, and old or unusable lists are errors that say so")
    func verify() async throws {
        let chain = try site.directory.add(logged.pemText + site.intermediate.pemText, name: "logged.pem")
        func verify(_ chain: String, _ flags: String...) async -> Run {
            await pinctl(["verify", chain, "--host", "api.test", "--ca-file", site.rootFile] + flags)
        }
        #expect(await verify(chain, "--ct-logs", list, "--transparency", "require").status == 0)
        #expect(await verify(site.chainFile, "--ct-logs", list, "--transparency", "require").status == 4)
        let report = await verify(site.chainFile, "--ct-logs", list)
        #expect(report.status == 0 && report.output.contains("not enough Certificate Transparency"), "\(report)")
        let old = await verify(chain, "--ct-logs", list, "--transparency", "require", "--at", "2026-12-20T00:00:00Z")
        #expect(old.status == 0)
        let outdated = try site.directory.add(try TestLog.listJSON(logs, published: "2026-09-11T00:00:00Z"))
        let late = await verify(chain, "--ct-logs", outdated, "--transparency", "require")
        #expect(late.status == 4 && late.output.contains("70 days old or more: get a new one"), "\(late)")
        let alone = await verify(chain, "--transparency", "require")
        #expect(alone.status == 2 && alone.errors.contains("--ct-logs"), "\(alone)")
        let broken = await verify(chain, "--ct-logs", site.rootFile)
        #expect(broken.status == 2 && broken.errors.contains("root.pem:1: "), "\(broken)")
    }

    @Test("certificateTransparency in a rule of the policy decides, with or without flags")
    func policy() async throws {
        func check(_ mode: String, _ flags: String...) async throws -> Run {
            let policy = try site.policy(
                "\"\(try site.leaf.key.pin)\"", rule: " \"certificateTransparency\": \"\(mode)\",")
            return await pinctl(
                ["check", "--ca-file", site.rootFile, "--policy", policy, "--files", site.chainFile] + flags)
        }
        let blind = try await check("require")
        #expect(blind.status == 4 && blind.output.contains("[transparency-unknown]"), "\(blind)")
        #expect(try await check("require", "--ct-logs", list).output.contains("[certificate-transparency]"))
        #expect(try await check("ignore", "--ct-logs", list, "--transparency", "require").status == 0)
        let report = try await check("report", "--ct-logs", list)
        #expect(report.status == 0 && report.output.contains("not enough Certificate Transparency"), "\(report)")
        let typo = try await check("enforce")
        #expect(typo.status == 2 && typo.errors.contains("\"ignore\", \"report\" or \"require\""), "\(typo)")
    }

    @Test("plan doesn't report that a release survives if it requires timestamps that the new chain lacks")
    func plan() async throws {
        let good = try site.directory.add(logged.pemText + site.intermediate.pemText, name: "logged.pem")
        func plan(_ chain: String, _ release: String, _ flags: String...) async -> Run {
            await pinctl(["plan", "--ca-file", site.rootFile, "--new", chain, "--against", release] + flags)
        }
        let pin = "\"\(try site.root.key.pin)\""
        let android = try site.directory.add(
            androidText([site.root.key.pin, unknownPin])
                .replacing("<pin-set", with: #"<certificateTransparency enabled="true" /><pin-set"#), name: "nsc.xml")
        let setting = #" "certificateTransparency": "require","#
        for release in [
            try site.policy(pin, rule: setting), android, try site.policy(pin, rule: setting + #" "mode": "off","#),
        ] {
            let bare = await plan(site.chainFile, release, "--ct-logs", list)
            #expect(bare.status == 4 && bare.output.contains("not enough Certificate Transparency"), "\(bare)")
            #expect(!bare.output.contains("survives"))
            let blind = await plan(good, release)
            #expect(blind.status == 4 && blind.output.contains("1 not trusted"), "\(blind)")
            #expect(await plan(good, release, "--ct-logs", list).status == 0)
        }
        for mode in ["report", "ignore"] {
            let release = try site.policy(pin, rule: #" "certificateTransparency": "\#(mode)","#)
            #expect(await plan(site.chainFile, release, "--ct-logs", list).status == 0)
        }
        // Releases share what was found about a chain, but not what they require of it.
        let both = await plan(
            site.chainFile, try site.policy(pin), "--against", android, "--ct-logs", list, "--json")
        #expect(
            try both.decoded(as: PlanDocument.self).results.map(\.verdict) == ["survives_only", "not_trusted"])
        #expect(both.status == 4)
    }

    @Test("A rule that trusts only a private CA gets no warning, unless it asks for one")
    func privateCA() async throws {
        func check(_ settings: String) async throws -> String {
            let policy = try site.policy("\"\(try site.leaf.key.pin)\"", rule: settings)
            let run = await pinctl(
                "check", "--ca-file", site.rootFile, "--policy", policy, "--files", site.chainFile, "--ct-logs", list)
            #expect(run.status == 0, "\(run)")
            return run.output
        }
        let anchors = #" "anchors": { "files": ["\#(site.rootFile)"] },"#
        #expect(try await check("").contains("not enough Certificate Transparency"))
        #expect(try await !check(anchors).contains("Transparency"))
        let asked = try await check(anchors + #" "certificateTransparency": "report","#)
        #expect(asked.contains("not enough Certificate Transparency"), "\(asked)")
    }

    @Test(
        "OpenSSL's own CT functions find the same timestamps valid",
        .enabled(if: TestCommand.isPresent("openssl", "version"), "needs the openssl program"),
        arguments: ["1.2", "1.3"])
    func openssl(version: String) async throws {
        // OpenSSL verifies at the current time.
        var settings = TestCertificate.Settings.server(["now.test"])
        settings.makeValidNow()
        let root = try TestCertificate.root("Now") { $0.makeValidNow() }
        let past: (inout TestLog.Fields) -> Void = { $0.milliseconds = 1_600_000_000_000 }
        let rsa = try TestLog("RSA", key: .shared(.rsa2048))
        let leaf = try root.issue(settings) { entry in
            [
                try logs[0].timestamp(of: entry, adjusting: past), try rsa.timestamp(of: entry, adjusting: past),
                // Signed by another log's key.
                try logs[1].timestamp(of: entry) {
                    past(&$0)
                    $0.signer = logs[0].key
                },
            ]
        }
        let sent = try logs[1].timestamp(of: .certificate(leaf.derBytes), adjusting: past)
        var configuration = "enabled_logs = a,b,c\n"
        for (name, log) in zip(["a", "b", "c"], logs + [rsa]) {
            configuration += "[\(name)]\ndescription = \(log.name)\nkey = \(try TestPEM.base64(log.key.publicKeyDER))\n"
        }
        let file = try site.directory.add(configuration)
        let rootFile = try site.directory.add(root.pemText)
        let published = Date().ISO8601Format()
        let ours = try site.directory.add(try TestLog.listJSON(logs + [rsa], published: published))
        try await LoopbackServer(chain: [leaf]) { $0.timestamps = TestLog.list([sent]) }.run { server in
            let run = try TestCommand.run(
                [
                    "openssl", "s_client", "-connect", "127.0.0.1:\(server.port)", "-ct", "-ctlogfile", file, "-CAfile",
                    rootFile, version == "1.2" ? "-tls1_2" : "-tls1_3",
                ])
            let theirs = run.text.split(separator: "\n").filter { $0.contains("alidation status") }
                .map { $0.split(separator: ":").last.map { $0.filter { $0 != " " } } ?? "" }
            #expect(theirs.sorted() == ["invalid", "valid", "valid", "valid"], "\(run.text)")
            let shown = await pinctl(
                ["show", "--ca-file", rootFile, "--ct-logs", ours, "--max-tls", version, server.target("now.test")],
                now: Date())
            let own = shown.lines.filter { $0.hasPrefix("  timestamp ") }
                .map { $0.contains("  valid  ") ? "valid" : $0.contains("  invalid signature  ") ? "invalid" : $0 }
            #expect(own.sorted() == theirs.sorted(), "\(shown)")
        }
    }
}
