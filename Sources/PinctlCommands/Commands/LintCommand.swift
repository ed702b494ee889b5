import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let lint = CommandDefinition(
        name: "lint", summary: "check pin files for problems", operands: "[FILE|DIR…]",
        operandCount: 0...Int.max,
        flags: [
            .from, .lintRule, .calendar, .providers, .issuance, .passwordFile, .passwordDescriptor, .targetLevel, .at,
            .report,
            .annotations,
        ],
        notes: [
            "FILE is a policy or a file in any other dialect, recognized by its contents. The default is",
            "the policy of the environment variable PINCTL_POLICY, or pins/pins.jsonc. For DIR, these are",
            "the files in it that find reads as a dialect, without those of tests.",
            "",
            "Errors cause exit code 1, warnings do not, and a file that can't be loaded causes exit",
            "code 2. A comment pinctl-allow P011: REASON suppresses the findings of rule P011 on its",
            "line and the next. See pinctl help lint-rules for the rules.",
        ],
        examples: [
            ("Check the default policy", "pinctl lint"),
            (
                "Check that pinned keys stay when certificates are renewed",
                "pinctl lint --issuance /etc/letsencrypt/renewal pins/pins.jsonc"
            ),
            (
                "Check the file of an app without one of the rules",
                "pinctl lint --rule P011=off app/src/main/res/xml/network_security_config.xml"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let time = try arguments.time(in: environment)
            let job = LintJob(
                settings: try arguments.lintSettings(), dialect: try arguments.dialect(.from),
                calendar: try arguments.rootCalendar(), renewals: try arguments.keyRenewals(at: time),
                providers: try arguments.allProviderPools(),
                target: try arguments.targetLevel(), projects: arguments.sourceProjects(in: environment), time: time)
            if let note = job.calendar?.note(at: job.time) { console.note("note: \(note)") }
            let reports = try arguments.reports(in: environment, &console)
            var report = Report(command: "lint", time: job.time, policy: nil)
            report.rules = LintRule.allCases.map(ReportRule.init)
            let (files, problems) =
                arguments.operands.isEmpty
                ? ([Arguments.usualPolicyPath(in: environment)], [])
                : try DirectoryOperand.expanding(
                    arguments.operands, at: time, variables: environment.variables(), job.projects, &console)
            for path in files { job.lint(path, isNamed: !arguments.operands.isEmpty, &report, &console) }
            for problem in problems { LintJob.refuse(problem, &report, &console) }
            let errors = report.entries.count { $0.outcome.isFailure }
            let warnings = report.entries.count { $0.outcome == .warning }
            report.closing = console.closing("\(files.count) linted: errors \(errors), warnings \(warnings)")
            console.summarize(
                report.closing,
                [("files", .integer(files.count)), ("errors", .integer(errors)), ("warnings", .integer(warnings))])
            reports.write(report, &console)
        })

    /// Returns the lines of `pinctl help lint-rules`.
    static func lintRules(columns: Int) -> [String] {
        LintRule.allCases.flatMap { rule in
            tableRow("\(rule.rawValue)  \(rule.severity.rawValue)", width: 13, rule.summary, columns: columns)
        }
    }
}

extension Arguments {
    /// Returns the settings of `--rule`, such as `P011=off`.
    fileprivate func lintSettings() throws(UsageError) -> LintSettings {
        var settings = LintSettings()
        for value in all(.lintRule) {
            let parts = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let rule = LintRule(rawValue: parts[0]) else {
                throw .unknownChoice(.lintRule, parts[0], known: LintRule.allCases.map(\.rawValue))
            }
            let level = parts.count == 2 ? parts[1] : ""
            guard level == "off" || LintFinding.Severity(rawValue: level) != nil else {
                throw .unknownChoice(.lintRule, level, known: ["off"] + LintFinding.Severity.allCases.map(\.rawValue))
            }
            settings.severities.updateValue(LintFinding.Severity(rawValue: level), forKey: rule)
        }
        return settings
    }
}

private struct LintJob {
    let settings: LintSettings
    let dialect: PinDialect?
    /// The calendar that was given, or `nil` to use those that each policy includes.
    let calendar: RootCalendar?
    /// The renewals of `--issuance`, or `nil` without the flag.
    let renewals: [KeyRenewal]?
    /// The roots of providers of certificates.
    let providers: ProviderPools
    /// The API level of Android apps, or `nil` to look for it above each file.
    let target: AndroidTarget?
    let projects: SourceProjects
    let time: Date

