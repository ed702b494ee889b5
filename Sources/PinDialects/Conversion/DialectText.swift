import PinctlBasics

/// A text whose dialect is looked for.
final class DialectText {
    /// The form of a text by its first character.
    enum Form { case binary, markup, object, other }

    /// The kind of a file in a tree by its name.
    enum Kind: CaseIterable { case markup, json, yaml, jvm, swift, literals, plain, text, none }

    /// The bytes as UTF-8.
    let bytes: [UInt8]
    /// The bytes as they are in the file.
    let original: [UInt8]
    private(set) lazy var form: Form =
        switch start {
        case _ where isBinaryList: .binary
        case UInt8(ascii: "<"): .markup
        case UInt8(ascii: "{"): .object
        default: .other
        }
    /// The kind of a file in a tree, or `nil` for a file that a user has named.
    let kind: Kind?
    /// The name of a file in a tree, or an empty text.
    let name: String
    /// Whether a program may have pins, so that its literals are worth reading.
    private lazy var mayPin = {
        let bytes = bytes
        // The pins of a program that hands them to react-native-ssl-public-key-pinning may be damaged.
        // mutant map-initializer: false by PinSearchTests/unusable
        let callsInitializer = kind == .literals && has(Self.initializer)
        return callsInitializer || DigestShape.mayHavePins(bytes.span, inQuotes: kind != .yaml)
    }()
    private static let initializer = "initializeSslPinning("

    init(_ bytes: [UInt8], inTreeAs name: String? = nil) {
        original = bytes
        let bytes = (try? XMLReader.decoded(bytes))?.bytes ?? bytes
        self.bytes = bytes
        self.name = name ?? ""
        kind = name.map { ZoneReader.isZone(bytes, named: $0) ? .plain : Kind($0) }
    }

    var isInTree: Bool { kind != nil }

    private var isBinaryList: Bool { bytes.starts(with: "bplist".utf8) }

    /// Whether a file in a tree can have pins, or be one of pins that was damaged. Most files have nothing of all that
    /// a mark or a search looks for, which is found out without reading each byte.
    static func mayConcernPins(_ bytes: Span<UInt8>, inTreeAs name: String) -> Bool {
        let kind = Kind(name)
        if bytes.has("bplist", at: 0) || isNamedForPins(name, kind) { return true }
        let isPlain = kind == .plain || kind == .text
        let hasLiterals = [.json, .yaml, .swift, .literals].contains(kind)
        let search = isPlain || ZoneReader.mayBeZone(named: name) ? wordsOfTexts : words
        var isZone: Bool?
        let hasWord = search.hasWord(in: bytes) { word, range in
            switch word {
            case ..<marks.count: return true
            case ..<(marks.count + DigestShape.prefixes.count):
                return hasLiterals || DigestShape.isSHA1(at: range.lowerBound, in: bytes)
            // mutant find-plain-words: false by PinSearchTests
            case _ where isPlain: return true
            default:
                let isFound = isZone ?? ZoneReader.isZone([UInt8](copying: bytes), named: name)
                isZone = isFound
                return isFound
            }
        }
        if hasWord { return true }
        if hasLiterals, DigestShape.mayHaveDigests(bytes, inQuotes: kind != .yaml) { return true }
        // A key of JSON may have its letters escaped.
        if kind == .json, keys.isIn(bytes) { return true }
        return DigestShape.isAny(in: bytes)
    }

    private static let keys = WordSearch(["\"pins\"", "\\u00"])

    /// The words without which a file in a tree has no mark of a dialect and no damaged pin.
    private static let marks =
        [
            "sha256/", "pin-sha256", "<network-security-config", "<pin-set", "tskconfiguration",
            "tskpinneddomains", "tskpublickeyhashes", "nspinned", "spki-sha256-base64", "sectrustpinningrequired",
            "pubkey_sha256", "\"domains\"", "\"payloadtype\"", "certificatepinner", "pinningpolicy(",
            "pinningrule(", "trustevaluator(", ".pincertificates(", ".pinpublickeys(", "pinnedpubkey",
            "addpublickeypins", "public-key-pins", "tlsa ", "tlsa\t", initializer.lowercased(),
            "envoy.extensions.transport_sockets.tls",
        ] + EnvoyContext.keyHashes + EnvoyContext.certificateHashes

