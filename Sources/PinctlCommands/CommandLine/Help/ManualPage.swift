/// The man pages in man(7) macros, generated from the tables of commands and flags: pinctl(1) and one for each command.
enum ManualPage {
    /// The page pinctl(1).
    static var overview: [String] {
        var lines = title("pinctl", HelpText.summary)
        lines += [".SH SYNOPSIS", ".B pinctl", plain("COMMAND [FLAG…] [OPERAND…]")]
        lines += [".SH DESCRIPTION"]
        lines += paragraph(
            "pinctl prints the pins of certificates and keys, checks servers and chains against a pinning policy, "
                + "finds pins that will lock clients out, and converts pins from and to the files that apps ship."
        )
        lines += paragraph(
            "Only results are written to standard output. Errors and notes are written to standard error.")
        lines += [".SH COMMANDS"]
        for command in CommandDefinition.all {
            lines += [".TP", ".BR \(word("pinctl-\(command.name)")) (1)"] + text(command.summary)
        }
        lines += [".SH FLAGS OF ALL COMMANDS"]
        lines += [Flag.json, .ndjson, .quiet, .color, .help].flatMap(entry)
        lines += [".SH TOPICS", ".B pinctl help", "prints the help of a command, or one of these topics:"]
        for topic in HelpTopic.all { lines += [".TP", ".B " + word(topic.usage)] + text(topic.summary) }
        lines += [".SH TARGETS"] + verbatim(Target.grammar(columns: HelpText.usualColumns))
        lines += closing(examples: CommandDefinition.all.compactMap(\.examples.first))
        return tidied(lines + seeAlso(CommandDefinition.all.map { "pinctl-\($0.name)" }))
    }

    /// Returns the page of a command, such as pinctl-hash(1).
    static func page(of command: CommandDefinition) -> [String] {
        var lines = title("pinctl-\(command.name)", command.summary)
        lines += [".SH SYNOPSIS", ".B " + word("pinctl \(command.name)"), plain("[FLAG…] \(command.operands)")]
        lines += [".SH DESCRIPTION"]
        if command.paragraphs.isEmpty { lines += paragraph("Use it to \(command.summary).") }
        for part in command.paragraphs {
            switch part {
            case .words(let text): lines += paragraph(text)
            case .verbatim(let held): lines += verbatim(held)
            }
        }
        lines += [".SH FLAGS"]
        for (category, flags) in command.flagsByCategory {
            if category != .command { lines.append(".SS " + plain(category.rawValue.capitalizedWord)) }
            lines += flags.flatMap(entry)
        }
        return tidied(lines + closing(examples: command.examples) + seeAlso(["pinctl"]))
    }

    /// Removes paragraph breaks directly after a heading, which starts a paragraph itself.
    private static func tidied(_ lines: [String]) -> [String] {
        lines.indices.filter { $0 == 0 || lines[$0] != ".PP" || !lines[$0 - 1].hasPrefix(".SH ") }.map { lines[$0] }
    }

    private static func title(_ name: String, _ summary: String) -> [String] {
        [
            ".TH \(word(name.uppercased())) 1 \(Version.released) \"pinctl \(Version.current)\"",
            ".SH NAME", "\(word(name)) \\- \(plain(summary))",
        ]
    }

    private static func entry(_ flag: Flag) -> [String] {
        let spellings = (flag.short.map { ["-\($0)"] } ?? []) + [flag.dashed]
        let value = flag.valueName.map { " \\fI\(word($0))\\fR" } ?? ""
        return [".TP", spellings.map { "\\fB\(word($0))\\fR" }.joined(separator: ", ") + value]
            + flag.explanation.enumerated().flatMap { ($0.offset == 0 ? [] : [".br"]) + text($0.element) }
    }

    private static func closing(examples: [(purpose: String, line: String)]) -> [String] {
        var lines = [".SH EXIT STATUS"]
        for (status, meaning) in ExitCode.statuses { lines += [".TP", ".B \(status)"] + text(meaning) }
        lines += paragraph("If several apply, the order of precedence is 2, 1, 4, 3, 0.")
        lines += [".SH ENVIRONMENT"]
        for variable in EnvironmentVariable.all {
            lines += [".TP", ".B " + word(variable.name)] + text(variable.meaning)
        }
        lines += [".SH FILES", ".TP", ".I pins/pins.jsonc", "The default policy."]
        lines += [".TP", ".I /etc/ssl/certs", "The system roots."]
        guard !examples.isEmpty else { return lines }
        lines += [".SH EXAMPLES"]
        for example in examples {
            lines += [".TP", plain(example.purpose)]
            let command = foldedCommand(example.line, columns: 64).map { ".B \"" + word($0) + "\"" }
            lines += command.enumerated().flatMap { ($0.offset == 0 ? [] : [".br"]) + [$0.element] }
        }
        return lines
    }

    private static func seeAlso(_ pages: [String]) -> [String] {
        let last = pages.count - 1
        return [".SH SEE ALSO"]
            + pages.enumerated().map { ".BR \(word($0.element)) (1)" + ($0.offset == last ? "" : ",") }
    }

    private static func paragraph(_ text: String) -> [String] { [".PP"] + self.text(text) }

    /// Returns a text in lines of at most 72 columns, as in pages written by hand.
    private static func text(_ text: String) -> [String] { folded(text, columns: 72).map(plain) }

    private static func verbatim(_ lines: [String]) -> [String] { [".PP", ".EX"] + lines.map(plain) + [".EE"] }

    /// Escapes text so that no character is a request. Hyphens stay ASCII hyphens, and non-ASCII characters are written
    /// by number.
    private static func plain(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "…": result += "..."
            case "→": result += "\\->"
            default:
                if scalar.isASCII {
                    result.unicodeScalars.append(scalar)
                } else {
                    let digits = String(scalar.value, radix: 16, uppercase: true)
                    result += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
                }
            }
        }
        return result.hasPrefix(".") || result.hasPrefix("'") ? "\\&" + result : result
    }

    /// Escapes text for the argument of a request, where a quote would start a quoted argument.
    private static func word(_ text: String) -> String { plain(text).replacing("\"", with: "\\(dq") }
}

extension String {
    /// The text with its first letter in upper case.
    fileprivate var capitalizedWord: String { prefix(1).uppercased() + dropFirst() }
}
