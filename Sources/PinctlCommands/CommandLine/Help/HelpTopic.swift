import CertificatePinning
import CertificateTrust
import PinDialects

/// A topic of `pinctl help` that isn't a command.
struct HelpTopic: Sendable {
    let name: String
    /// The operand after the name as shown in the help, empty if there is none.
    var operand = ""
    /// A one-line summary in lower case.
    let summary: String
    /// The possible operands, for completion.
    var words: [String] = []
    let text: @Sendable (_ operand: String?, _ columns: Int) throws(UsageError) -> [String]

    var usage: String { operand.isEmpty ? name : "\(name) \(operand)" }

    static func named(_ name: String) -> HelpTopic? { all.first { $0.name == name } }

    static let all: [HelpTopic] = [
        HelpTopic(name: "topics", summary: "list these topics") { (_, columns) throws(UsageError) in
            all.flatMap { tableRow("pinctl help \($0.usage)", width: 28, $0.summary, columns: columns) }
        },
        HelpTopic(name: "exit-codes", summary: "what each exit code means") {
            (_, columns) throws(UsageError) in exitCodes(columns)
        },
        HelpTopic(name: "verdicts", summary: "what each verdict of check means, and what to do") {
            (_, columns) throws(UsageError) in
            VerdictWord.lines(columns: columns) + CheckWarning.lines(columns: columns)
        },
        HelpTopic(name: "targets", summary: "how to write a server as an operand") { (_, columns) throws(UsageError) in
            Target.grammar(columns: columns)
        },
        HelpTopic(name: "lint-rules", summary: "what pinctl lint checks for") { (_, columns) throws(UsageError) in
            CommandDefinition.lintRules(columns: columns)
        },
        HelpTopic(name: "dialects", summary: "the pin formats that pinctl reads and writes") {
            (_, columns) throws(UsageError) in dialects(columns)
        },
        HelpTopic(name: "environment", summary: "the environment variables that pinctl reads") {
            (_, columns) throws(UsageError) in
            EnvironmentVariable.all.flatMap { variable in
                [variable.name] + folded(variable.meaning, columns: columns - 8).map { "        \($0)" }
            }
        },
        HelpTopic(name: "schema", summary: "print the JSON Schema of policy files") { (_, _) throws(UsageError) in
            lines(of: PackageResources.policy_schema_json)
        },
        HelpTopic(name: "results", summary: "print the JSON Schema of --json and --ndjson") {
            (_, _) throws(UsageError) in
            lines(of: PackageResources.results_schema_json)
        },
        HelpTopic(
            name: "completion", operand: "SHELL", summary: "print the completion script for bash, zsh or fish",
            words: Completion.shells.map(\.name)
        ) { (operand, _) throws(UsageError) in
            let known = Completion.shells.map(\.name).joined(separator: ", ")
            guard let operand else { throw .unusable(["help completion needs a shell: use one of \(known)"]) }
            guard let shell = Completion.shells.first(where: { $0.name == operand }) else {
                throw .unusable(["no completion for \"\(operand)\": use one of \(known)"])
            }
            return shell.script()
        },
        HelpTopic(
            name: "man", operand: "[COMMAND]", summary: "print the man page of pinctl or of a command",
            words: CommandDefinition.all.map(\.name)
        ) { (operand, _) throws(UsageError) in
            guard let operand else { return ManualPage.overview }
            guard let command = CommandDefinition.named(operand) else { throw .unknownCommand(operand) }
            return ManualPage.page(of: command)
        },
    ]

    private static func lines(of file: [UInt8]) -> [String] {
        String(decoding: file, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map(String.init)
    }

    /// Returns the lines of `pinctl help exit-codes`.
    private static func exitCodes(_ columns: Int) -> [String] {
        ExitCode.statuses.flatMap { status, meaning in
            tableRow("\(status)", width: 3, meaning, columns: columns)
        } + [
            "",
            "If several apply, the order of precedence is 2, 1, 4, 3, 0.",
            "A signal ends pinctl at once, which leaves a JSON document incomplete.",
            "With Ctrl-C, check first prints what is known, and completes the document.",
        ]
    }

    /// Returns the lines of `pinctl help dialects`.
    private static func dialects(_ columns: Int) -> [String] {
        PinDialect.allCases.flatMap { dialect in
            let ways =
                dialect.isPartOfFiles
                ? "read, written, --into" : PinDialect.written.contains(dialect) ? "read, written" : "read"
            return tableRow(
                "\(padded(dialect.rawValue, 11))  \(ways)", width: 34, dialect.title, columns: columns)
        } + [
            "", "Changes that a conversion can report, for --allow:",
        ]
            + ConversionChange.allCases.filter { $0 != .quirk }.flatMap { change in
                tableRow("  \(change.rawValue)", width: 19, change.meaning, columns: columns)
            }
    }
}

extension ConversionChange {
    /// The effect on the pins in one line.
    fileprivate var meaning: String {
        switch self {
        case .scopeWidened: "more hosts are pinned"
        case .scopeNarrowed: "fewer hosts are pinned"
        case .combinationChanged: "overlapping rules combine differently, or are merged"
        case .roleLost: "a pin counts at other positions, needs a trusted chain, or is left out because of its role"
        case .requirementLost: "one match is enough where several were required, or a required role has no pin left"
        case .requirementAdded: "a match in each of several roles is required where one was enough"
        case .expiryLost: "a rule never expires"
        case .expiryZone: "a rule expires at another time, such as midnight in another time zone"
        case .expiryEffect: "the effect of an expired rule changes"
        case .modeLost: "a rule that only reported mismatches refuses them"
        case .backupMissing: "the target requires more pins, such as a backup; never written"
        case .backupsOnly: "only backup pins could match, whose keys no server uses; never written"
        case .reportsLost: "failures are reported to fewer addresses, or to none"
        case .anchorsLost: "the system's roots replace a rule's own, or no longer bypass the pins"
        case .transparencyLost: "a rule's setting for Certificate Transparency is left out"
        case .portsLost: "a rule applies to every port"
        case .denyLost: "denied keys are accepted"
        case .unlistedLost: "hosts without a rule are accepted"
        case .digestLost: "a pin is left out: the target lacks its digest, or it has the wrong length"
        case .certificatePin: "a pin of a certificate is left out, because the target pins only keys"
        case .exclusionForm: "an excluded host is pinned, or a rule that refuses every server can't be expressed"
        case .splitLost: "hosts, rules or pins that the target can't express, or that --into removes from its file"
        case .quirk: "the source's own system ignores a setting, or reads it differently from how it looks"
        }
    }
}
