import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificatePinning
@testable import CertificateTrust
@testable import PinctlCommands

/// An interceptor serves a key too, so no text may advise pinning a key without saying how to confirm it (AD1).
@Suite("Advice about a served key")
struct RemedyTests {
    private static let clause =
        "confirm on the server itself that pinctl hash of its certificate file prints the served leaf pin"
    /// The causes whose remedy doesn't change a pin to a served key.
    private static let harmless: Set<String> = [
        "clock-behind", "clock-ahead", "issuer-missing", "default-certificate", "rule-ended", "denied", "host-missed",
        "only-backup",
    ]
    /// Words that tell the user to put a key into a policy.
    private static let instructions = ["ship", "write ", "pin the", "pin it", "give the pin"]

    private let site: PinctlSite
    private let mismatch: PinMismatch
    private let causes: [PinFailureCause]
    private let served: [String]

    init() throws {
        site = try PinctlSite()
        let chain = try (site.chain + [site.root]).map { try X509Certificate(derBytes: $0.derBytes) }
        let trust = ServerTrust(
            presented: try PresentedChain(derCertificates: site.chain.map(\.derBytes)),
            name: try ServerName("api.test"), store: TrustStore(certificates: [chain[2]]))
        let old = Pin(.publicKey(try #require(SPKIFingerprint(unknownPin))), role: .root, name: "old")
        let expiry = PinningExpiry(at: testTime, then: .fail)
        let rule = PinningRule(host: try ServerName("api.test"), pins: [old], expiry: expiry)
        let path = try trust.evaluate(at: testTime)
        mismatch = PinMismatch(rule: rule, path: path, port: 443, matches: [], unmetRoles: [.any], expiry: nil)
        served = chain.map { "\($0.spkiFingerprint)" } + chain.map { "\($0.fingerprint)" }
        let whole = Pin(.certificate(chain[0].fingerprint))
        causes = [
            .clockBehind(chain[0]), .clockAhead(chain[0]), .inspected(by: chain[2].subject),
            .issuerMissing(chain[1].subject), .wrongPosition(old, .leaf), .wrongBytes(old, .certificate, of: chain[0]),
            .wrongBytes(whole, .publicKey, of: chain[0]), .offPath(old, chain[1], nil),
            .offPath(old, chain[1], TrustFinding(rule: .expired, depth: 1, certificate: chain[1], detail: "expired")),
            .selfSigned(chain[0]), .defaultCertificate(chain[0], of: nil), .defaultCertificate(chain[0], of: "Traefik"),
            .noKeyServed(chain[2]), .authorityChanged(from: [old], to: chain[2]), .intermediateChanged(to: chain[1]),
            .leafRekeyed(chain[0]), .leafReplaced(chain[0]), .denied(whole),
            .ruleEnded(rule.identity, expiry), .denied(old), .hostMissed(rule.host, .parent, rule.identity),
            .onlyBackup([old]),
        ]
    }

    @Test("The table of these tests has every cause")
    func all() throws {
        let path = "/Sources/CertificatePinning/CertificatePinning.docc/WhenPinsStopMatching.md"
        let article = try String(contentsOfFile: Repository.root + path, encoding: .utf8)
        let rows = article.split(separator: "\n").filter { $0.hasPrefix("| `") }
        let identifiers = Set(rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) })
        #expect(Set(causes.map(\.identifier)) == identifiers)
    }

