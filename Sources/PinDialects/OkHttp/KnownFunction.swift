import CertificatePinning
import PinctlBasics
import PinctlFoundation

/// A function of a library whose result is known if its argument is: the decoders of base64 and hexadecimal digits, and
/// those that make a time.
enum KnownFunction {
    case base64
    case hex
    /// A time in milliseconds or seconds since 1970.
    case milliseconds
    case seconds
    /// A time as ISO 8601 in UTC.
    case instant
    /// A value of another type that is the same, such as the `Date` of an `Instant`.
    case sameBytes
    case sameTime
    case millisecondsOf

    /// Finds a function by its name with the type, such as `Base64.decode`, or that of a value's member, such as
    /// `.decodeBase64`.
    init?(_ name: String) {
        guard let function = Self.functions[name] else { return nil }
        self = function
    }

    private static let functions: [String: KnownFunction] = [
        "Base64.decode": .base64, "Base64.Default.decode": .base64, "Base64.Mime.decode": .base64,
        "Base64.UrlSafe.decode": .base64, "Base64.getDecoder.decode": .base64, "Base64.getUrlDecoder.decode": .base64,
        "Base64.getMimeDecoder.decode": .base64, "Base64.decodeBase64": .base64, "ByteString.decodeBase64": .base64,
        "BaseEncoding.base64.decode": .base64, ".decodeBase64": .base64, "Hex.decodeHex": .hex, "Hex.decode": .hex,
        "ByteString.decodeHex": .hex, "HexFormat.of.parseHex": .hex, "BaseEncoding.base16.decode": .hex,
        "BaseEncoding.base16.lowerCase.decode": .hex, ".decodeHex": .hex, ".hexToByteArray": .hex,
        ".toByteArray": .sameBytes, "Date": .milliseconds, "Date.from": .sameTime,
        "Instant.ofEpochMilli": .milliseconds,
        "Instant.ofEpochSecond": .seconds, "Instant.parse": .instant, ".toInstant": .sameTime,
        ".toEpochMilli": .millisecondsOf,
    ]
    /// The functions without arguments that return a decoder.
    private static let makers: Set = [
        "Base64.getDecoder", "Base64.getUrlDecoder", "Base64.getMimeDecoder", "HexFormat.of", "BaseEncoding.base64",
        "BaseEncoding.base16", "BaseEncoding.base16.lowerCase",
    ]

    /// Returns the result for an argument, or `nil` for one at which the function throws.
    func result(of argument: KnownValue) -> KnownValue? {
        switch (self, argument) {
        case (.base64, .text(let text)):
            LenientBase64.decode(Self.urlSafe(text), needsPadding: false).map { .bytes($0) }
        case (.hex, .text(let text)): Hexadecimal.decode(text.utf8).map { .bytes($0) }
        case (.milliseconds, .number(let number)): .time(number)
        case (.seconds, .number(let number)):
            number.magnitude < UInt64(Int64.max / 1_000) ? .time(number * 1_000) : nil
        case (.instant, .text(let text)):
            text.hasSuffix("Z") ? Date(rfc3339: text).map { .time(Int64($0.timeIntervalSince1970 * 1_000)) } : nil
        case (.sameBytes, .bytes), (.sameTime, .time): argument
        case (.millisecondsOf, .time(let time)): .number(time)
        default: nil
        }
    }

    /// Returns the digits of base64 without white space, and without those of the URL-safe alphabet. A decoder that
    /// doesn't accept them throws.
    private static func urlSafe(_ text: String) -> [UInt8] {
        text.utf8.filter { !$0.isBlank && !$0.isLineEnd }.map { byte in
            byte == UInt8(ascii: "-") ? UInt8(ascii: "+") : byte == UInt8(ascii: "_") ? UInt8(ascii: "/") : byte
        }
    }
}

// MARK: - Parsing

extension KnownFunction {
    /// Returns a name without its packages, which begin with small letters.
    static func simple(_ name: String) -> String {
        let parts = name.split(separator: ".")
        let type = parts.firstIndex(where: { $0.utf8.first.map { (0x41...0x5A).contains($0) } ?? false })
        return type.map { parts[$0...].joined(separator: ".") } ?? name
    }

