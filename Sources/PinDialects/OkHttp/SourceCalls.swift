import CertificatePinning
import PinctlBasics

/// The builder of a client, and its call that pins keys.
struct PinnerForm {
    /// The types whose `Builder` has the call.
    let types: Set<String>
    let call: String
    /// Whether a call of this name pins keys whatever it is on.
    let isUnique: Bool
    /// The calls that turn something on or off for all pins.
    var settings: Set<String> = []

    static let okhttp = PinnerForm(types: ["CertificatePinner"], call: "add", isUnique: false)
    static let cronet = PinnerForm(
        types: ["CronetEngine", "ExperimentalCronetEngine", "HttpEngine"], call: "addPublicKeyPins", isUnique: true,
        settings: [
            "enablePublicKeyPinningBypassForLocalTrustAnchors", "setEnablePublicKeyPinningBypassForLocalTrustAnchors",
        ])
}

/// The calls in a program that pin keys, such as `CertificatePinner.Builder.add`.
///
/// A call counts if it is in a chain or block of a builder, or on a variable that holds one. A call of OkHttp on
/// anything else counts if an argument after the first is the text of a pin: a list of pins has a call `add` too.
struct SourceCalls {
    struct Call {
        let arguments: [Argument]
        let position: SourcePosition
        /// The branches of the program that contain the call.
        let branches: Set<Int>
        /// The loops that contain the call, outermost first.
        let loops: [SourceLoop]
    }

    struct NewBuilder {
        let position: SourcePosition
        let branches: Set<Int>
    }

    struct Argument {
        let value: SourceValue
        let position: SourcePosition
        /// The comment on the same line behind the argument and its comma.
        var comment: String?

        /// The name of the constant that the argument refers to, if it is the only one.
        var constant: String? {
            let names = (value.parts ?? []).compactMap { if case .name(let name) = $0 { name } else { nil } }
            return names.count == 1 ? names[0].split(separator: ".").last.map(String.init) : nil
        }
    }

    private(set) var calls: [Call] = []
    /// The builders that the program creates.
    private(set) var newBuilders: [NewBuilder] = []
    /// The strings that look like pins but aren't part of a call.
    private(set) var strayPins: [(parts: [SourcePart], position: SourcePosition, offset: Int)] = []
    private(set) var openStrings: [SourcePosition] = []
    /// The calls of the form's settings.
    private(set) var settings: [Call] = []
    /// The references to the call without arguments, such as `builder::addPublicKeyPins`.
    private(set) var references: [SourcePosition] = []
    /// The bytes of the calls' arguments, and those of the headers of loops.
    private var arguments: [Range<Int>] = []
    private var headers: [(loop: SourcePosition, range: Range<Int>)] = []

    /// The parts of the program whose names were read: the arguments of calls, and the headers of the loops around
    /// them.
    var readRanges: [Range<Int>] {
        let loops = Set(calls.flatMap(\.loops).map(\.position))
        return arguments + headers.filter { loops.contains($0.loop) }.map(\.range)
    }

    /// An open parenthesis or brace.
    private struct Bracket {
        /// Whether calls inside it apply to a builder: `.apply { add(…) }`.
        var isBuilderBlock: Bool
        /// Whether the value after its end is a builder.
        var yieldsBuilder: Bool
        /// Whether it encloses the condition of an `if`, `when`, `switch` or `catch`.
        var isCondition = false
        /// The branch whose block it is, if any.
        var branch: Int?
        /// The loop whose block it is, if any.
        var loop: SourceLoop?
        /// Whether it is a brace, in which names can be set again.
        var isBlock = false
    }

    /// A statement without braces that follows a condition, an `else`, or the header of a loop.
    private struct BranchStatement {
        var branch: Int?
        var loop: SourceLoop?
        /// The number of brackets open around it.
        let depth: Int
        /// Whether it follows a question mark, so that a colon begins the other branch.
        var isTernary = false
    }

    private let form: PinnerForm
    private var lexer: SourceLexer
    private var brackets: [Bracket] = []
    private var builders: Set<String> = []
    /// Whether the expression read last is a builder, so that a dot after it begins a call on the builder.
    private var isBuilder = false
    private var isOnBuilder = false
    private var statements: [BranchStatement] = []
    /// Whether the next bracket holds a condition, and whether the next token begins a branch.
    private var expectsCondition = false
    private var expectsBranch = false
    /// The positions of the loops that can end before their last element, or leave some out.
    private var early: Set<SourcePosition> = []
    /// The loop whose statement or block is next.
    private var nextLoop: SourceLoop?
    /// The lexer before the token that was read last, and the token before that one.
    private var start: SourceLexer
    private var isMember: Bool { last?.isSign(".") ?? false }
    private var last: SourceToken?
    private var branchCount = 0
    /// The branches for the code after each `return` on a branch, which runs only if that branch wasn't taken.
    private var returned: Set<Int> = []
    /// The variable that is being declared or assigned, such as `pins` in `val pins = CertificatePinner…`.
    private var variable: String?

