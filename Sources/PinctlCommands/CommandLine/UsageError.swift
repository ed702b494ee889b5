import CertificatePinning
import PinctlBasics

/// A reason why a command line is invalid.
package enum UsageError: Error, Sendable {
    case missingCommand
    /// An argument that is PEM text.
    case contents
    case unknownCommand(String)
    case unknownTopic(String)
    /// An extra word after a help topic.
    case extraWord(String)
    case unknownFlag(CommandDefinition, String)
    case missingValue(Flag)
    case unexpectedValue(Flag)
    case repeated(Flag)
    case missingFlag(Flag)
    case missingOperand(CommandDefinition)
    case tooManyOperands(CommandDefinition, String)
    /// An invalid operand and the reason.
    case invalidOperand(String, reason: String)
    /// An invalid value of a flag and the reason.
    case invalidValue(Flag, reason: String)
    /// A value that isn't one of those the flag accepts.
    case unknownChoice(Flag, String, known: [String])
    /// An input or a part of the system that can't be used, with a message for each problem.
    case unusable([String])
}

extension UsageError {
    /// The messages, one line for each problem, in lower case and ending with the remedy.
    package var messages: [String] {
        switch self {
        case .missingCommand: ["no command given: use one of these"]
        case .contents: ["an argument contains PEM: give the file's name, or - with the text on standard input"]
        case .unknownCommand(let word) where word.hasPrefix("-"):
            ["\(word) appears before the command: put flags after it"]
        case .unknownCommand(let word):
            [
                "unknown command \"\(word)\""
                    + advice(word, CommandDefinition.all.map(\.name), besides: [Flag.version.dashed, Flag.help.dashed])
            ]
        case .unknownTopic(let word):
            [
                "unknown help topic \"\(word)\""
                    + advice(word, CommandDefinition.all.map(\.name) + HelpTopic.all.map(\.name))
            ]
        case .extraWord(let word): ["help takes one topic: remove \"\(word)\""]
        case .unknownFlag(let command, let word) where command.name == CommandDefinition.run.name:
            ["\(command.name) has no flag \(word): if it is one of PROGRAM, put -- before PROGRAM"]
        case .unknownFlag(let command, let word):
            [
                "\(command.name) has no flag \(word): "
                    + (suggestion(for: word, among: command.allFlags.map(\.dashed)).map { "did you mean \($0)?" }
                        ?? "see pinctl \(command.name) --help")
            ]
        case .missingValue(let flag): ["\(flag.dashed) needs a value: \(flag.dashed) \(flag.valueName ?? "")"]
        case .unexpectedValue(let flag): ["\(flag.dashed) takes no value: leave it out"]
        case .repeated(let flag): ["\(flag.dashed) is given twice: give it once"]
        case .missingFlag(let flag):
            [
                "\(flag.dashed) is required: give \(flag.dashed) "
                    + (flag.choices.isEmpty ? flag.valueName ?? "" : "with one of \(Self.list(flag.choices))")
            ]
        case .missingOperand(let command):
            [
                "\(command.name) needs \(command.operands.filter { !"[]".contains($0) }): "
                    + "see pinctl \(command.name) --help"
            ]
        case .tooManyOperands(let command, let word):
            ["\(command.name) takes only \(command.operands): remove \"\(word)\""]
        case .invalidOperand(let word, let reason): ["\(word): \(reason)"]
        case .invalidValue(let flag, let reason): ["\(flag.dashed): \(reason)"]
        case .unknownChoice(let flag, let word, let known):
            ["\(flag.dashed) does not support \"\(word)\"" + advice(word, known)]
        case .unusable(let messages): messages
        }
    }

    private func advice(_ word: String, _ known: [String], besides others: [String] = []) -> String {
        guard let near = suggestion(for: word, among: known + others) else { return ": use one of \(Self.list(known))" }
        return ": did you mean \(near)?"
    }

    private static func list(_ words: [String]) -> String { words.joined(separator: ", ") }
}
