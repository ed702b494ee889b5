extension Completion {
    /// The script for bash, a function that fills `COMPREPLY` and doesn't need the bash-completion package.
    static var bash: [String] {
        var lines = [
            "# Completion of pinctl for bash. Printed by: pinctl help completion bash", "",
            "_pinctl() {",
            "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} word flags=yes",
            "    COMPREPLY=()",
            "    # bash splits --flag=value into three words.",
            "    if [[ $current == = ]]; then",
            "        current=",
            "    elif [[ $previous == = ]] && ((COMP_CWORD > 2)); then",
            "        previous=${COMP_WORDS[COMP_CWORD - 2]}",
            "    fi",
            "    if ((COMP_CWORD == 1)); then",
            "        _pinctl_words \(words(CommandDefinition.all.map(\.name) + ["help", "--help", "--version"]))",
            "        return",
            "    fi",
            "    # Only operands follow --.",
            "    for word in \"${COMP_WORDS[@]:2:COMP_CWORD - 2}\"; do",
            "        [[ $word != -- ]] || flags= previous=",
            "    done",
            "    case ${COMP_WORDS[1]} in",
        ]
        for command in CommandDefinition.all {
            lines += ["        \(command.name))", "            case $previous in"]
            for flag in command.allFlags {
                guard let value = flag.value else { continue }
                let names = ((flag.short.map { ["-\($0)"] } ?? []) + [flag.dashed]).joined(separator: " | ")
                lines.append("                \(names)) \(completed(value)); return ;;")
            }
            let spellings = command.allFlags.flatMap { [$0.dashed] + ($0.short.map { ["-\($0)"] } ?? []) }
            lines += [
                "            esac",
                "            if [[ $flags && $current == -* ]]; then",
                "                _pinctl_words \(words(spellings))",
                "            else",
                "                \(Operand(of: command) == .files ? "_pinctl_files" : "_pinctl_hosts")",
                "            fi",
                "            ;;",
            ]
        }
        lines += [
            "        help)", "            case $previous in",
            "                help) _pinctl_words \(words(topicNames)) ;;",
        ]
        for topic in HelpTopic.all where !topic.words.isEmpty {
            lines.append("                \(topic.name)) _pinctl_words \(words(topic.words)) ;;")
        }
        return lines + [
            "            esac",
            "            ;;",
            "    esac",
            "}", "",
            "_pinctl_words() { mapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$current\"); }", "",
            "_pinctl_beginnings() {",
            "    compopt -o nospace 2>/dev/null",
            "    _pinctl_words \"$@\"",
            "}", "",
            "_pinctl_files() {",
            "    compopt -o filenames 2>/dev/null",
            "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")",
            "}", "",
            "_pinctl_directories() {",
            "    compopt -o filenames 2>/dev/null",
            "    mapfile -t COMPREPLY < <(compgen -d -- \"$current\")",
            "}", "",
            "_pinctl_hosts() { mapfile -t COMPREPLY < <(compgen -A hostname -- \"$current\"); }", "",
            "complete -F _pinctl pinctl",
        ]
    }

    private static func completed(_ value: Flag.Value) -> String {
        switch value {
        case .text: ":"
        case .file: "_pinctl_files"
        case .directory: "_pinctl_directories"
        case .choice(_, let choices): "_pinctl_words \(words(choices()))"
        case .beginning(_, let choices): "_pinctl_beginnings \(words(choices))"
        }
    }

    private static func words(_ words: [String]) -> String { words.joined(separator: " ") }
}
