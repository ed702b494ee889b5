import PinctlBasics

/// The names of a program that are used in a way in which the elements of a collection could change.
///
/// A collection may be spread, repeated, copied, added to another one, or passed to a call that only reads it.
/// Everything else, such as a call of its functions, an alias or an argument of a function of the program, may change
/// it. There are too many ways to do so to list those.
struct CollectionUses {
    private(set) var changeable: Set<String> = []

    /// The functions whose open parentheses are around a token, or `nil` for other brackets.
    private var callees: [String?] = []
    private var callee: String?

    /// Functions and properties that neither change a collection nor return a view of it.
    private static let readers: Set = [
        "toTypedArray", "toList", "toSet", "toMutableList", "toMutableSet", "toArray", "forEach", "onEach", "size",
        "isEmpty", "isNotEmpty",
    ]
    /// Those that return a view, through which it could be changed.
    private static let views: Set = ["entries", "entrySet", "asList", "asIterable"]
    /// Those that return a part of a pair, which may be a collection.
    private static let pairParts: Set = [
        "key", "value", "first", "second", "getKey", "getValue", "getFirst", "getSecond", "component1", "component2",
    ]
    /// Functions and constructors that copy or keep their arguments.
    private static let holders: Set = [
        "add", "addPublicKeyPins", "for", "ArrayList", "HashSet", "LinkedHashSet", "TreeSet", "LinkedList", "Pair",
    ]

    /// The parts of pairs and the properties of data classes.
    private let parts: Set<String>
    /// The data classes, whose objects keep collections and can't change them.
    private let classes: Set<String>

    /// `properties` are those of the data classes.
    init(_ lexer: SourceLexer, classes: Set<String> = [], properties: Set<String> = []) {
        self.classes = classes
        parts = Self.pairParts.union(properties)
        var lexer = lexer
        var (previous, lastButOne): (SourceToken?, SourceToken?)
        while let token = lexer.next() {
            switch token.kind {
            case .word("import") where token.startsLine: _ = lexer.takeImport()
            case .word(let word) where previous?.isSign(".") != true:
                take(word, behind: previous, &lexer)
            case .sign(UInt8(ascii: "(")):
                callees.append(callee)
                callee = nil
            case .sign(UInt8(ascii: "{")), .sign(UInt8(ascii: "[")):
                callees.append(nil)
                callee = nil
            case .sign(UInt8(ascii: ")")), .sign(UInt8(ascii: "}")), .sign(UInt8(ascii: "]")): _ = callees.popLast()
            case .word(let word):
                // The parameter in `String... PINS`, or a function of what a call has returned.
                if lastButOne?.isSign(".") == true { changeable.insert(word) }
                callee = Self.isCall(lexer) ? word : nil
            default: break
            }
            (previous, lastButOne) = (token, previous)
        }
    }

    private static func isCall(_ lexer: SourceLexer) -> Bool {
        var lexer = lexer
        SourceValue.skipTypeArguments(&lexer)
        return lexer.peek()?.isSign("(") == true
    }

    private mutating func take(_ word: String, behind previous: SourceToken?, _ lexer: inout SourceLexer) {
        let path = lexer.takePath(from: word)
        if Self.isCall(lexer) {
            let name = path.joined(separator: ".")
            callee = SourceValue.isCollection(name) ? name : path[path.count - 1]
        }
        for (index, name) in path.enumerated() {
            let members = path[(index + 1)...]
            let isRead =
                if members.isEmpty {
                    isRead(behind: previous, lexer)
                } else if let view = members.firstIndex(where: Self.views.contains) {
                    view == path.count - 1 && isReadView(lexer) || Self.isRepetition(members[view...].dropFirst())
                } else if members.allSatisfy(parts.contains) {
                    isReadPart(behind: previous, lexer)
                } else {
                    members.allSatisfy { Self.readers.contains($0) || parts.contains($0) }
                }
            if !isRead { changeable.insert(name) }
        }
    }

    private static func isRepetition(_ members: ArraySlice<String>) -> Bool {
        members.first == "forEach" || members.first == "onEach"
    }

    /// Whether only a loop or a call follows a view.
    private func isReadView(_ lexer: SourceLexer) -> Bool {
        var lexer = lexer
        if lexer.peek()?.isSign("(") == true {
            _ = lexer.next()
            guard lexer.next()?.isSign(")") == true else { return false }
        }
        guard let next = lexer.next() else { return true }
        return next.isSign(")") || next.isSign(".") && ["forEach", "onEach"].contains(lexer.peek()?.word)
    }

    /// Whether the part of a pair, by a property or a function, is only read where it stands.
    private func isReadPart(behind previous: SourceToken?, _ lexer: SourceLexer) -> Bool {
        var lexer = lexer
        if lexer.peek()?.isSign("(") == true { lexer.skipParentheses() }
        guard lexer.peek()?.isSign(".") == true else { return isRead(behind: previous, lexer) }
        _ = lexer.next()
        return lexer.peek()?.word.map(Self.readers.contains) ?? false
    }

    /// Whether a name alone is only defined or read where it stands.
    private func isRead(behind previous: SourceToken?, _ lexer: SourceLexer) -> Bool {
        var lexer = lexer
        let next = lexer.next()
        let second = lexer.peek()
        let isCompound = second?.isSign("=") == true
        if let next {
            // A definition or its type, and an addition, which makes a copy.
            // mutant okhttp-function: true for `second?.isSign(":") != true` by OkHttpTests/unknownCollections
            let isType = next.isSign(":") && second?.isSign(":") != true
            if next.isSign("=") || isType || next.isSign("+") && !isCompound { return true }
        }
        guard let previous else { return false }
        if previous.isSign("*") || previous.isSign("+") { return true }
        // A declaration in Java.
        if previous.isSign(">") || previous.isSign("]"), next?.isSign(";") == true { return true }
        // A parameter of a lambda, or a name in the header of a loop.
        if let next, next.isSign("-"), second?.isSign(">") == true { return true }
        if callees.last == .some(nil), let next {
            let isParameter = previous.isSign("(") || previous.isSign("{") || previous.isSign(",")
            let isHeader = second?.isSign("-") == true || second?.word == "in"
            return isParameter && (next.isSign(",") || next.isSign(")") && isHeader)
        }
        guard let callee = callees.last ?? nil,
            Self.holders.contains(callee) || classes.contains(callee) || SourceValue.isCollection(callee)
        else { return false }
        let isBegin =
            ["(", ",", ":"].contains { previous.isSign($0) } || ["to", "in"].contains(previous.word)
            || previous.isSign("=") && classes.contains(callee)
        let isEnd = next.map { next in [")", ","].contains { next.isSign($0) } || next.word == "to" } ?? false
        return isBegin && isEnd
    }
}
