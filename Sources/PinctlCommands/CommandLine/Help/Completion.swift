/// The completion scripts for shells, generated from the tables of commands and flags.
///
/// They complete commands, flags, the values of flags, files, directories and help topics, and run nothing but the
/// shell itself.
enum Completion {
    static let shells: [(name: String, script: @Sendable () -> [String])] = [
        ("bash", { bash }), ("zsh", { zsh }), ("fish", { fish }),
    ]

    /// The kind of word to complete where a flag isn't expected.
    enum Operand {
        case files
        case hosts

        init(of command: CommandDefinition) {
            let namesFiles = ["FILE", "CHAIN", "INPUT", "POLICY"].contains(where: command.operands.contains)
            self = namesFiles || !["TARGET", "HOST"].contains(where: command.operands.contains) ? .files : .hosts
        }
    }

    static var topicNames: [String] { HelpTopic.all.map(\.name) + CommandDefinition.all.map(\.name) }

    /// Quotes a text for bash and zsh.
    static func shellQuoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }
}
