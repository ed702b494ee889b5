/// A command: its name, its arguments and its action.
package struct CommandDefinition: Sendable {
    package let name: String
    /// A one-line summary in lower case.
    package let summary: String
    /// The operands as shown in the help, such as `FILE…`.
    package let operands: String
    package let operandCount: ClosedRange<Int>
    package let flags: [Flag]
    /// The notes in the help. Lines are joined and wrapped again. An empty line ends a paragraph, and a line that
    /// begins with a space is kept as it is.
    package let notes: [String]
    /// The example command lines, each with its purpose.
    package var examples: [(purpose: String, line: String)] = []
    let run: @Sendable (Arguments, CommandEnvironment, inout Console) async throws(UsageError) -> Void

    /// The command's own flags and those that every command has.
    package var allFlags: [Flag] { flags + [.json, .ndjson, .quiet, .color, .help] }
}

extension CommandDefinition {
    /// Every command, in the order of the help.
    package static let all: [CommandDefinition] = [
        hash, show, verify, check, initialize, find, lint, importing, export, plan, explain, sign, run, serve,
        swiftFlags,
    ]

    static func named(_ name: String) -> CommandDefinition? { all.first { $0.name == name } }
}
