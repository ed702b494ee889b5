import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The help, generated from the tables of commands and flags.
enum HelpText {
    /// The number of columns to use without a terminal.
    static let usualColumns = 80

    /// The purpose of pinctl, for the help and the man page.
    static let summary = "compute, check and convert the pins of TLS certificates"

    /// The lines of `pinctl --help`, which fit a terminal of 24 rows with the prompt below them.
    static var overview: [String] {
        [
            "pinctl \(Version.current): \(summary)",
            "usage: pinctl COMMAND [FLAG…] [OPERAND…], or pinctl --version",
        ] + table + [""] + CommandDefinition.show.examples.prefix(1).map(\.line) + [""] + further
    }

    /// The lines after the error of a command line without a command. They fit the same terminal.
    static var commands: [String] { table + [""] + further }

    private static var table: [String] {
        let width = CommandDefinition.all.map(\.name.count).max() ?? 0
        return CommandDefinition.all.map { "  \(padded($0.name, width))  \($0.summary)" }
    }

    private static var further: [String] {
        ["pinctl COMMAND -h lists the flags of a command, and --help explains them."]
            + folded(
                "pinctl help TOPIC: \(HelpTopic.all.map(\.name).joined(separator: ", "))", columns: usualColumns)
    }

    /// Returns the lines of an example: its purpose as comments of a shell, and the command line.
    private static func lines(
        of example: (purpose: String, line: String), columns: Int, indent: Int
    ) -> [String] {
        let margin = String(repeating: " ", count: indent)
        return folded(example.purpose, columns: columns - indent - 2).map { "\(margin)# \($0)" }
            + foldedCommand(example.line, columns: columns - indent).map { margin + $0 }
    }

    /// Returns the lines of `pinctl COMMAND -h`, with a line for each flag.
    static func short(_ command: CommandDefinition) -> [String] {
        // The description of a long flag goes on the next line, so that it doesn't widen the column for all others.
        let width = min(26, command.allFlags.map(\.spelling.count).max() ?? 0)
        var lines = heading(command, columns: usualColumns)
        for (category, flags) in command.flagsByCategory {
            lines += ["", "\(category.rawValue):"]
            for flag in flags {
                lines += tableRow("  " + flag.spelling, width: width + 2, flag.sentence, columns: usualColumns)
            }
        }
        return lines + ["", "See pinctl \(command.name) --help for details."]
    }

    /// Returns the lines of `pinctl COMMAND --help`, with all information about a command.
    static func long(_ command: CommandDefinition, columns: Int) -> [String] {
        var lines = heading(command, columns: columns)
        for paragraph in command.paragraphs { lines += [""] + paragraph.lines(columns: columns, indent: 0) }
        for (category, flags) in command.flagsByCategory {
            lines += ["", "\(category.rawValue):"]
            for flag in flags {
                lines += ["  \(flag.spelling)"]
                for text in flag.explanation {
                    lines += folded(text, columns: columns - 8).map { "        \($0)" }
                }
            }
        }
        if !command.examples.isEmpty { lines += ["", "examples:"] }
        for example in command.examples { lines += Self.lines(of: example, columns: columns, indent: 2) }
        return lines + [""] + folded("See pinctl help exit-codes for the exit codes.", columns: columns)
    }

    private static func heading(_ command: CommandDefinition, columns: Int) -> [String] {
        folded("pinctl \(command.name): \(command.summary)", columns: columns) + [""]
            + folded("usage: \(command.usage)", columns: columns)
    }
}

extension CommandDefinition {
    /// The usage line, such as `pinctl hash [FLAG…] FILE…`.
    var usage: String { "pinctl \(name) [FLAG…] \(operands)" }

    /// The flags grouped by heading.
    var flagsByCategory: [(category: Flag.Category, flags: [Flag])] {
        Flag.Category.allCases.compactMap { category in
            let flags = allFlags.filter { $0.category == category }
            return flags.isEmpty ? nil : (category, flags)
        }
    }

    /// The notes as paragraphs.
    var paragraphs: [HelpParagraph] { HelpParagraph.all(in: notes) }
}

extension Flag {
    /// The flag in the help, such as `-l, --long` or `    --as FORMAT`.
    var spelling: String {
        (short.map { "-\($0), " } ?? "    ") + dashed + (valueName.map { " \($0)" } ?? "")
    }

    /// The one-line description in the help.
    fileprivate var sentence: String { help + (isRepeatable ? "; may be repeated" : "") }

    /// The description, the possible values if the description doesn't list them, and the details.
    var explanation: [String] {
        var texts = [sentence]
        let choices = choices
        if let valueName, !choices.allSatisfy(help.contains) {
            texts.append("\(valueName): \(choices.joined(separator: ", "))")
        }
        if !details.isEmpty { texts.append(details) }
        return texts
    }
}

/// Returns the text padded with spaces to `width` columns.
func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.width))
}
