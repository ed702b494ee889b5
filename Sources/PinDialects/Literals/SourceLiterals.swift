import CertificatePinning
import PinctlBasics

/// The literals of a text: those that aren't part of another one, and the values of constants.
struct SourceLiterals {
    /// An object, a list or a text with what is before it.
    struct Root {
        let literal: SourceLiteral
        /// The argument before it, such as the URL of `fetch(url, { … })`.
        let argument: SourceLiteral?
        /// The name that it is the value of.
        let constant: String?
        /// Whether a function or a cascade follows, whose result the program uses: `{ … }.filter(…)`.
        var isDerived = false
        /// Whether it is one of several values, of which the program chooses one.
        var isChoice = false
    }

    private(set) var roots: [Root] = []
    /// The keys whose values a program sets, changes or deletes, as in `pins["api.test"] = other`.
    private(set) var changes: [(key: String, position: SourcePosition)] = []
    /// Whether the text is nested too deeply to be read as a whole.
    private(set) var isExhausted = false
    static let exhaustion = "the text is nested too deeply to be read: name a file with the pins alone"
    /// The value of each constant, or `nil` for a name with several values.
    private var constants: [String: SourceLiteral?] = [:]

    /// The names of collections that a program changes, as in `PINS.push(pin)` and `PINS[1] = pin`, with the position
    /// of the first change.
    private(set) var changed: [String: SourcePosition] = [:]
    /// The names of objects with those of others that are merged into them, as in `Object.assign(pins, more)`.
    private(set) var merges: [(target: String, source: String, position: SourcePosition)] = []

    /// The first words of Objective-C messages that change a collection.
    private static let messages: Set = [
        "setObject", "removeObjectForKey", "removeAllObjects", "setValue", "setDictionary", "addEntriesFromDictionary",
        "addObject", "removeObject", "replaceObjectAtIndex", "removeObjectAtIndex", "setObjectForKeyedSubscript",
    ]
    /// The functions that change their first argument.
    private static let changingCalls: Set = [
        "Reflect.deleteProperty", "Reflect.set", "Object.defineProperty", "_.set", "_.unset",
    ]
    private static let declarations: Set = ["const", "let", "var", "val", "final", "static", "late"]

    /// Whether a comment can contain another one, as in Dart and Swift, but not in JavaScript and Objective-C.
    private let nestsComments: Bool
    /// Whether these are the values of documents in YAML.
    let isYAML: Bool

    init(_ bytes: [UInt8], _ cursor: TextCursor, path: String) {
        isYAML = false
        // mutant map-nested: false by PinMapTests/comments
        nestsComments = [".dart", ".swift"].contains(where: path.lowercased().hasSuffix)
        var budget = 16 * bytes.count + 10_000
        scan(from: cursor, to: bytes.count, &budget)
        isExhausted = budget <= 0
    }

    /// Takes the documents of a text in YAML, which has no constants: aliases are values.
    init(_ documents: [YAMLNode]) {
        nestsComments = false
        isYAML = true
        roots = documents.map { Root(literal: SourceLiteral($0), argument: nil, constant: nil) }
    }