    init(_ lexer: SourceLexer, _ form: PinnerForm = .okhttp) {
        self.form = form
        self.lexer = lexer
        start = lexer
        while let token = self.lexer.next() {
            take(token)
            last = token
            start = self.lexer
        }
        openStrings = self.lexer.openStrings
    }

    private var isInBlock: Bool { brackets.last?.isBuilderBlock ?? false }

    private var branches: Set<Int> { returned.union(brackets.compactMap(\.branch) + statements.compactMap(\.branch)) }

    /// The loops around the token that was read last. A block in a loop that is neither a loop nor a branch can hide
    /// their names, so it is a loop that isn't known.
    private var loops: [SourceLoop] {
        let starts = brackets.indices.filter { brackets[$0].loop != nil }.map { $0 + 1 }
        let depths = starts + statements.filter { $0.loop != nil }.map(\.depth)
        guard let depth = depths.min() else { return [] }
        let known = (brackets.compactMap(\.loop) + statements.compactMap(\.loop)).sorted {
            ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
        }
        // mutant okhttp-block: false by OkHttpTests/unknownCollections
        let isHidden = brackets.dropFirst(depth).contains { $0.isBlock && $0.loop == nil && $0.branch == nil }
        return isHidden ? [SourceLoop(unknownAt: known[0].position)] : known
    }

    /// The calls that run only on one branch of the program, while their builder is created outside of that branch.
    var alternatives: [Call] {
        let common: Set<Int> =
            if let builder = newBuilders.first {
                builder.branches
            } else {
                calls.dropFirst().reduce(calls.first?.branches ?? []) { $0.intersection($1.branches) }
            }
        return newBuilders.count > 1
            ? []
            : calls.filter { call in
                // mutant okhttp-early: !call.branches.isSubset(of: common) by OkHttpTests/branches
                !call.branches.isSubset(of: common) || call.loops.contains { early.contains($0.position) }
            }
    }

    /// The places at which the program decides when it runs which pins apply, with messages about them.
    var choices: [(message: String, position: SourcePosition)] {
        newBuilders.dropFirst().map { builder in
            (
                "the builders on lines \(newBuilders[0].position.line) and \(builder.position.line) are "
                    + "alternatives, and are read as one rule that accepts the pins of both: give each builder a file "
                    + "of its own", builder.position
            )
        }
            + alternatives.map { call in
                (
                    "these pins are added on only one branch of the program, but are read as if every branch were "
                        + "taken: give each alternative a file of its own", call.position
                )
            }
    }

    /// Tracks where branches begin and end.
    private mutating func followBranches(
        _ token: SourceToken
    ) -> (isCondition: Bool, branch: Int?, loop: SourceLoop?) {
        let isCondition = expectsCondition && token.isSign("(")
        expectsCondition = false
        var loop = nextLoop
        nextLoop = nil
        if !expectsBranch, loop == nil {
            let isEnd =
                token.isSign(";") || token.word == "else"
                || token.startsLine && ![".", ":", "?"].contains { token.isSign($0) }
            statements.removeAll { $0.depth > brackets.count || $0.depth == brackets.count && isEnd }
        }
        var branch: Int?
        if expectsBranch {
            branchCount += 1
            if token.isSign("{") {
                branch = branchCount
            } else {
                statements.append(BranchStatement(branch: branchCount, depth: brackets.count))
            }
        }
        if loop != nil, !token.isSign("{"), !token.isSign("(") {
            statements.append(BranchStatement(loop: loop, depth: brackets.count))
            loop = nil
        }
        let isOpen = lexer.peek()?.isSign("(") == true
        // A block that may run no times. The condition of `do` is behind its block.
        // mutant okhttp-repeat: false by OkHttpTests/branches
        let mayRepeat = token.word == "repeat" || token.word == "while" && token.startsLine
        expectsCondition = (["if", "when", "switch", "catch"].contains(token.word) || mayRepeat) && isOpen
        expectsBranch =
            ["else", "try", "finally"].contains(token.word) || token.word == "when" && !isOpen
        followChoices(token)
        return (isCondition, branch, loop)
    }

