import PinctlBasics

/// The values of `--pinnedpubkey` in a text: an argument alone, a config file of curl (`.curlrc`), or a script that
/// calls curl or wget.
struct CurlText {
    /// The value of an option.
    struct Argument {
        let text: String
        let position: SourcePosition
        /// The number of the transfer that it is for. curl uses the last value of each.
        let transfer: Int
    }

    /// A reason why the text isn't read.
    struct Refusal: Error {
        let message: String
        let position: SourcePosition
    }

    private(set) var arguments: [Argument] = []
    /// The URLs in a config file.
    private(set) var urls: [Argument] = []
    private var cursor: TextCursor
    private var transfer = 0

    private static let option = "pinnedpubkey"

    init(_ cursor: TextCursor) throws(Refusal) {
        self.cursor = cursor
        switch Self.form(of: cursor) {
        case .argument: try readArgument()
        case .config: try readConfig()
        case .script: try readScript()
        }
    }

    private enum Form {
        case argument, config, script
    }

    /// Returns the form of a text. Options with dashes in a config file are read like those of a script.
    private static func form(of cursor: TextCursor) -> Form {
        var cursor = cursor
        if cursor.stands("#!") { return .script }
        var form = Form.argument
        var isLineStart = true
        while let byte = cursor.byte {
            if byte.isLineEnd || byte.isBlank {
                isLineStart = isLineStart || byte.isLineEnd
                cursor.step()
                continue
            }
            // Elsewhere in a line, the sign may be in quotes.
            if isLineStart, byte == UInt8(ascii: "#") {
                _ = cursor.take { !$0.isLineEnd }
                continue
            }
            if cursor.stands("--pinnedpubkey") { return .script }
            if isLineStart, cursor.stands("pinned") { form = .config }
            let word = String(decoding: cursor.take { !$0.isBlank && !$0.isLineEnd }, as: UTF8.self)
            let isCall = word == "curl" || word.hasSuffix("/curl")
            if isCall, form == .argument { form = .script }
            isLineStart = false
        }
        return form
    }

    /// Returns the last values of the transfers, which are those that curl uses.
    var effective: [Argument] {
        // The transfers are in ascending order.
        arguments.indices.filter { index in
            // mutant curl-last: true for `arguments[index + 1].transfer != arguments[index].transfer` by
            //   CurlTests/repeated
            index + 1 == arguments.count || arguments[index + 1].transfer != arguments[index].transfer
        }.map { arguments[$0] }
    }

    private mutating func add(_ text: String, at position: SourcePosition) throws(Refusal) {
        guard arguments.count < TextLimits.rules else {
            throw Refusal(
                message: "there are more than \(TextLimits.rules) options: split the text", position: position)
        }
        arguments.append(Argument(text: text, position: position, transfer: transfer))
    }

    private func refusal(_ message: String, at position: SourcePosition? = nil) -> Refusal {
        Refusal(message: message, position: position ?? SourcePosition(line: 1, column: 1))
    }
}

// MARK: - An argument

extension CurlText {
    /// Reads an argument without its option, quoted or not.
    private mutating func readArgument() throws(Refusal) {
        let isBetween: (UInt8) -> Bool = { $0.isBlank || $0.isLineEnd || "\"'".utf8.contains($0) }
        _ = cursor.take(while: isBetween)
        let position = cursor.position
        let text = String(decoding: cursor.take { !$0.isLineEnd && !"\"'".utf8.contains($0) }, as: UTF8.self)
        _ = cursor.take(while: isBetween)
        if cursor.byte != nil {
            guard text.lowercased().hasPrefix("sha256/") else {
                throw refusal(
                    "there is no \(Self.option) here: write the value of curl's option alone, or name a .curlrc or a "
                        + "script that calls curl")
            }
            throw refusal("unexpected text after the argument: remove it", at: cursor.position)
        }
        try add(text, at: position)
    }
}

// MARK: - A config file

extension CurlText {
    /// Reads a config file as curl's `parseconfig` does. A name may have dashes in front. Without them, an equals sign
    /// or a colon may separate it from its value.
    private mutating func readConfig() throws(Refusal) {
        while cursor.byte != nil {
            _ = cursor.take(while: \.isBlank)
            if let byte = cursor.byte, !byte.isLineEnd, !"#/*".utf8.contains(byte) { try readOption() }
            _ = cursor.take { !$0.isLineEnd }
            cursor.step()
        }
        guard !arguments.isEmpty else { throw refusal("no option of curl has pins here: write pinnedpubkey") }
    }

    private mutating func readOption() throws(Refusal) {
        let start = cursor.position
        let isDashed = !cursor.take { $0 == UInt8(ascii: "-") }.isEmpty
        let isSeparator: (UInt8) -> Bool = { $0.isBlank || !isDashed && "=:".utf8.contains($0) }
        let name = String(decoding: cursor.take { !$0.isLineEnd && !isSeparator($0) }, as: UTF8.self)
        if name == "next" { transfer += 1 }
        try check(name, at: start)
        guard name == Self.option || name == "url" else { return }
        _ = cursor.take(while: isSeparator)
        let (position, value) = (cursor.position, optionValue())
        if name == "url" {
            if urls.count < TextLimits.rules {
                urls.append(Argument(text: value, position: position, transfer: transfer))
            }
        } else {
            try add(value, at: position)
        }
    }