    func lint(_ path: String, isNamed: Bool, _ report: inout Report, _ console: inout Console) {
        let title = DialectInput.title(path)
        let bytes: [UInt8]
        do throws(UsageError) {
            bytes = try DialectInput.contents(path)
        } catch {
            let messages =
                isNamed
                ? error.messages : Arguments.messages(error.messages, onUnnamedPolicy: path, "name a FILE")
            return Self.refuse(messages.joined(separator: "; "), path, &report, &console)
        }
        // The default is a policy, also if something in it makes it look like another file.
        // mutant lint-default: dialects(of: bytes, title) by PinctlTests.LintTests/defaultPolicy
        let dialects = isNamed ? dialects(of: bytes, title) : [.policy]
        guard !dialects.isEmpty || !InputReader.holdsKeys(bytes) else {
            let advice = "lint reads policies and other pin files; print the pins with pinctl hash \(path)"
            return Self.refuse("\(title): contains certificates or keys: \(advice)", path, &report, &console)
        }
        // mutant lint-unrecognized: false for 1 by PinctlTests.LintTests/unrecognized
        if dialects.isEmpty, !Self.isNamedAsPolicy(title) {
            let advice = "name it with \(Flag.from.dashed), or see its pins with pinctl find \(path)"
            return Self.refuse("\(title): no dialect is recognized: \(advice)", path, &report, &console)
        }
        // A file of JSON in no other dialect is treated as a policy, possibly a broken one.
        for dialect in dialects.isEmpty ? [.policy] : dialects {
            let part = dialects.count > 1 ? dialect : nil
            lint(
                bytes, path, dialect, named: dialect.title(ofPolicyIn: title, among: dialects), part, &report, &console)
        }
    }

    /// Checks one policy of a file. `part` is its dialect if the file contains several.
    private func lint(
        _ bytes: [UInt8], _ path: String, _ dialect: PinDialect, named subject: String, _ part: PinDialect?,
        _ report: inout Report, _ console: inout Console
    ) {
        let before = report.entries.count
        let mark = part.map { "\($0.title): " } ?? ""
        do throws(PolicyFileError) {
            for finding in try findings(in: bytes, DialectInput.title(path), dialect, &console) {
                let marked = LintFinding(finding.rule, finding.severity, at: finding.location, mark + finding.message)
                let entry = ReportEntry(
                    finding.location, marked.message, finding.rule, of: subject, Severity(finding.severity))
                console.result(
                    [marked.description], entry.json ?? .null, entry.outcome.exitCode)
                report.entries.append(entry)
            }
        } catch {
            if self.dialect == nil, dialect != .policy || !Self.isNamedAsPolicy(DialectInput.title(path)) {
                console.note("note: " + DialectInput.assumption(dialect, path))
            }
            for problem in error.problems {
                // A problem without a line and a rule means that the file itself can't be read.
                guard problem.location.line > 0 || problem.rule != nil else {
                    Self.refuse("\(path): \(mark)\(problem.message)", path, &report, &console)
                    continue
                }
                let word = problem.rule.map { "error[\($0.rawValue)]" } ?? "error:"
                let message = mark + problem.message
                // mutant lint-unloaded: .failed for `.badInput` by ScriptTests InitTests/lint
                let entry = ReportEntry(problem.location, message, problem.rule, of: subject, .badInput)
                console.result(
                    ["\(problem.location): \(word) \(visibleText(message))"], entry.json ?? .null,
                    entry.outcome.exitCode)
                report.entries.append(entry)
            }
        }
        guard report.entries.count == before else { return }
        report.entries.append(
            ReportEntry(
                outcome: .ok, subject: subject, verdict: "ok", finding: "nothing found",
                location: PolicyLocation(path: DialectInput.title(path)), json: nil))
    }

    /// Reports a file that can't be read.
    fileprivate static func refuse(_ problem: PolicyProblem, _ report: inout Report, _ console: inout Console) {
        let location = problem.location
        let message = location.line > 0 ? problem.description : "\(location): \(problem.message)"
        refuse(message, location.path, &report, &console)
    }

    private static func refuse(_ message: String, _ path: String, _ report: inout Report, _ console: inout Console) {
        console.problem(message, .badInput, members: [("file", .string(path))])
        report.entries.append(
            ReportEntry(
                outcome: .badInput, subject: DialectInput.title(path), verdict: "bad_input", finding: message,
                location: PolicyLocation(path: DialectInput.title(path)),
                json: .object([("file", .string(path)), ("error", .string(message))])))
    }

    private func dialects(of bytes: [UInt8], _ title: String) -> [PinDialect] {
        if let dialect { return [dialect] }
        let found = PinDialect.allRecognized(in: bytes)
        // A broken policy may look like another text with pins. JSON without a mistake is what it looks like.
        let isOther = found.contains { ![.envoy, .certspotter].contains($0) }
        let isBroken = !JSONCReader.read(bytes, dialect: .jsonc).problems.isEmpty
        return isOther && isBroken && Self.isNamedAsPolicy(title) ? [.policy] : found
    }

    private static func isNamedAsPolicy(_ title: String) -> Bool {
        title.hasSuffix(".json") || title.hasSuffix(".jsonc")
    }

