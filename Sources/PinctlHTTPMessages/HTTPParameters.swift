/// A field value followed by parameters, like `text/html; charset="utf-8"` (RFC 9110, section 5.6.6). Parts that don't
/// have this form are ignored.
package struct HTTPParameters: Sendable, Hashable {
    /// The text before the first semicolon, without blanks around it.
    package let value: String
    private var parameters: [HTTPField] = []

    package init(_ text: String) {
        var parts = Self.split(text)
        value = parts.removeFirst()
        for part in parts {
            guard let equals = part.firstIndex(of: "=") else { continue }
            parameters.append(
                HTTPField(
                    name: Self.trimmed(part[..<equals]),
                    value: Self.unquoted(Self.trimmed(part[part.index(after: equals)...]))))
        }
    }

    /// The value of the first parameter with this name, ignoring case.
    package subscript(name: String) -> String? {
        parameters.first { $0.isNamed(name) }?.value
    }

    /// Splits a text at the semicolons outside quotes. Returns at least one part. Parts may be empty.
    private static func split(_ text: String) -> [String] {
        var parts: [Substring] = []
        var start = text.startIndex
        var isQuoted = false
        var isEscaped = false
        for index in text.unicodeScalars.indices {
            switch text.unicodeScalars[index] {
            case _ where isEscaped: isEscaped = false
            case "\\" where isQuoted: isEscaped = true
            case "\"": isQuoted.toggle()
            case ";" where !isQuoted:
                parts.append(text[start..<index])
                start = text.unicodeScalars.index(after: index)
            default: break
            }
        }
        return (parts + [text[start...]]).map(trimmed)
    }

    private static func trimmed(_ text: Substring) -> String {
        String(decoding: HTTPGrammar.trimmed(Array(text.utf8)[...]), as: UTF8.self)
    }

    /// Returns a quoted string without its quotes and backslashes (RFC 9110, section 5.6.4), and any other text
    /// unchanged.
    private static func unquoted(_ text: String) -> String {
        guard text.utf8.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else { return text }
        var isEscaped = false
        var scalars = String.UnicodeScalarView()
        for scalar in text.dropFirst().dropLast().unicodeScalars {
            if scalar == "\\", !isEscaped {
                isEscaped = true
            } else {
                scalars.append(scalar)
                isEscaped = false
            }
        }
        return String(scalars)
    }
}