    @Test("A chain that isn't below the anchors of its rule isn't to be trusted with a flag, which doesn't apply to it")
    func ownAnchors() async throws {
        let site = try PinctlSite()
        _ = try site.directory.add(TestCertificate.root("Other Root").pemText, name: "other.pem")
        let pin = "\"\(try site.leaf.key.pin)\", \"\(unknownPin)\""
        let own = try site.policy(pin, rule: #""anchors": { "files": ["other.pem"] },"#)
        let plain = try site.policy(pin)
        try await site.serve { server in
            for flags in [[], ["--ca-file", site.rootFile]] {
                let run = await pinctl(["check", "--policy", own] + flags + [server.target()])
                #expect(
                    run.status == 4 && run.output.contains("cause: the chain lacks the certificate of CN=Test Root"))
                #expect(
                    run.output.contains(
                        "serve a chain that leads to one of the anchors of the rule at \(own):"), "\(run.output)")
                #expect(
                    run.output.contains("because released apps trust only these, and --ca-file doesn't change them"))
                #expect(!run.output.contains("trust it with --ca-file"), "\(run.output)")
            }
            let without = await pinctl("check", "--policy", plain, server.target())
            #expect(without.status == 4 && without.output.contains("trust it with --ca-file"), "\(without.output)")
        }
        let file = await pinctl("check", "--policy", own, "--files", site.chainFile)
        #expect(file.status == 4 && file.output.contains("use a chain that leads to one of the anchors"), "\(file)")
    }

    @Test("The article has a section for each verdict that fails a run, and names every warning")
    func sections() throws {
        let page = try String(
            contentsOfFile: Repository.root + "/Sources/PinctlCommands/PinctlCommands.docc/WhenACheckFails.md",
            encoding: .utf8)
        let headings = page.matches(of: #/(?m)^## ([a-z_]+)$/#).map { String($0.output.1) }
        #expect(headings.sorted() == VerdictWord.allCases.filter { $0.row.severity.isFailure }.map(\.rawValue).sorted())
        // Two are verdicts too.
        for kind in CheckWarning.Kind.allCases where ![.backupOnly, .somePaths].contains(kind) {
            #expect(page.contains("**\(kind.rawValue)**"), "\(kind)")
        }
    }

    @Test(
        "A remedy that leads to a served key starts with a condition and says how to confirm it, others print none"
    )
    func remedies() {
        for cause in causes {
            let remedy = cause.remedy
            if Self.harmless.contains(cause.identifier) {
                #expect(!served.contains { remedy.contains($0) }, "\(remedy)")
            } else if cause.identifier == "self-signed" {
                #expect(remedy.hasPrefix("if that certificate is yours (compare it with the file on the server)"))
                #expect(remedy.contains("don't pin"))
            } else if cause.identifier == "inspected" {
                #expect(remedy.hasPrefix("if that CA is yours (compare its certificate with the one that its operator"))
                #expect(remedy.contains("don't pin"))
            } else {
                #expect(remedy.hasPrefix("if this change is yours (\(Self.clause)), "), "\(remedy)")
                #expect(remedy.hasSuffix(ifNotYours), "\(remedy)")
            }
        }
        for word in VerdictWord.allCases where [.pinMismatch, .keyMismatch].contains(word) {
            #expect(word.row.remedy?.hasPrefix("if ") == true)
            #expect(word.row.remedy?.contains(Self.clause) == true)
        }
        let lines = mismatch.description.split(separator: "\n")
        #expect(lines.last?.hasPrefix("if this change is yours (\(Self.clause)), ") == true)
        #expect(lines.last?.contains("don't pin any served key") == true)
    }

    /// Every text that the cause of a failed check appears in, and each report format with two hosts that share it.
    private func texts(_ cause: PinFailureCause, file: String? = nil) -> [(name: String, text: String)] {
        var result = CheckResult(
            verdict: .mismatch(mismatch), subject: file ?? "api.test:443", source: file == nil ? .served : .file,
            presented: mismatch.path.certificates, now: testTime, causes: [cause])
        result.file = file
        var report = Report(command: "check", time: testTime, policy: "pins.jsonc")
        for item in 0..<2 {
            _ = report.group(result, of: item)
            report.entries.append(ReportEntry(result))
        }
        report.rules = Report.checkRules
        return ReportFormat.allCases.map { ($0.rawValue, $0.text(of: report)) } + [
            ("annotations", GitHubAnnotation.lines(for: report).joined(separator: "\n")),
            ("screen", result.details.joined(separator: "\n")),
            ("closing lines", report.groupLines().joined(separator: "\n")),
            ("line of JSON", result.json.text),
        ]
    }

    /// The pieces that a user reads as one.
    private static func pieces(_ text: String) -> [String] {
        var pieces = [text]
        for end in ["\n", "%0A", "\\n", "<br>", "</li>", "</p>", " | ", "\",\"", "&#10;"] {
            pieces = pieces.flatMap { $0.split(separator: end).map(String.init) }
        }
        return pieces
    }

    @Test("In every report format a remedy that names a served pin says in the same text how to confirm it (AD1)")
    func formats() {
        for cause in causes {
            for (name, text) in texts(cause) {
                for piece in Self.pieces(text) where served.contains(where: piece.contains) {
                    guard Self.instructions.contains(where: piece.contains) else { continue }
                    #expect(piece.contains(Self.clause), "\(cause.identifier) in \(name): \(piece)")
                }
                guard name != ReportFormat.prometheus.rawValue, !Self.harmless.contains(cause.identifier),
                    !["inspected", "self-signed"].contains(cause.identifier)
                else { continue }
                // The closing lines refer to the explanation above them, and name no key.
                guard name != "closing lines" else {
                    #expect(text.contains("see above") || cause.identifier == "default-certificate", "\(text)")
                    continue
                }
                #expect(Self.pieces(text).contains { $0.contains(Self.clause) }, "\(cause.identifier) in \(name)")
            }
        }
    }

    @Test("Advice about a file that was checked before it is served is about the file, in every report format")
    func files() {
        let mine = ["served leaf", "the connection", "if this change is yours", "the server", "serve a pinned"]
        for cause in causes where !["rule-ended", "only-backup"].contains(cause.identifier) {
            for (name, text) in texts(cause, file: "leaf.pem") {
                for words in mine where text.contains(words) {
                    // The descriptions of the verdicts are the same for all runs.
                    let isRule = Report.checkRules.contains { $0.summary.contains(words) }
                    #expect(isRule && name == "sarif", "\(cause.identifier) in \(name): \(words)")
                }
            }
        }
        for verdict in [Verdict.mismatch(mismatch), .keyUnmatched(mismatch.path.leaf.spkiFingerprint, mismatch.rule)] {
            var result = CheckResult(
                verdict: verdict, subject: "leaf.pem", source: .file, presented: [], now: testTime)
            #expect(result.failureRemedy == VerdictWord.pinMismatch.row.remedy)
            result.file = "leaf.pem"
            #expect(
                result.failureRemedy
                    == "don't deploy it: use a pinned or backup key, or ship the pin of this one before you serve it")
        }
    }

    @Test("The screen of a mismatch says once for each cause what to do, or once if there is no cause")
    func screen() {
        func advice(_ verdict: Verdict, _ causes: [PinFailureCause]) -> [String] {
            let result = CheckResult(
                verdict: verdict, subject: "api.test:443", source: .served, presented: [], now: testTime,
                causes: causes)
            return result.explanation.filter { $0.hasPrefix("  do: ") }
        }
        let general = ["  do: \(VerdictWord.pinMismatch.row.remedy ?? "")"]
        #expect(general[0].hasPrefix("  do: \(ifYours), serve a pinned key again") && general[0].hasSuffix(ifNotYours))
        #expect(advice(.mismatch(mismatch), []) == general)
        #expect(advice(.mismatch(mismatch), causes) == causes.map { "  do: \($0.remedy)" })
        for cause in causes {
            let own = ["  do: \(cause.remedy)"]
            let isWarning = own[0].hasSuffix(ifNotYours)
            #expect(advice(.mismatch(mismatch), [cause]) == (isWarning ? own : own + general), "\(cause)")
        }
        #expect(
            advice(.keyMismatch(mismatch), [causes[2]])
                == ["  do: \(causes[2].remedy)", "  do: \(VerdictWord.keyMismatch.row.remedy ?? "")"])
    }

    @Test("If another key matches or clients bypass the pins, no advice is about a change at the server")
    func unchanged() {
        let changes = ["authority-changed", "intermediate-changed", "leaf-rekeyed", "leaf-replaced", "no-key-served"]
        for cause in causes where changes.contains(cause.identifier) {
            let result = CheckResult(
                verdict: .mismatch(mismatch), subject: "api.test:443", source: .served, presented: [], now: testTime,
                causes: [cause])
            #expect(result.explanation.contains { $0.contains(cause.remedy) })
            for verdict in [Verdict.keyMismatch(mismatch), .bypassed(mismatch)] {
                var result = result
                result.judge(verdict)
                #expect(result.causes == [])
                #expect(!result.explanation.contains { $0.contains("again") || $0.contains("changed") })
                #expect(result.failureRemedy == verdict.word.row.remedy)
            }
        }
    }

    @Test("If clients bypass the pins because they trust the root, no advice is to trust it")
    func bypassed() async throws {
        let policy = try site.policy(
            "\"\(unknownPin)\", \"\(try TestKey().pin)\"", rule: "\"localAnchorsBypassPins\": true,")
        try await site.serve { server in
            let words = ["check", "--policy", policy, "--ca-file", site.rootFile, server.target()]
            let run = await pinctl(words)
            #expect(run.status == 1 && run.lines[0].contains("pins bypassed"), "\(run)")
            #expect(run.lines.count { $0.hasPrefix("  do: ") } == 1, "\(run)")
            #expect(run.output.contains("find out who added the root"))
            #expect(!run.output.contains("--ca-file") && !run.output.contains("isn't an expected root"))
        }
    }

    @Test("init says to confirm keys that a server sent, but not those of a local file")
    func initialPolicy() async throws {
        try await site.serve { server in
            let shown = await pinctl("init", "--ca-file", site.rootFile, server.target())
            #expect(shown.status == 0)
            #expect(
                shown.errors
                    == "pinctl: next: before you ship these pins, confirm on each server itself that pinctl hash of "
                    + "its certificate file prints the leaf pin\n")
        }
        let atHand = await pinctl("init", "--ca-file", site.rootFile, "--from", site.chainFile)
        #expect(atHand.status == 0)
        #expect(atHand.errors == "")
    }

    @Test("explain says to confirm a server's key before its pin is written down")
    func explanation() async throws {
        let digest = "\(try X509Certificate(derBytes: site.leaf.derBytes).fingerprint)".replacing("cert-", with: "")
        let pin = try site.leaf.key.pin
        try await site.serve { server in
            let asked = await pinctl("explain", digest, "--in", server.target(), "--ca-file", site.rootFile)
            #expect(asked.output.contains("write \(pin)"))
            #expect(asked.output.contains(Self.clause))
        }
        let file = await pinctl("explain", digest, "--in", site.chainFile)
        #expect(file.output.contains("write \(pin)"))
        #expect(!file.output.contains("confirm"))
    }
}