    /// Tracks the branches without a block: cases of a `switch`, ternaries, and code after a `return`.
    private mutating func followChoices(_ token: SourceToken) {
        func begin() -> Int {
            branchCount += 1
            return branchCount
        }
        let next = lexer.peek()
        let isLabel =
            token.word == "case" || token.word == "default" && (next?.isSign(":") == true || next?.isSign("-") == true)
        // An arrow in a `when` begins its next branch. An arrow in the braces of a lambda doesn't.
        let isArm = token.isSign("-") && next?.isSign(">") == true && brackets.last?.branch != nil
        if isLabel && !brackets.isEmpty || isArm {
            brackets[brackets.count - 1].branch = begin()
        } else if token.word == "return", !branches.isEmpty {
            returned.insert(begin())
            // mutant okhttp-or: false for 1 by OkHttpTests/branches
        } else if token.isSign("|") || token.isSign("&"), last?.kind == token.kind {
            // `isDebug || add(…)`, where the second part isn't always evaluated.
            expectsBranch = true
        } else if token.isSign("?"), let next, !Self.endsType(next) {
            statements.append(BranchStatement(branch: begin(), depth: brackets.count, isTernary: true))
        } else if token.isSign(":"),
            let open = statements.lastIndex(where: { $0.isTernary && $0.depth == brackets.count })
        {
            statements[open] = BranchStatement(branch: begin(), depth: brackets.count)
        }
    }

    /// Returns whether a question mark before the token belongs to a type: `String?`, `List<?>`.
    private static func endsType(_ token: SourceToken) -> Bool {
        ["=", ",", ")", "{", ">", ";"].contains { token.isSign($0) } || ["extends", "super"].contains(token.word)
    }

    private mutating func take(_ token: SourceToken) {
        let (isCondition, branch, loop) = followBranches(token)
        let wasBuilder = isBuilder
        let wasOnBuilder = isOnBuilder
        (isBuilder, isOnBuilder) = (false, false)
        switch token.kind {
        case .string(let parts):
            if parts.first?.isPin == true { strayPins.append((parts, token.position, token.range.lowerBound)) }
        case .word(let word): take(word, token.position, isOnBuilder: wasOnBuilder)
        case .sign(UInt8(ascii: ".")): isOnBuilder = wasBuilder
        case .sign(UInt8(ascii: "(")):
            brackets.append(
                Bracket(isBuilderBlock: isInBlock, yieldsBuilder: wasBuilder, isCondition: isCondition, loop: loop))
        case .sign(UInt8(ascii: "{")):
            brackets.append(
                Bracket(
                    isBuilderBlock: isInBlock || wasBuilder, yieldsBuilder: wasBuilder, branch: branch,
                    loop: loop, isBlock: true))
        case .sign(UInt8(ascii: ")")), .sign(UInt8(ascii: "}")):
            // In `with(builder) { … }`, the block applies to the builder in the parentheses.
            let bracket = brackets.popLast()
            isBuilder = (bracket?.yieldsBuilder ?? false) || wasBuilder && token.isSign(")")
            if bracket?.isCondition == true { expectsBranch = true }
        default: break
        }
    }

