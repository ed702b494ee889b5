extension Completion {
    /// The script for zsh: a function for `compdef`, to be placed in `fpath` or sourced.
    static var zsh: [String] {
        var lines = [
            "#compdef pinctl",
            "# Completion of pinctl for zsh. Printed by: pinctl help completion zsh", "",
            "_pinctl() {",
            "    local -a commands topics",
            "    if ((CURRENT == 2)); then",
            "        commands=(",
        ]
        lines += CommandDefinition.all.map { "            " + shellQuoted("\($0.name):\($0.summary)") }
        lines += [
            "            'help:print the help of a command or a topic'",
            "        )",
            "        _describe -t commands command commands",
            "        return",
            "    fi",
            "    local command=$words[2]",
            "    shift words",
            "    ((CURRENT--))",
            "    case $command in",
        ]
        for command in CommandDefinition.all {
            lines += ["        \(command.name))", "            _arguments -s -S : \\"]
            lines += command.allFlags.map { "                \(specification($0)) \\" }
            let action = Operand(of: command) == .files ? "_files" : "_hosts"
            lines += ["                '*:operand:\(action)'", "            ;;"]
        }
        lines += [
            "        help)",
            "            if ((CURRENT == 2)); then",
            "                topics=(",
        ]
        lines += HelpTopic.all.map { "                    " + shellQuoted("\($0.name):\($0.summary)") }
        lines += CommandDefinition.all.map { "                    " + shellQuoted("\($0.name):\($0.summary)") }
        lines += [
            "                )", "                _describe -t topics topic topics", "                return",
            "            fi",
        ]
        lines += ["            case $words[2] in"]
        for topic in HelpTopic.all where !topic.words.isEmpty {
            lines.append("                \(topic.name)) compadd -- \(topic.words.joined(separator: " ")) ;;")
        }
        return lines + [
            "            esac",
            "            ;;",
            "    esac",
            "}", "",
            "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then",
            "    _pinctl \"$@\"",
            "else",
            "    compdef _pinctl pinctl",
            "fi",
        ]
    }

    /// Returns the specification of a flag, such as `'(-o --output)'{-o+,--output=}'[write to FILE]:FILE:_files'`.
    private static func specification(_ flag: Flag) -> String {
        let long = flag.dashed + (flag.value == nil ? "" : "=")
        let text = "[\(escaped(flag.help))]" + (flag.value.map { ":\(escaped($0.name)):\(action($0))" } ?? "")
        guard let letter = flag.short else {
            return shellQuoted((flag.isRepeatable ? "*" : "") + long + text)
        }
        let spellings = "{-\(letter)\(flag.value == nil ? "" : "+"),\(long)}"
        let others = flag.isRepeatable ? "*" : "(-\(letter) \(flag.dashed))"
        return shellQuoted(others) + spellings + shellQuoted(text)
    }

    private static func action(_ value: Flag.Value) -> String {
        switch value {
        case .text: " "
        case .file: "_files"
        case .directory: "_files -/"
        case .choice(_, let words): "(\(words().joined(separator: " ")))"
        case .beginning(_, let words): "{compadd -S \"\" -- \(words.joined(separator: " "))}"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.map { "\\[]:".contains($0) ? "\\\($0)" : "\($0)" }.joined()
    }
}
