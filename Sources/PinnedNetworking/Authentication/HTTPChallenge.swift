import HTTPMessages

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field (RFC 9110, section 11.3).
struct HTTPChallenge: Sendable, Hashable {
    /// Lower case.
    let scheme: String
    /// What stands in place of parameters: `Negotiate YII…==`.
    var token68: String?
    /// The bytes of the parameters as they came, by name in lower case. A parameter that comes twice makes a challenge
    /// unusable, so there is one value each.
    var values: [String: [UInt8]] = [:]

    /// The most that is read, in bytes of all values together. Past any limit everything is refused (HA10).
    static let sizeLimit = 64 * 1024
    static let challengeLimit = 100
    static let parameterLimit = 100

    /// The parameters as text.
    var parameters: [String: String] { values.mapValues(HTTPField.text) }

    /// All challenges of a response, in order. What is malformed is left out, and what stands beside it is kept where
    /// one can be told from the other.
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

    /// The parameters of fields that hold nothing else, as `Authentication-Info` does (RFC 7615, section 3); nil when
    /// anything about them is malformed.
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

/// Walks through one field value.
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

    /// Reads up to the comma behind an element; false when the rest of the value cannot be told apart any more.
    private mutating func readElement() -> Bool {
        let name = run(HTTPGrammar.isTokenCharacter)
        guard !name.isEmpty else { return skipMalformed() }
        let isFollowedByBlank = skip(where: HTTPGrammar.isBlank) && HTTPGrammar.isBlank(bytes[position - 1])
        // A name and an equals sign continue a challenge, any other name begins one.
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

    /// Reads what stands behind a parameter's name: `=` and a token or quoted string, blanks around the sign allowed.
    ///
    /// Without quotes a value may hold more than a token may, since servers write realms and nonces so; it ends at a
    /// blank, a comma or a quote.
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

    /// Passes over the rest of an element, and with it the challenge it belongs to. Behind a quote nobody can say which
    /// comma separates, so all that follows is lost.
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

    /// The content of a quoted string, quoted pairs resolved; nil when it does not end.
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

    /// Moves over bytes; false when the value ends with them.
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

    /// `token68` without its equals signs (RFC 9110, section 11.2).
    private static func isToken68Character(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "-._~+/".utf8.contains(byte)
        }
    }
}