    private mutating func take(_ word: String, _ position: SourcePosition, isOnBuilder wasOnBuilder: Bool) {
        let next = lexer.peek()
        // mutant cronet-reference: false for `last?.isSign(":") == true` by CronetTests/unread
        if form.isUnique, word == form.call, last?.isSign(":") == true { references.append(position) }
        if form.settings.contains(word), next?.isSign("(") == true, isCall {
            var copy = lexer
            settings.append(
                Call(arguments: Self.arguments(&copy).all, position: position, branches: branches, loops: loops))
        }
        if ["break", "continue", "return", "throw"].contains(word) { early.formUnion(loops.map(\.position)) }
        // mutant okhttp-for: false by OkHttpTests/collections
        if word == "for" {
            let begin = lexer
            nextLoop = SourceLoop(headerIn: &lexer)
            if let nextLoop { headers.append((nextLoop.position, Self.range(from: begin, to: lexer))) }
            // Its names can be those of a loop around it.
            if nextLoop == nil, !loops.isEmpty {
                lexer.skipParentheses()
                nextLoop = SourceLoop(unknownAt: position)
            }
        }
        let begin = start
        // mutant okhttp-each: false for 1 by OkHttpTests/collections
        if !isMember, let loop = SourceLoop(callIn: &start) {
            headers.append((loop.position, Self.range(from: begin, to: start)))
            nextLoop = loop
            lexer = start
            return
        }
        if next?.isSign("=") == true || next?.isSign(":") == true { variable = word }
        if word == form.call, next?.isSign("(") == true, !form.isUnique || isCall {
            takeCall(at: position, isKnown: form.isUnique || wasOnBuilder || isInBlock)
            isBuilder = isBuilder || wasOnBuilder
        } else if form.types.contains(word), takeBuilderType() {
            isBuilder = true
            if lexer.peek()?.isSign("(") == true {
                newBuilders.append(NewBuilder(position: position, branches: branches))
            }
            if let name = lexer.peek()?.word, lexer.peek()?.startsLine == false { builders.insert(name) }
            if let variable { builders.insert(variable) }
        } else if form.types.contains(word), isDefaultPinner {
            newBuilders.append(NewBuilder(position: position, branches: branches))
        } else if wasOnBuilder {
            // Every method of a builder returns the builder, except `build`.
            isBuilder = word != "build"
        } else {
            isBuilder = builders.contains(word) || isInBlock && (word == "this" || word == "it")
        }
        if !["new", "Builder", "okhttp3"].contains(word), !form.types.contains(word), variable != word {
            variable = nil
        }
    }

    /// Whether a name with parentheses isn't that of a function that is declared, behind `fun` or its type in Java.
    private var isCall: Bool {
        guard let last else { return true }
        return last.word.map(["return", "else", "do"].contains) ?? ![">", "]"].contains(where: last.isSign)
    }

    /// Whether `.DEFAULT` follows, which is a pinner without pins.
    private var isDefaultPinner: Bool {
        var copy = lexer
        return copy.next()?.isSign(".") == true && copy.next()?.word == "DEFAULT"
    }

    /// Consumes `.Builder` after `CertificatePinner`, and returns whether it was there.
    private mutating func takeBuilderType() -> Bool {
        var copy = lexer
        guard copy.next()?.isSign(".") == true, copy.next()?.word == "Builder" else { return false }
        lexer = copy
        return true
    }

    /// Reads the arguments as long as they are strings and names.
    ///
    /// A call that isn't known to be on a builder counts if an argument after the first is a pin. Otherwise its
    /// parentheses are read like any others.
    private mutating func takeCall(at position: SourcePosition, isKnown: Bool) {
        var copy = lexer
        var (arguments, isWhole) = Self.arguments(&copy)
        if isWhole, arguments.count == 2, arguments[1].comment == nil {
            // A comment behind a call with one pin is about the pin.
            arguments[1].comment = copy.peek()?.sideComment.map(copy.text(ofComment:))
        }
        let hasPins = arguments.dropFirst().contains(where: \.value.holdsPin)
        guard isKnown && !arguments.isEmpty || hasPins else { return }
        calls.append(Call(arguments: arguments, position: position, branches: branches, loops: loops))
        guard isWhole else { return }
        self.arguments.append(Self.range(from: lexer, to: copy))
        lexer = copy
        isBuilder = isKnown
    }

    /// Parses the arguments in parentheses, up to one that isn't understood.
    private static func arguments(_ copy: inout SourceLexer) -> (all: [Argument], isWhole: Bool) {
        _ = copy.next()
        var arguments: [Argument] = []
        while let start = copy.peek() {
            if start.isSign(")") {
                _ = copy.next()
                return (arguments, true)
            }
            copy.skipLabel()
            // A collection whose elements are arguments.
            if copy.peek()?.isSign("*") == true { _ = copy.next() }
            let begin = copy
            guard let first = copy.peek()?.position, let value = SourceValue(&copy), let end = copy.peek(),
                end.isSign(",") || end.isSign(")")
            else {
                arguments.append(
                    Argument(value: .text([.computed(begin.expression)]), position: start.position))
                break
            }
            var argument = Argument(value: value, position: first)
            var comment = end.sideComment
            if end.isSign(",") {
                _ = copy.next()
                comment = copy.peek()?.sideComment ?? comment
            }
            argument.comment = comment.map(copy.text(ofComment:))
            arguments.append(argument)
        }
        return (arguments, false)
    }

    /// Returns the bytes of the tokens that one lexer has and the other has no longer.
    private static func range(from begin: SourceLexer, to end: SourceLexer) -> Range<Int> {
        let start = begin.peek()?.range.lowerBound ?? .max
        return start..<max(start, end.peek()?.range.lowerBound ?? .max)
    }
}