    /// Reads the value of an option, with or without quotes.
    private mutating func optionValue() -> String {
        guard cursor.take("\"") else {
            return String(decoding: cursor.take { !$0.isBlank && !$0.isLineEnd }, as: UTF8.self)
        }
        var value: [UInt8] = []
        while let byte = cursor.byte, byte != UInt8(ascii: "\""), !byte.isLineEnd {
            if byte == UInt8(ascii: "\\") { cursor.step() }
            if let byte = cursor.byte { value.append(byte) }
            cursor.step()
        }
        return String(decoding: value, as: UTF8.self)
    }

    /// Refuses names that only some versions of curl take for the option, or that none does.
    private func check(_ name: String, at position: SourcePosition) throws(Refusal) {
        let isShort = name.utf8.count >= 3 && name != Self.option && Self.option.hasPrefix(name)
        let hasValue = name.hasPrefix("\(Self.option)=")
        guard isShort || hasValue else { return }
        throw refusal(
            hasValue
                ? "curl doesn't know --\(Self.option)=, so it pins nothing: write a blank in place of the equals sign"
                : "\(quoted(name)) isn't an option of every curl: write \(Self.option)", at: position)
    }
}

// MARK: - A script

extension CurlText {
    /// A word of a command.
    private struct Word {
        var text: [UInt8] = []
        let position: SourcePosition
        /// Whether the shell computes a part of it.
        var isComputed = false
    }

    /// Reads the options of the commands in a script of a shell.
    private mutating func readScript() throws(Refusal) {
        var (isValue, isWget) = (false, false)
        while let word = try nextWord() {
            let text = String(decoding: word.text, as: UTF8.self)
            if isValue {
                // mutant curl-computed: true by CurlTests/refusedTexts
                guard !word.isComputed else {
                    throw refusal(
                        "the script computes the value of --\(Self.option), so its pins aren't known: write them "
                            + "here, or name a file with the value", at: word.position)
                }
                try add(text, at: word.position)
                isValue = false
            } else if text.hasPrefix("--") {
                if text == "--next" { transfer += 1 }
                // wget has the option with an equals sign, too.
                // mutant curl-wget: false for `isWget` by CurlTests/wget
                if isWget, text.hasPrefix("--\(Self.option)="), !word.isComputed {
                    try add(String(text.dropFirst(Self.option.utf8.count + 3)), at: word.position)
                    continue
                }
                try check(String(text.dropFirst(2)), at: word.position)
                isValue = text == "--\(Self.option)"
            } else if text == Self.option {
                throw refusal("options with and without dashes are mixed: write all with dashes", at: word.position)
            } else if let program = text.split(separator: "/").last, program == "curl" || program == "wget" {
                transfer += 1
                isWget = program == "wget"
            }
        }
        guard !arguments.isEmpty else {
            throw refusal(
                "no command here has curl's option --\(Self.option): name the file with the option, or one with its "
                    + "value alone")
        }
    }

    /// Returns the next word, without its quotes. Signs that separate commands end a word.
    private mutating func nextWord() throws(Refusal) -> Word? {
        let isBetween: (UInt8) -> Bool = { $0.isBlank || $0.isLineEnd || ";|&()".utf8.contains($0) }
        while true {
            _ = cursor.take(while: isBetween)
            if cursor.byte == UInt8(ascii: "#") {
                _ = cursor.take { !$0.isLineEnd }
            } else if cursor.byte == UInt8(ascii: "\\"), cursor.peek()?.isLineEnd == true {
                cursor.step()
            } else {
                break
            }
        }
        guard cursor.byte != nil else { return nil }
        var word = Word(position: cursor.position)
        while let byte = cursor.byte, !isBetween(byte) {
            cursor.step()
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\""): try takeQuoted(byte, &word)
            case UInt8(ascii: "\\"):
                if let next = cursor.byte, !next.isLineEnd { word.text.append(next) }
                cursor.step()
            case UInt8(ascii: "$"), UInt8(ascii: "`"):
                word.isComputed = true
                word.text.append(byte)
            default: word.text.append(byte)
            }
        }
        return word
    }

    private mutating func takeQuoted(_ quote: UInt8, _ word: inout Word) throws(Refusal) {
        let start = cursor.position
        while let byte = cursor.byte, byte != quote {
            if quote == UInt8(ascii: "\""), byte == UInt8(ascii: "\\") { cursor.step() }
            if quote == UInt8(ascii: "\""), "$`".utf8.contains(byte) { word.isComputed = true }
            if let byte = cursor.byte { word.text.append(byte) }
            cursor.step()
        }
        guard cursor.byte != nil else {
            throw refusal("a quote is never closed, so the script isn't understood: close it", at: start)
        }
        cursor.step()
    }
}
