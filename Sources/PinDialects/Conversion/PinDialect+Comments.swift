import CertificatePinning

extension PinDialect {
    /// Returns the comments of a file that pins can be replaced in, with one space in place of each white space.
    package func comments(in bytes: [UInt8]) -> [String] {
        let comments =
            switch self {
            case .android, .apple, .trustkit: CommentReader.texts(in: bytes)
            // In YAML, // doesn't begin a comment. CommentReader accepts it in every text that isn't markup.
            case .envoy: Self.lineComments(in: bytes)
            // A string of Kotlin may contain //, as a pin does whose Base64 has two slashes, and comments nest.
            case .okhttp: SourceLexer.comments(in: bytes)
            default: [String]()
            }
        return comments.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
    }

    /// Returns the texts after `#`, up to the end of the line.
    private static func lineComments(in bytes: [UInt8]) -> [String] {
        bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            line.firstIndex(of: UInt8(ascii: "#")).map { String(decoding: line[($0 + 1)...], as: UTF8.self) }
        }
    }
}
