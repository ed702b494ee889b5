import CertificatePinning
import CertificateTrust
import PinDialects

/// What `pinctl help` knows besides the commands. None of them is a command: they do nothing.
struct HelpTopic: Sendable {
    let name: String
    /// What may follow the name, as the help shows it; empty when nothing may.
    var operand = ""
    /// One line, lower case.
    let summary: String
    /// The words that may follow, for completion.
    var words: [String] = []
    let text: @Sendable (_ operand: String?, _ columns: Int) throws(UsageError) -> [String]

    var usage: String { operand.isEmpty ? name : "\(name) \(operand)" }

    static func named(_ name: String) -> HelpTopic? { all.first { $0.name == name } }

    static let all: [HelpTopic] = [
        HelpTopic(name: "exit-codes", summary: "how a run ends, and what that means") {
            (_, _) throws(UsageError) in exitCodes
        },
        HelpTopic(name: "verdicts", summary: "what check says of a server") { (_, _) throws(UsageError) in
            VerdictWord.lines
        },
        HelpTopic(name: "targets", summary: "how a server is named") { (_, _) throws(UsageError) in Target.grammar },
        HelpTopic(name: "lint-rules", summary: "what pinctl lint looks for") { (_, _) throws(UsageError) in
            CommandDefinition.lintRules
        },
        HelpTopic(name: "dialects", summary: "the formats of pins that are read and written") {
            (_, _) throws(UsageError) in dialects
        },
        HelpTopic(name: "environment", summary: "the environment variables that are read") {
            (_, columns) throws(UsageError) in
            EnvironmentVariable.all.flatMap { variable in
                [variable.name] + folded(variable.meaning, columns: columns - 8).map { "        \($0)" }
            }
        },
        HelpTopic(name: "schema", summary: "print the JSON Schema of policy files") { (_, _) throws(UsageError) in
            String(decoding: PackageResources.policy_schema_json, as: UTF8.self)
                .split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        },
        HelpTopic(
            name: "completion", operand: "SHELL", summary: "print the completion for bash, zsh or fish",
            words: Completion.shells.map(\.name)
        ) { (operand, _) throws(UsageError) in
            let known = Completion.shells.map(\.name).joined(separator: ", ")
            guard let operand else { throw .unusable(["help completion needs a shell: one of \(known)"]) }
            guard let shell = Completion.shells.first(where: { $0.name == operand }) else {
                throw .unusable(["no completion for \"\(operand)\": one of \(known)"])
            }
            return shell.script()
        },
        HelpTopic(
            name: "man", operand: "[COMMAND]", summary: "print a man page: of pinctl, or of a command",
            words: CommandDefinition.all.map(\.name)
        ) { (operand, _) throws(UsageError) in
            guard let operand else { return ManualPage.overview }
            guard let command = CommandDefinition.named(operand) else { throw .unknownCommand(operand) }
            return ManualPage.page(of: command)
        },
    ]

    /// `pinctl help exit-codes`.
    private static let exitCodes =
        ExitCode.allCases.map { "\(padded(String($0.rawValue), 3))  \($0.meaning)" } + [
            "",
            "Of several outcomes the first of 2, 1, 4, 3, 0 is told. A closed pipe ends quietly.",
            "A signal ends at once: what was printed stays, and a JSON document has no end.",
        ]

    /// `pinctl help dialects`.
    private static let dialects =
        PinDialect.allCases.map { dialect in
            let ways = dialect == .swift ? "written" : dialect.isPartOfFiles ? "read, written, --into" : "read, written"
            return "\(padded(dialect.rawValue, 8))  \(padded(ways, 21))  \(dialect.title)"
        } + [
            "", "Changes that a conversion can tell, for --allow:",
        ] + ConversionChange.allCases.filter { $0 != .quirk }.map { "  \($0.rawValue)" }
}