    /// The words that are looked for in every file, and those in texts that may be zones. The shorter the shortest of
    /// them is, the longer the search takes.
    private static let words = WordSearch(marks + DigestShape.prefixes)
    private static let wordsOfTexts = WordSearch(marks + DigestShape.prefixes + ZoneReader.marks)

    /// Whether a file in a tree has the usual name of one with pins, and nothing that could be one.
    var isEmptyPinFile: Bool {
        guard isNamedForPins else { return false }
        let text = String(
            decoding: bytes.lazy.filter { $0 > 0x20 && ![0xEF, 0xBB, 0xBF].contains($0) }.prefix(200), as: UTF8.self)
        return switch kind {
        case .markup: text.isEmpty || text.hasPrefix("<?") && text.utf8.count { $0 == UInt8(ascii: "<") } == 1
        case .json, .yaml: text.allSatisfy { "{}[]-".contains($0) } || text == "null" || kind == .json && hasNoValue
        default: text.isEmpty
        }
    }

    /// Whether a file in a tree has the usual name of one with pins.
    private(set) lazy var isNamedForPins = kind.map { Self.isNamedForPins(name, $0) } ?? false

    /// Whether the name of a file is the usual one of a file with pins.
    static func isNamedForPins(_ name: String) -> Bool {
        isNamedForPins(name, Kind(name))
    }

    private static func isNamedForPins(_ name: String, _ kind: Kind) -> Bool {
        guard [.markup, .json, .yaml, .jvm, .swift, .literals].contains(kind), namesOfPins.isIn(Array(name.utf8)) else {
            return false
        }
        let file = name.split(separator: "/").last.map(String.init) ?? ""
        guard !["network_security_config.xml", "info.plist"].contains(file.lowercased()) else { return true }
        let texts = [file, file.lowercased()].map { Array($0.utf8)[...] }
        let words = texts.reduce([] as PinWords) { $0.union(PinWords($1)) }
        // Others are for the PIN of a user, such as `activity_pin.xml`.
        // mutant find-named: true for `words.contains(.tls)` by PinSearchTests/ignored
        return words.contains(.pin) && (words.contains(.tls) || !PinWords.words(texts[0]).contains("pin"))
    }

    /// The texts without which a name isn't the usual one of a file with pins.
    private static let namesOfPins = WordSearch(
        PinWords.parts + ["network_security_config.xml", "info.plist"])

    /// Whether JSON has only empty objects and lists.
    private var hasNoValue: Bool {
        func isEmpty(_ value: JSONValue) -> Bool {
            value.members.map { $0.allSatisfy { isEmpty($0.value) } } ?? value.elements.map { $0.allSatisfy(isEmpty) }
                ?? false
        }
        return document.root.map(isEmpty) ?? false
    }

    /// Whether a file in a tree is JSON that can't be read. JSON5 has more forms than the reader.
    var isBrokenJSON: Bool {
        kind == .json && !name.lowercased().hasSuffix(".json5") && document.root == nil
    }

    /// The text without its comments if it is in a tree, where marks that are only mentioned don't count.
    private(set) lazy var marked = isInTree ? SearchedText(bytes, name: name).withoutComments : bytes
    /// The texts in the form of a digest.
    private(set) lazy var digests = {
        let bytes = bytes
        return DigestShape.all(in: bytes.span)
    }()
    private(set) lazy var document = JSONCReader.read(bytes, dialect: .jsonc)
    private(set) lazy var map =
        isInTree && !mayPin ? (isMap: false, hasPins: false, stray: []) : PinMapReader.search(bytes, path: name)

    /// Whether the text has one of some words. With `ignoringCase` they are in small letters.
    func has(_ words: String..., ignoringCase: Bool = false) -> Bool {
        // Few files have any, so that the comments of most needn't be known.
        bytes.hasAny(of: words, ignoringCase: ignoringCase)
            && (!isInTree || marked.hasAny(of: words, ignoringCase: ignoringCase))
    }

    /// Whether the text begins with some lower-case ASCII, in any case.
    func begins(with word: String) -> Bool {
        let start = marked.drop { $0.isBlank || $0.isLineEnd || "\"'".utf8.contains($0) }.prefix(word.utf8.count)
        return String(decoding: start, as: UTF8.self).lowercased() == word
    }

