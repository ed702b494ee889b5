import CertificatePinning
import PinctlBasics

extension PropertyList {
    /// Whether a text isn't a property list itself, but may be a program or document with one in its literals.
    static func areLiterals(_ bytes: [UInt8]) -> Bool {
        let first = bytes.first { !$0.isBlank && !$0.isLineEnd && !(0xBB...0xEF).contains($0) }
        return first != UInt8(ascii: "<") && !bytes.starts(with: "bplist".utf8)
            && XMLReader.wideEncoding(of: bytes.span) == nil
    }

    /// Reads a property list, or the dictionary with this key in the literals of a program: Swift, Objective-C, or the
    /// configuration of an app in JavaScript or JSON.
    static func read(
        _ bytes: [UInt8], path: String, orLiteralWith key: String
    ) throws(PolicyFileError) -> PropertyList {
        let (list, problems) = try reading(bytes, path: path, orLiteralWith: key)
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
        return list
    }

    /// Returns a property list, or the dictionary of a program with what is known of its values, and the problems with
    /// the others.
    static func reading(
        _ bytes: [UInt8], path: String, orLiteralWith key: String
    ) throws(PolicyFileError) -> (list: PropertyList, problems: PolicyProblems) {
        guard areLiterals(bytes) else { return (try read(bytes, path: path), PolicyProblems(path: path)) }
        let literals = SourceLiterals(bytes, try TextCursor(checking: bytes, path: path), path: path)
        var problems = PolicyProblems(path: path)
        let found = literals.roots.flatMap { $0.literal.objects(with: key) }
        if literals.isExhausted {
            problems.add(SourceLiterals.exhaustion, at: SourcePosition(line: 1, column: 1))
        } else if found.count != 1 {
            problems.add(
                found.isEmpty
                    ? "no dictionary has the key \(key): name the file with the dictionary itself"
                    : "several dictionaries have the key \(key), and an app uses one of them: give each a file of its "
                        + "own",
                at: found.dropFirst().first?.position ?? SourcePosition(line: 1, column: 1))
        }
        if problems.isEmpty, let object = found.first {
            var conversion = LiteralConversion(literals: literals, problems: problems)
            let list = conversion.list(object)
            let names = conversion.used.union(literals.constants(around: object.range).map(\.name))
            // mutant literal-dictionary: [SourcePosition]() for `names…changed[$0] }` by LiteralEditTests/constants
            for position in names.compactMap({ literals.changed[$0] }).sorted() {
                conversion.problems.add(
                    "the program changes the dictionary or its values here, in a way that isn't read: write those that "
                        + "it ends with", at: position)
            }
            return (list, conversion.problems)
        }
        throw PolicyFileError(problems: problems.sorted)
    }
}

extension SourceLiterals {
    /// Whether an object has the key, or the constant for it.
    func contains(key: String) -> Bool { roots.contains { !$0.literal.objects(with: key).isEmpty } }
}

extension SourceLiteral {
    /// Returns the objects with a key, which may be the constant for it, in and below this literal.
    fileprivate func objects(with key: String) -> [SourceLiteral] {
        switch kind {
        case .object(let members):
            if members.contains(where: { LiteralConversion.key($0) == key }) { return [self] }
            return members.flatMap { $0.value.objects(with: key) }
        case .list(let elements, _): return elements.flatMap { $0.objects(with: key) }
        case .text, .word, .expression: return []
        }
    }
}

/// The conversion of a literal to a property list. TrustKit's constants have the names of its keys, with a k.
private struct LiteralConversion {
    let literals: SourceLiterals
    var problems: PolicyProblems
    private(set) var used: Set<String> = []
    private var depth = 0
    /// The remaining number of values. Constants of constants can multiply.
    private var room = 100_000

    init(literals: SourceLiterals, problems: PolicyProblems) {
        self.literals = literals
        self.problems = problems
    }

    static func key(_ member: SourceLiteral.Member) -> String { constant(member.key) ?? member.key }

    /// Returns the text of one of TrustKit's constants. The one for an exclusion is spelled differently.
    private static func constant(_ name: String) -> String? {
        if name == "kTSKExcludeSubdomainFromParentPolicy" { return TrustKitReader.excludeKey }
        return name.hasPrefix("kTSK") ? String(name.dropFirst()) : nil
    }

    mutating func list(_ literal: SourceLiteral) -> PropertyList {
        room -= 1
        guard room > 0 else {
            if room == 0 {
                problems.add("the dictionary has too many values: write its pins themselves", at: literal.position)
            }
            return PropertyList(.other("a value"), at: literal.position)
        }
        let kind: PropertyList.Kind
        switch literal.kind {
        case .object(let members): kind = .dictionary(self.members(members))
        case .list(let elements, _): kind = .array(elements.map { list($0) })
        case .text(let text): kind = .string(text)
        case .word(let word):
            if let value = literal.bool {
                kind = .bool(value)
            } else if let number = Int64(word) {
                kind = .integer(number)
            } else if let text = Self.constant(word) {
                kind = .string(text)
            } else if depth < 16, let value = literals.value(of: word, used: &used) {
                depth += 1
                defer { depth -= 1 }
                return list(value)
            } else {
                problems.add(
                    "\(quoted(word)) isn't set to one value in this file: write the value itself",
                    at: literal.position)
                kind = .other("a constant")
            }
        case .expression(let expression):
            problems.add("\(quoted(expression.text)) isn't a literal: write the value itself", at: literal.position)
            kind = .other("an expression")
        }
        return PropertyList(kind, at: literal.position)
    }

    private mutating func members(_ members: [SourceLiteral.Member]) -> [PropertyList.Member] {
        var result: [PropertyList.Member] = []
        var known: Set<String> = []
        func add(_ member: PropertyList.Member) {
            if known.insert(member.key).inserted {
                result.append(member)
            } else {
                problems.add("\(quoted(member.key)) appears twice: remove one", at: member.position)
            }
        }
        for member in members {
            if member.key == "..." {
                var value = member.value
                if case .word(let name) = value.kind { value = literals.value(of: name, used: &used) ?? value }
                if let spread = value.members, depth < 16, room > 0 {
                    room -= 1
                    depth += 1
                    for member in self.members(spread) { add(member) }
                    depth -= 1
                } else {
                    problems.add(
                        "the members that are spread here aren't literals: write them themselves",
                        at: member.position)
                }
                continue
            }
            var key = Self.key(member)
            if member.isComputed, Self.constant(member.key) == nil {
                guard let text = literals.value(of: member.key, used: &used)?.text else {
                    problems.add(
                        "\(quoted(member.key)) isn't set to one value in this file: write the key itself",
                        at: member.position)
                    continue
                }
                key = text
            }
            add(PropertyList.Member(key, list(member.value), at: member.position))
        }
        return result
    }
}
