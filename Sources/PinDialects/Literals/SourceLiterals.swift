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

    private static let declarations: Set = ["const", "let", "var", "val", "final", "static", "late"]

    init(_ bytes: [UInt8], _ cursor: TextCursor) {
        var budget = 16 * bytes.count + 10_000
        scan(from: cursor, to: bytes.count, &budget)
        isExhausted = budget <= 0
    }

    private mutating func scan(from cursor: TextCursor, to end: Int, _ budget: inout Int) {
        var parser = LiteralParser(cursor, budget: budget)
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
        while true {
            parser.skipBlanks()
            let position = parser.cursor.position
            guard let byte = parser.cursor.byte, parser.cursor.index < end else { break }
            var next: SourceLiteral?
            defer { isArgument = byte == UInt8(ascii: "(") || byte == UInt8(ascii: ",") }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "("):
                call = byte == UInt8(ascii: "(") ? last?.word : nil
                if call != nil { (isMerge, target) = (call == "Object.assign", nil) }
                if let kind = parser.container(depth: 0) {
                    let literal = SourceLiteral(kind: kind, position: position)
                    if byte == UInt8(ascii: "["), last?.word != nil, let key = literal.onlyText,
                        isDeletion || parser.changesValue()
                    {
                        changes.append((key, position))
                    } else if byte == UInt8(ascii: "["), let list = last?.word, parser.changesValue() {
                        changed[list] = changed[list] ?? position
                    }
                    roots.append(Root(literal: literal, argument: argument, constant: nil))
                    inner += literal.expressions
                }
                argument = nil
            case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
                var copy = parser
                if let kind = copy.string() {
                    parser = copy
                    let literal = SourceLiteral(kind: kind, position: position)
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
                argument = last
            case UInt8(ascii: ":") where isDeclared && last != nil:
                // The type of a constant.
                parser.skip { !$0.isLineEnd && !"=;)".utf8.contains($0) }
                next = last
            case UInt8(ascii: "="):
                parser.step()
                guard case .word(let name)? = last?.kind, parser.cursor.byte.map({ !"=>".utf8.contains($0) }) ?? false
                else { break }
                var copy = parser
                let value = copy.value()
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
                if Self.declarations.contains(name) {
                    isDeclared = true
                } else {
                    next = SourceLiteral(kind: .word(name), position: position)
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
                }
                if isMerge, isArgument {
                    if let target { merges.append((target, name, position)) } else { target = name }
                }
                argument = nil
            default:
                if byte == UInt8(ascii: ";") { isDeclared = false }
                isDeletion = false
                parser.step()
                argument = nil
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
