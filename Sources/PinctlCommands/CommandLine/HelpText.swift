import PinDialects

/// The help, made from the tables of commands and flags.
enum HelpText {
    /// `pinctl --help`.
    static var overview: [String] {
        let width = CommandDefinition.all.map(\.name.count).max() ?? 0
        return [
            "pinctl \(Version.current): pins of TLS certificates, and whether servers still match them", "",
            "usage: pinctl COMMAND [FLAG…] [OPERAND…]", "",
        ]
            + CommandDefinition.all.map { "  \(padded($0.name, width))  \($0.summary)" } + [
                "",
                "pinctl COMMAND --help   the flags of a command",
                "pinctl help TOPIC       \(topics.map(\.name).joined(separator: ", "))",
                "pinctl --version        the version",
            ]
    }

    /// `pinctl COMMAND --help`.
    static func lines(for command: CommandDefinition) -> [String] {
        let columns = command.allFlags.map(column)
        let width = columns.map(\.count).max() ?? 0
        return [
            "pinctl \(command.name): \(command.summary)", "",
            "usage: pinctl \(command.name) [FLAG…] \(command.operands)", "",
        ]
            + zip(command.allFlags, columns).map { flag, column in
                "  \(padded(column, width))  \(flag.help)\(flag.isRepeatable ? "; may be repeated" : "")"
            }
            + (command.notes.isEmpty ? [] : [""] + command.notes)
    }

    /// What `pinctl help` knows besides the commands.
    static let topics: [(name: String, lines: [String])] = [
        (
            "exit-codes",
            ExitCode.allCases.map { "\(padded(String($0.rawValue), 3))  \($0.meaning)" } + [
                "", "Of several outcomes the first of 2, 1, 4, 3, 0 is told. A closed pipe ends quietly.",
            ]
        ),
        ("verdicts", VerdictWord.lines), ("targets", Target.grammar), ("lint-rules", CommandDefinition.lintRules),
        ("dialects", dialects),
    ]

    /// `pinctl help dialects`.
    private static let dialects =
        PinDialect.allCases.map { dialect in
            let ways = dialect == .swift ? "written" : dialect.isPartOfFiles ? "read, written, --into" : "read, written"
            return "\(padded(dialect.rawValue, 8))  \(padded(ways, 21))  \(dialect.title)"
        } + [
            "", "Changes that a conversion can tell, for --allow:",
        ] + ConversionChange.allCases.filter { $0 != .quirk }.map { "  \($0.rawValue)" }

    private static func column(_ flag: Flag) -> String {
        let short = flag.short.map { "-\($0), " } ?? "    "
        return short + flag.dashed + (flag.valueName.map { " \($0)" } ?? "")
    }
}

/// `text` and spaces up to `width` characters.
func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}