    /// Returns the API level that the files around an app's config set, if they do.
    private func declaredTarget(around config: String, _ console: inout Console) -> AndroidTarget? {
        let isFile = config != DialectInput.title("-")
        let project = AndroidProject(
            config: config, hasDirectoriesAbove: isFile, read: ReleaseTree.workingTree.optional)
        return project.level(of: config) {
            console.note("note: " + $0)
        }
    }

    private func findings(
        in bytes: [UInt8], _ title: String, _ dialect: PinDialect, _ console: inout Console
    ) throws(PolicyFileError) -> [LintFinding] {
        guard dialect == .policy else {
            let level = dialect == .android ? target ?? declaredTarget(around: title, &console) : nil
            return try dialect.read(bytes, path: title, target: level, project: projects.project(of: title)).lint(
                bytes, path: title, at: time, settings: settings, calendar: calendar ?? RootCalendar(),
                renewals: renewals)
        }
        let file = try PolicyFile.reading(bytes, path: title, allowsNamesAlone: true)
        let calendar: RootCalendar
        if let given = self.calendar { calendar = given } else { calendar = try RootCalendar(of: file) }
        if self.calendar == nil, let note = calendar.note(at: time) { console.note("note: \(note)") }
        console.note(of: file)
        for note in file.providers.compactMap({ providers[$0]?.agingNote(at: time) }) { console.note("note: \(note)") }
        if let first = file.filesOutsideBundle.first {
            console.note(
                "note: \(title): pins come from files that the bundle doesn't contain (\(first)), so they aren't "
                    + "compared with them: lint the policy that the bundle was made from")
        }
        let ending = file.bundle?.expiryWarning(at: time, within: .usual)
        var others = [ending].compactMap(\.self).map {
            LintFinding(.expiry, .warning, at: PolicyLocation(path: title, line: 1, column: 1), $0)
        }
        if !file.exports.isEmpty {
            let policy = Result { () throws(UsageError) in try DialectInput(title, bytes, .policy) }
            others += file.exports.compactMap { drift(of: $0, policy) }
        }
        return file.lint(
            at: time, settings: settings, calendar: calendar, renewals: renewals, providers: providers,
            besides: others)
    }

    /// Returns a finding if an exported file differs from the policy.
    private func drift(of export: PolicyExport, _ policy: Result<DialectInput, UsageError>) -> LintFinding? {
        func finding(_ message: String) -> LintFinding { LintFinding(.exportDrift, at: export.location, message) }
        let exported: ExportedFile
        do throws(UsageError) {
            exported = try ExportedFile(export)
        } catch {
            return finding(error.messages.first ?? "")
        }
        let file = quoted(exported.path)
        do throws(UsageError) {
            let job = try ExportJob(try policy.get(), to: exported.dialect, host: exported.host, at: time, projects)
            if let refusal = job.refusal { return finding("\(file) cannot express this policy: \(refusal.message)") }
            if let first = try job.differences(in: exported.path).first {
                let remedy = job.remedy(for: exported.path, accepting: exported.accepted)
                return finding("\(file) differs from the policy (\(first)): \(remedy)")
            }
            let losses = job.losses(besides: exported.accepted)
            guard exported.accepted != nil, let first = losses.first else { return nil }
            return finding(
                "\(file) differs from the policy (\(first.change.rawValue): \(first.message)) in ways that \"allow\" "
                    + "does not list: \(ExportJob.acceptance(of: losses))")
        } catch {
            let reason = error.messages.first ?? ""
            // An existing file that can't be read may be what an app ships. A missing one may be generated later.
            let exists = FileManager.default.fileExists(atPath: exported.path)
            return LintFinding(
                .exportDrift, exists ? .error : .warning, at: export.location,
                "the policy cannot be compared with its export: \(reason)")
        }
    }
}

extension ReportEntry {
    /// Creates the entry of a finding at a position. `rule` is `nil` if the file couldn't be parsed.
    fileprivate init(
        _ location: PolicyLocation, _ message: String, _ rule: LintRule?, of subject: String, _ severity: Severity
    ) {
        self.init(
            outcome: severity, subject: subject,
            variant: "\(location.line):\(location.column)", verdict: rule?.rawValue ?? "syntax", finding: message,
            location: location,
            json: .object(
                [
                    ("file", .string(location.path)), ("line", .integer(location.line)),
                    ("column", .integer(location.column)), ("severity", .string(severity.level)),
                ] + (rule.map { [("rule", .string($0.rawValue))] } ?? []) + [("message", .string(message))]))
    }
}

extension ReportRule {
    fileprivate init(_ rule: LintRule) {
        self.init(
            identifier: rule.rawValue, summary: rule.summary,
            help:
                "Each finding says what to do. A comment \"pinctl-allow \(rule.rawValue): REASON\" on its line or the "
                + "one before suppresses it, and --rule \(rule.rawValue)=off suppresses all of them.",
            isWarning: Severity(rule.severity) == .warning)
    }
}
