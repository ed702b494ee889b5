import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

extension CommandDefinition {
    static let lint = CommandDefinition(
        name: "lint", summary: "say what is wrong with files of pins", operands: "[FILE…]",
        operandCount: 0...Int.max, flags: [.from, .lintRule, .at],
        notes: [
            "FILE is a policy or any other dialect, found by what stands in it. Without FILE, the",
            "policy of the environment variable PINCTL_POLICY, else pins/pins.jsonc. Errors make",
            "exit code 1, warnings do not. A comment pinctl-allow P011: REASON takes back what rule",
            "P011 finds on its line and the next. The rules: pinctl help lint-rules.",
        ],
        examples: [
            ("the policy of this folder", "pinctl lint"),
            (
                "what an app ships, without one of the rules",
                "pinctl lint --rule P011=off app/src/main/res/xml/network_security_config.xml"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let job = LintJob(
                settings: try arguments.lintSettings(), dialect: try arguments.dialect(.from),
                time: try arguments.time(in: environment))
            var tally = (errors: 0, warnings: 0)
            let files = arguments.operands.isEmpty ? [Arguments.usualPolicyPath(in: environment)] : arguments.operands
            for path in files { job.lint(path, &tally, &console) }
            console.summarize(
                "\(files.count) linted: errors \(tally.errors), warnings \(tally.warnings)",
                [
                    ("files", .integer(files.count)), ("errors", .integer(tally.errors)),
                    ("warnings", .integer(tally.warnings)),
                ])
        })

    /// `pinctl help lint-rules`.
    static let lintRules = LintRule.allCases.map { rule in
        "\(rule.rawValue)  \(padded(rule.severity.rawValue, 7))  \(rule.summary)"
    }
}

extension Arguments {
    /// `--rule P011=off`.
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
    let time: Date

    func lint(_ path: String, _ tally: inout (errors: Int, warnings: Int), _ console: inout Console) {
        let bytes: [UInt8]
        do throws(UsageError) {
            bytes = try DialectInput.contents(path)
        } catch {
            for message in error.messages {
                tally.errors += 1
                console.problem(message, .badInput, members: [("file", .string(path))])
            }
            return
        }
        do throws(PolicyFileError) {
            for finding in try findings(in: bytes, DialectInput.title(path), &console) {
                switch finding.severity {
                case .error: tally.errors += 1
                default: tally.warnings += 1
                }
                console.result(
                    [finding.description],
                    Self.json(finding.location, finding.message, severity: finding.severity.rawValue, finding.rule),
                    finding.severity == .error ? .finding : .good)
            }
        } catch {
            for problem in error.problems {
                tally.errors += 1
                // Without a line it is the file itself that cannot be read.
                guard problem.location.line > 0 else {
                    console.problem("\(path): \(problem.message)", .badInput, members: [("file", .string(path))])
                    continue
                }
                let mark = problem.rule.map { "error[\($0.rawValue)]" } ?? "error:"
                console.result(
                    ["\(problem.location): \(mark) \(visibleText(problem.message))"],
                    Self.json(problem.location, problem.message, severity: "error", problem.rule), .finding)
            }
        }
    }

    private func findings(
        in bytes: [UInt8], _ title: String, _ console: inout Console
    ) throws(PolicyFileError) -> [LintFinding] {
        // What is nothing else is a broken policy.
        let isPolicy = title.hasSuffix(".json") || title.hasSuffix(".jsonc")
        let dialect = dialect ?? (isPolicy ? .policy : PinDialect.recognized(in: bytes)) ?? .policy
        guard dialect == .policy else {
            let reading = try dialect.read(bytes, path: title)
            // What its own system passes over is not among the rules, and no finding.
            for note in reading.notes { console.note(note.description) }
            return reading.policy.lint(bytes, path: title, at: time, settings: settings)
        }
        let file = try PolicyFile(bytes: bytes, path: title)
        return file.lint(at: time, settings: settings, besides: file.exports.compactMap { drift(of: $0, bytes, title) })
    }

    /// What an exported file says otherwise than its policy; nil when nothing.
    private func drift(of export: PolicyExport, _ policy: [UInt8], _ title: String) -> LintFinding? {
        guard let target = PinDialect(rawValue: export.target) else {
            let known = alternatives(PinDialect.allCases.map(\.rawValue))
            return LintFinding(
                .exportDrift, at: export.location, "no dialect is called \(quoted(export.target)): write \(known)")
        }
        do throws(UsageError) {
            let job = try ExportJob(DialectInput(title, policy, .policy), to: target, host: nil, at: time)
            let differences = try job.differences(in: export.file)
            guard let first = differences.first else { return nil }
            return LintFinding(
                .exportDrift, at: export.location,
                "\(quoted(export.file)) says something else (\(first)): \(job.remedy(for: export.file))")
        } catch {
            let reason = error.messages.first ?? ""
            return LintFinding(
                .exportDrift, .warning, at: export.location, "the policy cannot be held against its export: \(reason)")
        }
    }

    private static func json(
        _ location: PolicyLocation, _ message: String, severity: String, _ rule: LintRule?
    ) -> JSON {
        .object(
            [
                ("file", .string(location.path)), ("line", .integer(location.line)),
                ("column", .integer(location.column)), ("severity", .string(severity)),
            ] + (rule.map { [("rule", .string($0.rawValue))] } ?? []) + [("message", .string(message))])
    }
}
