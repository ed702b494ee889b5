extension Completion {
    /// The script for fish: a call of `complete` for each possible word.
    static var fish: [String] {
        var lines = [
            "# Completion of pinctl for fish. Printed by: pinctl help completion fish", "",
            "# Succeeds for this command.",
            "function __pinctl_command",
            "    set -l words (commandline -opc)",
            "    test (count $words) -ge 2; and test \"$words[2]\" = \"$argv[1]\"",
            "end", "",
            "# Succeeds if the words before this one are exactly these.",
            "function __pinctl_words",
            "    set -l words (commandline -opc)",
            "    test \"$words[2..-1]\" = \"$argv\"",
            "end", "",
            "complete -c pinctl -f",
        ]
        for command in CommandDefinition.all + [] {
            lines.append("complete -c pinctl -n __pinctl_words -a \(command.name) -d \(quoted(command.summary))")
        }
        lines.append("complete -c pinctl -n __pinctl_words -a help -d 'print the help of a command or a topic'")
        for command in CommandDefinition.all {
            let condition = "-n '__pinctl_command \(command.name)'"
            lines += [
                "",
                "complete -c pinctl \(condition) "
                    + "\(Operand(of: command) == .files ? "-F" : "-a '(__fish_print_hostnames)'")",
            ]
            for flag in command.allFlags {
                let letter = flag.short.map { " -s \($0)" } ?? ""
                let value = flag.value.map { " " + completed($0) } ?? ""
                lines.append("complete -c pinctl \(condition)\(letter) -l \(flag.long)\(value) -d \(quoted(flag.help))")
            }
        }
        lines.append("")
        for topic in HelpTopic.all {
            lines.append("complete -c pinctl -n '__pinctl_words help' -a \(topic.name) -d \(quoted(topic.summary))")
            guard !topic.words.isEmpty else { continue }
            let words = quoted(topic.words.joined(separator: " "))
            lines.append("complete -c pinctl -n '__pinctl_words help \(topic.name)' -a \(words)")
        }
        for command in CommandDefinition.all {
            lines.append("complete -c pinctl -n '__pinctl_words help' -a \(command.name) -d \(quoted(command.summary))")
        }
        return lines
    }

    private static func completed(_ value: Flag.Value) -> String {
        switch value {
        case .text: "-x"
        case .file: "-r -F"
        case .directory: "-x -a '(__fish_complete_directories (commandline -ct))'"
        case .choice(_, let words): "-x -a \(quoted(words().joined(separator: " ")))"
        case .beginning(_, let words): "-x -a \(quoted(words.joined(separator: " ")))"
        }
    }

    /// Quotes a text for fish, where a backslash escapes quotes and backslashes.
    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
