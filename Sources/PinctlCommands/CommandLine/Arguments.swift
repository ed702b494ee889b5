/// The words after a command's name, parsed with the command's table of flags.
package struct Arguments: Sendable {
    package let command: CommandDefinition
    package private(set) var operands: [String] = []
    private var values: [Flag: [String]] = [:]

    /// Parses `--flag value`, `--flag=value`, `-f value`, `-fvalue`, grouped letters, `--` before operands, and `-`,
    /// which is an operand.
    package init(_ words: [String], for command: CommandDefinition) throws(UsageError) {
        self.command = command
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            } else if word.hasPrefix("--") {
                try takeLong(word, &rest)
            } else if word.hasPrefix("-"), word != "-" {
                try takeShort(word, &rest)
            } else {
                operands.append(word)
            }
        }
        guard !has(.help) else { return }
        guard operands.count >= command.operandCount.lowerBound else { throw .missingOperand(command) }
        guard operands.count <= command.operandCount.upperBound else {
            throw .tooManyOperands(command, operands[command.operandCount.upperBound])
        }
    }

    package func has(_ flag: Flag) -> Bool { values[flag] != nil }

    /// The first value of a flag.
    package subscript(flag: Flag) -> String? { values[flag]?.first }

    /// Returns all values of a flag in the order they were given.
    package func all(_ flag: Flag) -> [String] { values[flag] ?? [] }

    private mutating func takeLong(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
        let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let flag = command.allFlags.first(where: { $0.long == parts[0] }) else {
            throw .unknownFlag(command, "--\(parts[0])")
        }
        try take(flag, parts.count == 2 ? String(parts[1]) : nil, &rest)
    }

    private mutating func takeShort(_ word: String, _ rest: inout ArraySlice<String>) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let flag = command.allFlags.first(where: { $0.short == letter }) else {
                throw .unknownFlag(command, "-\(letter)")
            }
            guard flag.valueName != nil, !letters.isEmpty else {
                try take(flag, nil, &rest)
                continue
            }
            try take(flag, String(letters), &rest)
            break
        }
    }

    private mutating func take(
        _ flag: Flag, _ attached: String?, _ rest: inout ArraySlice<String>
    ) throws(UsageError) {
        guard flag.isRepeatable || values[flag] == nil || flag.valueName == nil else { throw .repeated(flag) }
        if flag.valueName == nil {
            guard attached == nil else { throw .unexpectedValue(flag) }
            values[flag] = []
        } else {
            guard let value = attached ?? rest.popFirst() else { throw .missingValue(flag) }
            values[flag, default: []].append(value)
        }
    }

    /// Returns the words of these flags in a command line that may be wrong otherwise. Of a flag that can't be repeated
    /// the first counts.
    static func words(of flags: [Flag], in words: ArraySlice<String>, for command: CommandDefinition) -> [String] {
        var found: [String] = []
        var rest = words.prefix { $0 != "--" }
        while let word = rest.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let flag = command.allFlags.first(where: { $0.dashed == parts[0] }) else { continue }
            let value = parts.count == 2 ? String(parts[1]) : flag.value == nil ? nil : rest.popFirst()
            guard flags.contains(flag), flag.value == nil || value != nil,
                flag.isRepeatable || !found.contains(flag.dashed)
            else { continue }
            found += [flag.dashed] + [value].compactMap(\.self)
        }
        return found
    }
}
