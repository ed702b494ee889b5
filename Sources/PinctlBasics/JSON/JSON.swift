/// A JSON value (RFC 8259) to be written. Members keep their order.
package enum JSON: Sendable {
    case string(String)
    case integer(Int)
    case bool(Bool)
    case null
    case array([JSON])
    case object([(String, JSON)])

    /// The text on one line. Everything outside printable ASCII is escaped, so the text is valid in every encoding and
    /// can't contain terminal control characters.
    package var text: String {
        var output = ""
        write(to: &output)
        return output
    }

    /// Returns the text on several lines. The outermost value, and every value that doesn't fit on a line, is split
    /// into one line per element. If `commas` is true, the last element of a split list also gets a comma, as is common
    /// in JSON with comments.
    package func lines(width: Int = 100, commas: Bool = false) -> String {
        lines(indent: 0, width, commas)
    }

    private func lines(indent: Int, _ width: Int, _ commas: Bool) -> String {
        let whole = text(spaced: true)
        guard indent == 0 || whole.utf8.count + indent > width else { return whole }
        let (open, parts, close): (String, [String], String)
        switch self {
        case .array(let elements):
            (open, close) = ("[", "]")
            parts = elements.map { $0.lines(indent: indent + 2, width, commas) }
        case .object(let members):
            (open, close) = ("{", "}")
            parts = members.map { "\(JSON.string($0.0).text): \($0.1.lines(indent: indent + 2, width, commas))" }
        default: return whole
        }
        guard !parts.isEmpty else { return open + close }
        let margin = String(repeating: " ", count: indent)
        let list = parts.map { margin + "  " + $0 }.joined(separator: ",\n")
        return "\(open)\n\(list)\(commas ? "," : "")\n\(margin)\(close)"
    }

    private func text(spaced: Bool) -> String {
        var output = ""
        write(to: &output, spaced: spaced)
        return output
    }

    private func write(to output: inout String, spaced: Bool = false) {
        switch self {
        case .string(let text): Self.quote(text, to: &output)
        case .integer(let number): output += String(number)
        case .bool(let flag): output += flag ? "true" : "false"
        case .null: output += "null"
        case .array(let elements):
            output += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { output += spaced ? ", " : "," }
                element.write(to: &output, spaced: spaced)
            }
            output += "]"
        case .object(let members):
            output += spaced && !members.isEmpty ? "{ " : "{"
            for (index, member) in members.enumerated() {
                if index > 0 { output += spaced ? ", " : "," }
                Self.quote(member.0, to: &output)
                output += spaced ? ": " : ":"
                member.1.write(to: &output, spaced: spaced)
            }
            output += spaced && !members.isEmpty ? " }" : "}"
        }
    }

    /// Appends a quoted and escaped string (RFC 8259, section 7).
    private static func quote(_ text: String, to output: inout String) {
        output += "\""
        for unit in text.utf16 {
            switch unit {
            case 0x22: output += "\\\""
            case 0x5C: output += "\\\\"
            case 0x20...0x7E: output.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        output += "\""
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral text: String) { self = .string(text) }
    package init(integerLiteral number: Int) { self = .integer(number) }
    package init(booleanLiteral flag: Bool) { self = .bool(flag) }
}

extension JSON: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSON...) { self = .array(elements) }
    package init(dictionaryLiteral members: (String, JSON)...) { self = .object(members) }
}
