import PinctlHTTPMessages

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110, section 11.3).
struct HTTPChallenge: Sendable, Hashable {
    /// The scheme in lowercase.
    let scheme: String
    /// The token in place of parameters: `Negotiate YII…==`.
    var token68: String?
    /// The values of the parameters as received, by name in lowercase. A challenge with a repeated parameter is
    /// malformed, so each name has one value.
    var values: [String: [UInt8]] = [:]

    /// The maximum size of all values together in bytes. If any limit is exceeded, all challenges are ignored (HA10).
    static let sizeLimit = 64 * 1024
    static let challengeLimit = 100
    static let parameterLimit = 100

    /// The parameters as text.
    var parameters: [String: String] { values.mapValues(HTTPField.text) }

    /// Parses all challenges of a response, in order. Skips malformed challenges, and keeps the ones next to them if
    /// they can be separated.
    static func parse(_ values: [[UInt8]]) -> [HTTPChallenge] {
        guard values.reduce(0, { $0 + $1.count }) <= sizeLimit else { return [] }
        let challenges = values.flatMap { value in
            var reader = ChallengeReader(value)
            return reader.challenges()
        }
        guard challenges.count <= challengeLimit, challenges.allSatisfy({ $0.values.count <= parameterLimit })
        else { return [] }
        return challenges
    }

    /// Parses the parameters of fields that contain nothing else, such as `Authentication-Info` (RFC 7615, section 3).
    /// Returns `nil` if anything in them is malformed.
    static func information(in values: [[UInt8]]) -> HTTPChallenge? {
        var reader = ChallengeReader(Array(values.joined(separator: Array(", ".utf8))))
        guard reader.bytes.count <= sizeLimit else { return nil }
        let read = reader.challenges(under: HTTPChallenge(scheme: ""))
        guard read.count == 1, let only = read.first, only.scheme.isEmpty else { return nil }
        return only
    }
}

private let comma = UInt8(ascii: ",")
private let equals = UInt8(ascii: "=")
private let quote = UInt8(ascii: "\"")

/// A parser for one field value.
private struct ChallengeReader {
    let bytes: [UInt8]
    private var position = 0
    private var found: [HTTPChallenge] = []
    private var current: HTTPChallenge?
    private var isBroken = false

    init(_ value: [UInt8]) { bytes = value }

    mutating func challenges(under open: HTTPChallenge? = nil) -> [HTTPChallenge] {
        guard HTTPGrammar.isFieldContent(bytes) else { return [] }
        current = open
        while skip(where: { HTTPGrammar.isBlank($0) || $0 == comma }), readElement() {}
        close()
        return found
    }

    /// Reads an element up to the next comma. Returns false if the rest of the value can't be split into elements.
    private mutating func readElement() -> Bool {
        let name = run(HTTPGrammar.isTokenCharacter)
        guard !name.isEmpty else { return skipMalformed() }
        let isFollowedByBlank = skip(where: HTTPGrammar.isBlank) && HTTPGrammar.isBlank(bytes[position - 1])
        // A name followed by an equals sign continues a challenge. Any other name starts one.
        if position < bytes.count, bytes[position] == equals {
            return readParameter(name)
        }
        close()
        current = HTTPChallenge(scheme: HTTPField.foldedName(name))
        guard position < bytes.count, bytes[position] != comma else { return true }
        guard isFollowedByBlank else { return skipMalformed() }

        let start = position
        let token = run(Self.isToken68Character) + run { $0 == equals }
        if isAtEndOfElement, token.first != "=" {
            current?.token68 = token
            return true
        }
        position = start
        let parameter = run(HTTPGrammar.isTokenCharacter)
        _ = skip(where: HTTPGrammar.isBlank)
        return readParameter(parameter)
    }

    /// Reads the rest of a parameter after its name: `=` and a token or quoted string, with optional white space around
    /// the sign.
    ///
    /// An unquoted value may have more characters than a token, because servers write realms and nonces that way. It
    /// ends at white space, a comma or a quote.
    private mutating func readParameter(_ name: String) -> Bool {
        guard !name.isEmpty, take(equals) else { return skipMalformed() }
        _ = skip(where: HTTPGrammar.isBlank)
        let value: [UInt8]
        if take(quote) {
            guard let text = quotedBytes() else {
                isBroken = true
                return false
            }
            value = text
        } else {
            value = Array(runBytes { !HTTPGrammar.isBlank($0) && $0 != comma && $0 != quote })
            guard !value.isEmpty else { return skipMalformed() }
        }
        guard isAtEndOfElement else { return skipMalformed() }
        let key = HTTPField.foldedName(name)
        if current?.token68 != nil || current?.values.updateValue(value, forKey: key) != nil { isBroken = true }
        return true
    }

    /// Skips the rest of an element and marks its challenge as malformed. After a quote, separators can't be
    /// distinguished from other commas, so the rest of the value is ignored.
    private mutating func skipMalformed() -> Bool {
        isBroken = true
        return skip { $0 != comma && $0 != quote } && bytes[position] == comma
    }

    private mutating func close() {
        if let current, !isBroken { found.append(current) }
        current = nil
        isBroken = false
    }

    // MARK: Characters

    /// Reads the content of a quoted string and resolves quoted pairs. Returns `nil` if the string doesn't end.
    private mutating func quotedBytes() -> [UInt8]? {
        var text: [UInt8] = []
        while position < bytes.count, bytes[position] != quote {
            if bytes[position] == UInt8(ascii: "\\") { position += 1 }
            guard position < bytes.count else { return nil }
            text.append(bytes[position])
            position += 1
        }
        return take(quote) ? text : nil
    }

    private var isAtEndOfElement: Bool {
        let next = bytes[position...].first { !HTTPGrammar.isBlank($0) }
        return next == nil || next == comma
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    /// Skips bytes. Returns false at the end of the value.
    private mutating func skip(where isPassed: (UInt8) -> Bool) -> Bool {
        while position < bytes.count, isPassed(bytes[position]) { position += 1 }
        return position < bytes.count
    }

    private mutating func run(_ isPart: (UInt8) -> Bool) -> String {
        String(decoding: runBytes(isPart), as: UTF8.self)
    }

    private mutating func runBytes(_ isPart: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = position
        _ = skip(where: isPart)
        return bytes[start..<position]
    }

    /// Whether the byte is a character of `token68` other than an equals sign (RFC 9110, section 11.2).
    private static func isToken68Character(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~+/".utf8.contains(byte)
        }
    }
}
