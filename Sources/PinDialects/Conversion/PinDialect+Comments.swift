extension PinDialect {
    /// Returns the comments of a file that pins can be replaced in, with one space in place of each white space.
    package func comments(in bytes: [UInt8]) -> [String] {
        let comments =
            switch self {
            case .android, .apple, .trustkit: Self.texts(in: bytes, from: "<!--", to: "-->")
            case .envoy: Self.texts(in: bytes, from: "#", to: "\n")
            // A string may contain what looks like a comment, as a pin does whose Base64 has two slashes.
            case .okhttp: SourceLexer.comments(in: bytes)
            default: [String]()
            }
        return comments.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }

    /// Returns the texts between pairs of marks.
    private static func texts(in bytes: [UInt8], from start: String, to end: String) -> [String] {
        var rest = bytes[...]
        var texts: [String] = []
        while !rest.isEmpty {
            guard rest.starts(with: start.utf8) else {
                rest = rest.dropFirst()
                continue
            }
            rest = rest.dropFirst(start.utf8.count)
            var text = rest
            while !text.isEmpty, !text.starts(with: end.utf8) { text = text.dropFirst() }
            texts.append(String(decoding: rest[..<text.startIndex], as: UTF8.self))
            rest = text
        }
        return texts
    }
}