    /// Whether a line begins with some lower-case ASCII, in any case.
    func hasLine(from word: String) -> Bool {
        bytes.hasAny(of: [word], ignoringCase: true)
            && marked.split(whereSeparator: \.isLineEnd).contains {
                String(decoding: $0.prefix(word.utf8.count), as: UTF8.self).lowercased() == word
            }
    }

    /// Whether a key is followed by a value, as in `key: {` and `"key" : {`. With `orMentions`, a file that a user has
    /// named needs only the word.
    func hasKey(_ key: String, orMentions: Bool = false) -> Bool {
        guard has(key) else { return false }
        if !isInTree, orMentions { return true }
        let word = Array(key.utf8)
        var rest = marked[...]
        while let found = rest.firstRange(of: word) {
            rest = rest[found.upperBound...]
            let before = marked[..<found.lowerBound].suffix(12).reversed().drop { "\"'@ \\".utf8.contains($0) }
            let after = rest.drop { "\"'\\".utf8.contains($0) }.drop { $0.isBlank || $0.isLineEnd }
            // A case or a choice isn't a member.
            let isCase = before.starts(with: "case".utf8.reversed()) || before.first == UInt8(ascii: "?")
            if after.first == UInt8(ascii: ":"), !isCase || !isInTree { return true }
            if !isInTree, rest.first == UInt8(ascii: "\"") { return true }
        }
        return false
    }

    /// Whether the first element in a tree is one of these, or a misspelled one.
    func isRoot(among names: [String]) -> Bool {
        guard isInTree else { return true }
        let root = Self.root(marked).lowercased()
        return names.contains(root) || suggestion(for: root, among: names.filter { $0.utf8.count > 5 }) != nil
    }

    /// Returns the name of the first element of a document, even of one that is malformed.
    private static func root(_ bytes: [UInt8]) -> String {
        var rest = bytes[...]
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[(start + 1)...]
            guard rest.first?.isWordByte ?? false else { continue }
            return String(decoding: rest.prefix { $0.isWordByte || $0 == UInt8(ascii: "-") }, as: UTF8.self)
        }
        return ""
    }

    /// Returns the first byte after leading white space and C-style comments of both kinds.
    private var start: UInt8? {
        var rest = bytes[...]
        while true {
            rest = rest.drop { $0 <= 0x20 || $0 == 0xEF || $0 == 0xBB || $0 == 0xBF }
            if rest.starts(with: "//".utf8) {
                rest = rest.drop { !$0.isLineEnd }
            } else if rest.starts(with: "/*".utf8), let end = bytes.firstRange(of: "*/", from: rest.startIndex) {
                rest = rest[end.upperBound...]
            } else {
                return rest.first
            }
        }
    }
}

extension DialectText.Kind {
    init(_ name: String) {
        if let kind = Self.kinds[SearchedText.fileExtension(name)] {
            self = kind
        } else {
            self = SearchedText.language(name) == .script && !SearchedText.isScript(name) ? .plain : .none
        }
    }

    private static let kinds: [String: Self] = [
        "xml": .markup, "plist": .markup, "json": .json, "jsonc": .json, "json5": .json, "yaml": .yaml, "yml": .yaml,
        "kt": .jvm, "kts": .jvm, "java": .jvm, "groovy": .jvm, "scala": .jvm, "swift": .swift, "js": .literals,
        "jsx": .literals, "mjs": .literals, "cjs": .literals, "ts": .literals, "tsx": .literals, "dart": .literals,
        "m": .literals, "mm": .literals, "txt": .text,
    ]
}

extension [UInt8] {
    /// Returns whether the bytes contain one of some words in ASCII, in one pass. With `ignoringCase` the words are in
    /// small letters.
    package func hasAny(of words: [String], ignoringCase: Bool = false) -> Bool {
        let fold: UInt8 = ignoringCase ? 0x20 : 0
        let words = words.map { $0.utf8.map { $0 | fold } }.filter { !$0.isEmpty }
        let firsts = Set(words.map { $0[0] })
        let starts = (0...255).map { firsts.contains(UInt8($0) | fold) }
        let (bytes, table) = (span, starts.span)
        for index in 0..<bytes.count where table[Int(bytes[index])] {
            for word in words where index + word.count <= bytes.count {
                var length = 0
                while length < word.count, bytes[index + length] | fold == word[length] { length += 1 }
                if length == word.count { return true }
            }
        }
        return false
    }
}
