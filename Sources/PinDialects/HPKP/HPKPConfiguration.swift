import CertificateTrust
import PinctlBasics

/// The fields Public-Key-Pins that nginx (`add_header`) or Apache (`Header set`) adds to responses, as its
/// configuration has them.
struct HPKPConfiguration {
    /// A field with its server.
    struct Field {
        /// The value without its quotes, on the line that it has in the file.
        let value: TextCursor
        let isReportOnly: Bool
        /// The block of the server, by its number.
        let block: Int
        /// The reason why the value isn't known, if it isn't.
        let problem: String?
    }

    /// A word without its quotes.
    private struct Word {
        var bytes: [UInt8] = []
        let position: SourcePosition
        var text: String { String(decoding: bytes, as: UTF8.self) }

        /// A cursor at the word's own line and column.
        var cursor: TextCursor {
            let blanks = [UInt8](repeating: UInt8(ascii: " "), count: max(0, Int(position.column) - 1))
            var cursor = TextCursor(blanks + bytes, line: position.line)
            _ = cursor.take(while: \.isBlank)
            return cursor
        }
    }

    private(set) var fields: [Field] = []
    /// The names of each server, which may be below the field.
    private var names: [[String]] = [[]]
    private var blocks = [0]
    private let isApache: Bool

    private static let headers = ["public-key-pins", "public-key-pins-report-only"]

    /// Whether a line sets one of the fields.
    static func isRecognized(in bytes: [UInt8]) -> Bool {
        bytes.hasAny(of: ["public-key-pins"], ignoringCase: true)
            && bytes.split(whereSeparator: \.isLineEnd).contains { directive(in: $0) != nil }
    }

    /// Returns whether a line has Apache's directive for one of the fields, or `nil` if it has none for them. In nginx,
    /// a block can begin on the same line.
    private static func directive(in line: ArraySlice<UInt8>) -> Bool? {
        let words = String(decoding: line, as: UTF8.self).lowercased()
            .split { " \t{};".contains($0) }.map { $0.trimmingPrefix { "\"'".contains($0) } }
        guard let name = words.firstIndex(where: { $0.hasPrefix("public-key-pins") }) else { return nil }
        if name > 0, words[name - 1] == "add_header", words[0].first != "#" { return false }
        return words[0] == "header" && (2...3).contains(name) ? true : nil
    }

    init(_ cursor: TextCursor, _ bytes: [UInt8]) {
        let lines = bytes.split(whereSeparator: \.isLineEnd)
        isApache = lines.lazy.compactMap(Self.directive).first ?? false
        var cursor = cursor
        if isApache { readApache(&cursor) } else { readNginx(&cursor) }
    }

    /// Returns the host of a field, if its server has one name, which is a hostname.
    func host(of field: Field) -> String? {
        let names = names[field.block]
        // mutant hpkp-names: true for `names.count == 1` by HPKPTests/configurations
        guard names.count == 1, let name = try? ServerName(names[0]), !name.isIPAddress else { return nil }
        return name.description
    }

    private mutating func add(_ name: Word, _ value: Word, problem: String?) {
        var problem = problem
        // mutant hpkp-lines: false by HPKPTests/refusedConfigurations
        if value.bytes.contains(where: \.isLineEnd) { problem = "the value is on several lines: write it on one" }
        fields.append(
            Field(
                value: value.cursor, isReportOnly: name.text.lowercased() != Self.headers[0], block: blocks.last ?? 0,
                problem: problem))
    }

    private func isField(_ word: Word) -> Bool { Self.headers.contains(word.text.lowercased()) }

    private static let computed = "the server computes this value, so its pins aren't known: write them themselves"

    // MARK: nginx

    private mutating func readNginx(_ cursor: inout TextCursor) {
        var words: [Word] = []
        while let byte = cursor.byte {
            switch byte {
            case UInt8(ascii: "#"): _ = cursor.take { !$0.isLineEnd }
            case UInt8(ascii: "{"):
                // The blocks of a server belong to it.
                // mutant hpkp-block: true by HPKPTests/configurations
                let isServer = words.count == 1 && words[0].text == "server"
                if isServer { names.append([]) }
                blocks.append(isServer ? names.count - 1 : blocks.last ?? 0)
                words = []
                cursor.step()
            case UInt8(ascii: "}"), UInt8(ascii: ";"):
                if byte == UInt8(ascii: ";") { takeNginx(words) } else if blocks.count > 1 { blocks.removeLast() }
                words = []
                cursor.step()
            case _ where byte.isBlank || byte.isLineEnd: cursor.step()
            default: words.append(word(&cursor) { $0.isBlank || $0.isLineEnd || ";{}".utf8.contains($0) })
            }
        }
    }

