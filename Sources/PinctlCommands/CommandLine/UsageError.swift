import CertificatePinning

/// Why a command line is not understood.
package enum UsageError: Error, Sendable {
    case missingCommand
    case unknownCommand(String)
    case unknownTopic(String)
    case unknownFlag(CommandDefinition, String)
    case missingValue(Flag)
    case unexpectedValue(Flag)
    case repeated(Flag)
    case missingOperand(CommandDefinition)
    case tooManyOperands(CommandDefinition, String)
    /// A value of a flag that its reader refused, and why.
    case invalidValue(Flag, reason: String)
    /// Flags that the command needs, or that exclude each other.
    case combination(String)
}

extension UsageError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missingCommand:
            return "no command given: one of \(CommandDefinition.all.map(\.name).joined(separator: ", "))"
        case .unknownCommand(let word):
            if word.hasPrefix("-") { return "\"\(word)\" stands before the command: flags follow it" }
            return "unknown command \"\(word)\"" + didYouMean(word, CommandDefinition.all.map(\.name))
        case .unknownTopic(let word):
            let known = CommandDefinition.all.map(\.name) + HelpText.topics.map(\.name)
            return "no help on \"\(word)\"" + didYouMean(word, known)
        case .unknownFlag(let command, let word):
            return "pinctl \(command.name) has no flag \(word)"
                + didYouMean(word, command.allFlags.map(\.spelling))
        case .missingValue(let flag):
            return "\(flag.spelling) needs a value: \(flag.spelling) \(flag.valueName ?? "")"
        case .unexpectedValue(let flag): return "\(flag.spelling) takes no value: leave it out"
        case .repeated(let flag): return "\(flag.spelling) is given twice: give it once"
        case .missingOperand(let command):
            return "pinctl \(command.name) needs \(command.operands): see pinctl \(command.name) --help"
        case .tooManyOperands(let command, let word):
            return "pinctl \(command.name) takes only \(command.operands): remove \"\(word)\""
        case .invalidValue(let flag, let reason): return "\(flag.spelling): \(reason)"
        case .combination(let text): return text
        }
    }

    private func didYouMean(_ word: String, _ known: [String]) -> String {
        guard let near = suggestion(for: word, among: known) else { return ": see pinctl --help" }
        return ": did you mean \(near)?"
    }
}
