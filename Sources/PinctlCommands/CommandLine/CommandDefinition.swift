/// One command: what it is called, what it takes, what it does.
package struct CommandDefinition: Sendable {
    package let name: String
    /// One line, lower case.
    package let summary: String
    /// The operands as the help shows them, `FILE…`.
    package let operands: String
    package let operandCount: ClosedRange<Int>
    package let flags: [Flag]
    /// What the help says of the command: lines that are joined and folded anew; an empty one ends a paragraph, and one
    /// that begins with a space stays as it is.
    package let notes: [String]
    /// Command lines that people type, each with what it is for.
    package var examples: [(purpose: String, line: String)] = []
    let run: @Sendable (Arguments, CommandEnvironment, inout Console) async throws(UsageError) -> Void

    /// Its own flags and those every command has.
    package var allFlags: [Flag] { flags + [.json, .ndjson, .quiet, .color, .help] }
}

extension CommandDefinition {
    /// Every command, in the order of the help.
    package static let all = [hash, show, verify, check, initialize, lint, importing, export, plan, explain]

    static func named(_ name: String) -> CommandDefinition? { all.first { $0.name == name } }
}