    private mutating func takeNginx(_ words: [Word]) {
        guard let block = blocks.last, let first = words.first?.text, words.count > 1 else { return }
        if first == "server_name" { names[block] += words.dropFirst().map(\.text) }
        guard first == "add_header", words.count > 2, isField(words[1]) else { return }
        // mutant hpkp-variable: false by HPKPTests/refusedConfigurations
        let isComputed = words[2].bytes.contains(UInt8(ascii: "$"))
        add(words[1], words[2], problem: isComputed ? Self.computed : nil)
    }

    /// Reads a word, in which a quote at its start ends it.
    private func word(_ cursor: inout TextCursor, endsAt isEnd: (UInt8) -> Bool) -> Word {
        var word = Word(position: cursor.position)
        let quote = cursor.byte.flatMap { "\"'".utf8.contains($0) ? $0 : nil }
        if quote != nil { cursor.step() }
        while let byte = cursor.byte, quote == nil ? !isEnd(byte) : byte != quote {
            if byte == UInt8(ascii: "\\"), let next = cursor.peek(), "\"'\\".utf8.contains(next) { cursor.step() }
            if let byte = cursor.byte { word.bytes.append(byte) }
            cursor.step()
        }
        if quote != nil { cursor.step() }
        return word
    }

    // MARK: Apache

    private mutating func readApache(_ cursor: inout TextCursor) {
        while cursor.byte != nil {
            var words: [Word] = []
            _ = cursor.take(while: \.isBlank)
            let isComment = cursor.byte == UInt8(ascii: "#")
            while let byte = cursor.byte, !byte.isLineEnd {
                if byte.isBlank {
                    cursor.step()
                } else if byte == UInt8(ascii: "\\"), cursor.peek()?.isLineEnd == true {
                    // The line goes on in the next one.
                    cursor.step()
                    if cursor.byte == UInt8(ascii: "\r") { cursor.step() }
                    if cursor.byte == UInt8(ascii: "\n") { cursor.step() }
                } else {
                    words.append(word(&cursor) { $0.isBlank || $0.isLineEnd })
                }
            }
            cursor.step()
            if !isComment { takeApache(words) }
        }
    }

    private mutating func takeApache(_ words: [Word]) {
        guard let first = words.first?.text.lowercased() else { return }
        switch first {
        case _ where first.hasPrefix("<virtualhost"):
            names.append([])
            blocks.append(names.count - 1)
        case "</virtualhost>": if blocks.count > 1 { blocks.removeLast() }
        case "servername", "serveralias":
            // The name can have a scheme and a port.
            names[blocks.last ?? 0] += words.dropFirst().map { word in
                let name = word.text.firstRange(of: "://").map { word.text[$0.upperBound...] } ?? word.text[...]
                return String(name.prefix { $0 != ":" })
            }
        case "header":
            var rest = words.dropFirst()
            if let word = rest.first?.text.lowercased(), ["always", "onsuccess"].contains(word) { rest.removeFirst() }
            guard rest.count > 1, let action = rest.first?.text.lowercased(), isField(Array(rest)[1]) else { return }
            rest.removeFirst()
            guard let name = rest.popFirst(), action != "unset" else { return }
            let isPlain = ["set", "add", "append", "merge", "setifempty"].contains(action)
            // mutant hpkp-condition: true for `rest.count == 1` by HPKPTests/refusedConfigurations
            guard isPlain, rest.count == 1, let value = rest.first else {
                return add(
                    name, rest.first ?? name,
                    problem: "Apache sends this field only under a condition, or changes another one: write the pins "
                        + "that it always sends")
            }
            let isComputed = value.bytes.contains(UInt8(ascii: "%")) || value.text.hasPrefix("expr=")
            add(name, value, problem: isComputed ? Self.computed : nil)
        default: return
        }
    }
}