    /// Returns the texts of the comments in a program, or in a document in YAML, where // doesn't begin one.
    static func comments(in bytes: [UInt8], isYAML: Bool) -> [String] {
        guard isYAML else { return LiteralParser.comments(in: bytes) }
        return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
            line.firstIndex(of: UInt8(ascii: "#")).map { String(decoding: line[($0 + 1)...], as: UTF8.self) }
        }
    }

    private mutating func scan(from cursor: TextCursor, to end: Int, _ budget: inout Int) {
        var parser = LiteralParser(cursor, budget: budget, nestsComments: nestsComments)
        var inner: [SourceLiteral.Expression] = []
        var last: SourceLiteral?
        var argument: SourceLiteral?
        var isDeclared = false
        var isDeletion = false
        /// Whether an opening parenthesis or a comma was read last.
        var isArgument = false
        /// The function whose arguments begin.
        var call: String?
        /// Whether these are the arguments of `Object.assign`, and the first of them, which the others are merged into.
        var (isMerge, target): (Bool, String?) = (false, nil)
        /// The name that an expression begins with, and whether members or elements of it follow.
        var (root, isPath): (String?, Bool) = (nil, false)
        var lastByte: UInt8 = 0
        /// Whether an operator that chooses between values was read in this statement.
        var isChoice = false
        func change(_ position: SourcePosition) {
            if let root { changed[root] = changed[root] ?? position }
        }
        while true {
            parser.skipBlanks()
            let (position, start) = (parser.cursor.position, parser.cursor.index)
            guard let byte = parser.cursor.byte, parser.cursor.index < end else { break }
            var next: SourceLiteral?
            defer {
                isArgument = byte == UInt8(ascii: "(") || byte == UInt8(ascii: ",")
                lastByte = byte
            }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "("):
                call = byte == UInt8(ascii: "(") ? last?.word : nil
                if call != nil { (isMerge, target) = (call == "Object.assign", nil) }
                isPath = byte == UInt8(ascii: "[") && root != nil
                if !isPath { root = nil }
                if let kind = parser.container(depth: 0) {
                    let literal = SourceLiteral(kind: kind, position: position, range: start..<parser.cursor.index)
                    if isPath, isDeletion || parser.changesValue() { change(position) }
                    if byte == UInt8(ascii: "["), last?.word != nil, let key = literal.onlyText,
                        isDeletion || parser.changesValue()
                    {
                        changes.append((key, position))
                    }
                    roots.append(
                        Root(
                            literal: literal, argument: argument, constant: nil,
                            isDerived: byte != UInt8(ascii: "(") && parser.isDerived(), isChoice: isChoice))
                    inner += literal.expressions
                }
                argument = nil
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
                var copy = parser
                if let kind = copy.string() {
                    parser = copy
                    let literal = SourceLiteral(kind: kind, position: position, range: start..<parser.cursor.index)
                    // The argument of a call, such as `pins.push("…")`, and not a text that is compared.
                    // mutant map-argument: true by PinMapTests/readAccess
                    if isArgument { roots.append(Root(literal: literal, argument: nil, constant: nil)) }
                    next = literal
                } else {
                    parser.step()
                }
                argument = nil
            case UInt8(ascii: ","):
                parser.step()
                (argument, root, isChoice) = (last, nil, false)
            case UInt8(ascii: ":") where isDeclared && last != nil:
                // The type of a constant.
                parser.skip { !$0.isLineEnd && !"=;)".utf8.contains($0) }
                next = last
            case UInt8(ascii: "="):
                parser.step()
                let isSet = lastByte != UInt8(ascii: "=") && parser.cursor.byte.map { !"=>".utf8.contains($0) } ?? false
                // mutant map-path: false for `isPath` by PinMapTests/changes
                if isSet, isPath { change(position) }
                root = nil
                isChoice = false
                guard case .word(let name)? = last?.kind, isSet else { break }
                var copy = parser
                // mutant map-assignment: copy.value() for `copy.value(within: LiteralParser.longestAssignment)` by
                //   SearchTimeTests
                let value = copy.value(within: LiteralParser.longestAssignment)
                define(name, value)
                if case .expression = value.kind {
                    // What is in it is searched as well.
                    parser.budget = copy.budget
                } else {
                    parser = copy
                    switch value.kind {
                    case .object, .list:
                        roots.append(Root(literal: value, argument: nil, constant: name))
                        inner += value.expressions
                    default: break
                    }
                }
            case let byte where byte.isWordByte || byte == UInt8(ascii: "$"):
                let name = parser.name()
                let parts = name.split(separator: ".").map(String.init)
                if lastByte == UInt8(ascii: "."), root != nil {
                    isPath = true
                } else {
                    // An Objective-C message to the object that was named last.
                    if let object = last?.word, Self.messages.contains(name) {
                        root = object
                        change(position)
                    }
                    (root, isPath) = (parts.first { $0 != "this" && $0 != "self" }, parts.count > 1)
                }
                if isDeletion || isArgument && call.map(Self.changingCalls.contains) ?? false { change(position) }
                if Self.declarations.contains(name) {
                    isDeclared = true
                } else {
                    next = SourceLiteral(
                        kind: .word(name), position: position, range: start..<parser.cursor.index)
                }
                // `pins.set("api.test", PINS)`
                if let key = argument?.text, let call, [".set", ".put"].contains(where: call.hasSuffix) {
                    changes.append((key, position))
                }
                if name == "delete" { isDeletion = true }
                if let dot = name.lastIndex(of: "."),
                    LiteralParser.changes.contains(String(name[name.index(after: dot)...])),
                    // mutant map-length: true for `name[dot...] != ".length"` by PinMapTests/readAccess
                    name[dot...] != ".length" || parser.changesValue()
                {
                    let list = String(name[..<dot])
                    changed[list] = changed[list] ?? position
                    change(position)
                } else if isPath, lastByte == UInt8(ascii: "."), LiteralParser.changes.contains(name) {
                    change(position)
                }
                if isMerge, isArgument {
                    if let target { merges.append((target, name, position)) } else { target = name }
                }
                argument = nil
            default:
                if byte == UInt8(ascii: ";") { (isDeclared, isChoice) = (false, false) }
                isDeletion = false
                if !".?!".utf8.contains(byte) { root = nil }
                parser.step()
                argument = nil
                let isTwice = parser.cursor.byte == byte && "?&|".utf8.contains(byte)
                let isTernary = byte == UInt8(ascii: "?") && parser.cursor.byte.map { !".:".utf8.contains($0) } ?? false
                if isTwice || isTernary { isChoice = true }
            }
            last = next
        }
        budget = parser.budget
        for expression in inner where budget > 0 {
            budget -= expression.end - expression.start.index
            scan(from: expression.start, to: expression.end, &budget)
        }
    }

    private mutating func define(_ name: String, _ value: SourceLiteral) {
        constants.updateValue(constants[name] == nil ? value : nil, forKey: name)
    }

    /// Whether a name is set in several places.
    func isReassigned(_ name: String) -> Bool { constants[name].map { $0 == nil } ?? false }

    /// Returns the constants whose values contain a range of the text, in no order.
    func constants(around range: Range<Int>) -> [(name: String, value: SourceLiteral)] {
        constants.compactMap { name, value in
            value.flatMap {
                $0.range.lowerBound <= range.lowerBound && range.upperBound <= $0.range.upperBound ? (name, $0) : nil
            }
        }
    }

    /// The constants that are set to one text, in no order.
    var texts: [(name: String, literal: SourceLiteral)] {
        constants.compactMap { name, value in value.flatMap { $0.text == nil ? nil : (name, $0) } }
    }

    /// Returns the value of a name, such as `PINS` or `Pins.api`. Each resolved constant is added to `used`.
    func value(of name: String, used: inout Set<String>) -> SourceLiteral? {
        var parts = name.split(separator: ".").map(String.init)[...]
        if parts.first == "this" || parts.first == "self" { parts = parts.dropFirst() }
        guard let first = parts.first else { return nil }
        guard let value = constants[first] else {
            // A constant of a type, as in `Pins.api`, is known by its own name.
            guard parts.count > 1, let last = parts.last, let value = constants[last] else { return nil }
            used.insert(last)
            return value
        }
        used.insert(first)
        var found = value
        for part in parts.dropFirst() { found = found?.members?.last { $0.key == part && !$0.isComputed }?.value }
        return found
    }
}