    /// Parses the arguments of a known function, whose name was read up to an open parenthesis. Returns `nil` for
    /// another function, and leaves the lexer as it is.
    static func call(of name: String, _ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
        var copy = lexer
        var name = simple(name)
        while makers.contains(name), copy.next()?.isSign("(") == true, copy.next()?.isSign(")") == true,
            copy.next()?.isSign(".") == true, let member = copy.next()?.word
        {
            name += "." + member
        }
        guard let function = KnownFunction(name), copy.next()?.isSign("(") == true,
            let value = SourceValue(&copy, depth: depth + 1), let end = copy.next()
        else { return nil }
        switch (function, end.isSign(",")) {
        case (.base64, true):
            // The flags of a decoder don't change the meaning of a valid text.
            var inner = 0
            while let token = copy.next() {
                if token.isSign("(") { inner += 1 }
                if token.isSign(",") { return nil }
                if token.isSign(")") { inner -= 1 }
                if inner < 0 { break }
            }
        default: guard end.isSign(")") else { return nil }
        }
        lexer = copy
        return .object(name, [SourceArgument(label: nil, value: value)])
    }

    /// Whether the next tokens are a known function without arguments, which is a member of the value before it.
    static func isMember(_ lexer: SourceLexer) -> Bool {
        var lexer = lexer
        guard let word = lexer.next()?.word, KnownFunction("." + word) != nil, lexer.next()?.isSign("(") == true else {
            return false
        }
        return lexer.next()?.isSign(")") == true
    }

    /// Parses a known function behind a value, with the signs that say that it isn't null: `!!.toByteArray()`.
    static func member(_ lexer: inout SourceLexer) -> String? {
        var copy = lexer
        func skipSigns() {
            while copy.peek()?.isSign("!") == true || copy.peek()?.isSign("?") == true { _ = copy.next() }
        }
        skipSigns()
        guard copy.next()?.isSign(".") == true, isMember(copy), let word = copy.next()?.word else { return nil }
        copy.skipParentheses()
        while copy.peek()?.isSign("!") == true { _ = copy.next() }
        lexer = copy
        return "." + word
    }

    /// Parses the numbers of an array of bytes up to its closing bracket: `0x0A, -1, 0xFF.toByte(), (byte) 0xFF`.
    static func bytes(_ lexer: inout SourceLexer, until closer: Unicode.Scalar) -> SourceValue? {
        var digits = ""
        var isNegative = false
        while let token = lexer.next() {
            if token.isSign(closer) {
                return .object(".decodeHex", [SourceArgument(label: nil, value: .text([.literal(digits)]))])
            }
            if token.isSign("-") {
                isNegative = true
            } else if token.isSign("(") {
                guard lexer.next()?.word == "byte", lexer.next()?.isSign(")") == true else { return nil }
            } else if let word = token.word {
                guard case .number(let number) = KnownValue(literal: word), number <= 0xFF else { return nil }
                digits += Hexadecimal.encode([UInt8(truncatingIfNeeded: isNegative ? -number : number)])
                isNegative = false
                if lexer.peek()?.isSign(".") == true {
                    _ = lexer.next()
                    guard lexer.next()?.word == "toByte" else { return nil }
                    lexer.skipParentheses()
                }
                guard let next = lexer.peek(), next.isSign(",") || next.isSign(closer) else { return nil }
                if next.isSign(",") { _ = lexer.next() }
            } else {
                return nil
            }
        }
        return nil
    }
}

extension KnownValue {
    /// The value of a number or a Boolean. Names of other values have none.
    init?(literal word: String) {
        switch word {
        case "true": self = .flag(true)
        case "false": self = .flag(false)
        case "Long.MAX_VALUE": self = .number(.max)
        default:
            guard word.utf8.first?.isDigit ?? false else { return nil }
            let text = word.replacing("_", with: "").lowercased()
            let digits = text.hasSuffix("l") ? text.dropLast() : text[...]
            let number = digits.hasPrefix("0x") ? Int64(digits.dropFirst(2), radix: 16) : Int64(digits)
            guard let number, digits == "0" || !digits.hasPrefix("0") || digits.hasPrefix("0x") else { return nil }
            self = .number(number)
        }
    }
}
