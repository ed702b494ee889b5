/// Completion scripts for shells, made from the tables of commands and flags. They complete commands, flags, the words
/// that a flag takes, files, folders and topics of help, and run nothing but the shell itself.
enum Completion {
    static let shells: [(name: String, script: @Sendable () -> [String])] = [
        ("bash", { bash }), ("zsh", { zsh }), ("fish", { fish }),
    ]

    /// What stands where no flag stands.
    enum Operand {
        case files
        case hosts

        init(of command: CommandDefinition) {
            let namesFiles = ["FILE", "CHAIN", "INPUT", "POLICY"].contains(where: command.operands.contains)
            self = namesFiles || !["TARGET", "HOST"].contains(where: command.operands.contains) ? .files : .hosts
        }
    }

    static var topicNames: [String] { HelpTopic.all.map(\.name) + CommandDefinition.all.map(\.name) }

    /// A word of a shell that means just these characters, in bash and zsh.
    static func shellQuoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}
