import CertificatePinning

extension CommandDefinition {
    static let lint = CommandDefinition(
        name: "lint", summary: "say what is wrong with policy files", operands: "[FILE…]", operandCount: 0...Int.max,
        flags: [],
        notes: [
            "Without FILE, the policy of the environment variable PINCTL_POLICY, else",
            "pins/pins.jsonc. Errors make exit code 1, warnings do not.",
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            var tally = (errors: 0, warnings: 0)
            let files = arguments.operands.isEmpty ? [Arguments.usualPolicyPath(in: environment)] : arguments.operands
            for path in files { lint(path, &tally, &console) }
            console.summarize(
                "\(files.count) linted: errors \(tally.errors), warnings \(tally.warnings)",
                [
                    ("files", .integer(files.count)), ("errors", .integer(tally.errors)),
                    ("warnings", .integer(tally.warnings)),
                ])
        })

    private static func lint(_ path: String, _ tally: inout (errors: Int, warnings: Int), _ console: inout Console) {
        do throws(PolicyFileError) {
            for finding in try PolicyFile(contentsOfFile: path).lint() {
                switch finding.severity {
                case .error: tally.errors += 1
                default: tally.warnings += 1
                }
                console.result(
                    [finding.description],
                    json(finding.location, finding.message, severity: finding.severity.rawValue, finding.rule.rawValue),
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
                console.result(
                    [problem.description], json(problem.location, problem.message, severity: "error"), .finding)
            }
        }
    }

    private static func json(
        _ location: PolicyLocation, _ message: String, severity: String, _ rule: String? = nil
    ) -> JSON {
        .object(
            [
                ("file", .string(location.path)), ("line", .integer(location.line)),
                ("column", .integer(location.column)), ("severity", .string(severity)),
            ] + (rule.map { [("rule", .string($0))] } ?? []) + [("message", .string(message))])
    }
}
