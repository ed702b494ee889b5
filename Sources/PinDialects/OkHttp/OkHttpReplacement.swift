import CertificatePinning
import PinctlBasics

/// A replacement of the calls of `add` in the one chain of calls that builds a CertificatePinner in a program.
///
/// Only calls whose pins change are replaced or removed. Everything that isn't literally in the chain is refused, because
/// a change could leave a constant without use or pins in another place.
struct OkHttpReplacement {
    /// A call such as `.add("api.test", "sha256/…")`.
    private struct Call {
        let pattern: HostPattern
        var pins: Set<CanonicalPin> = []
        /// The bytes from the dot to the closing parenthesis.
        var range: Range<Int>
        let position: SourcePosition
        /// Whether the dot begins a line.
        let startsLine: Bool
        /// Whether a comment precedes the dot, and whether one is in or behind the call that isn't the name of a pin.
        let followsComment: Bool
        var containsComment = false
    }

    private let bytes: [UInt8]
    private let path: String
    /// The offset behind `CertificatePinner.Builder()`.
    private var start = 0
    private var calls: [Call] = []

    init(_ bytes: [UInt8], path: String) throws(DialectWriteError) {
        self.bytes = bytes
        self.path = path
        let lexer: SourceLexer
        do throws(PolicyFileError) {
            lexer = SourceLexer(try TextCursor(checking: bytes, path: path))
        } catch {
            throw DialectWriteError(error)
        }
        let found = SourceCalls(lexer)
        guard let builder = found.newBuilders.first else {
            throw DialectWriteError(
                "there is no CertificatePinner.Builder() here: write CertificatePinner.Builder().build(), and run "
                    + "pinctl again",
                at: PolicyLocation(path: path))
        }
        if found.newBuilders.count > 1 {
            throw problem(
                "there is more than one CertificatePinner, and the policy can be that of any of them: give each a file "
                    + "of its own", at: found.newBuilders[1].position)
        }
        try readChain(after: builder.position, lexer)
        let read = Set(calls.map(\.position))
        if let other = found.calls.first(where: { !read.contains($0.position) }) {
            throw problem(
                "this call of add isn't in the chain of CertificatePinner.Builder(): move it there", at: other.position)
        }
        if let stray = found.strayPins.first {
            throw problem(
                "this pin isn't in a call of add in the chain of CertificatePinner.Builder(): write it there",
                at: stray.position)
        }
    }

    private func problem(_ message: String, at position: SourcePosition) -> DialectWriteError {
        DialectWriteError(message, at: PolicyLocation(path: path, position))
    }
}

// MARK: - The chain as it is

extension OkHttpReplacement {
    private mutating func readChain(
        after position: SourcePosition, _ whole: SourceLexer
    ) throws(DialectWriteError) {
        var lexer = whole
        while let token = lexer.next(), token.position != position {}
        // The token at the position is CertificatePinner.
        for sign in [".", nil, "(", ")"] as [Unicode.Scalar?] {
            guard let token = lexer.next(), sign.map(token.isSign) ?? (token.word == "Builder") else {
                throw problem("only CertificatePinner.Builder() can be changed: write it in this form", at: position)
            }
            start = token.range.upperBound
        }
        while true {
            var copy = lexer
            guard let dot = copy.next(), dot.isSign("."), let name = copy.next(), name.word == "add" else { return }
            calls.append(try call(dot, name, &copy))
            lexer = copy
        }
    }

    private func call(
        _ dot: SourceToken, _ name: SourceToken, _ lexer: inout SourceLexer
    ) throws(DialectWriteError) -> Call {
        guard let open = lexer.next(), open.isSign("(") else {
            throw problem("unexpected token: write add(\"host\", \"sha256/…\")", at: name.position)
        }
        var texts: [(text: String, position: SourcePosition)] = []
        var commentCount = name.commentCount + open.commentCount
        while let token = lexer.next() {
            // The writer puts the name of a pin behind it, as a comment on the same line.
            let isName = token.sideComment != nil && texts.count > 1
            commentCount += token.commentCount - (isName ? 1 : 0)
            if token.isSign(")") {
                guard let first = texts.first, let pattern = OkHttpPin.pattern(first.text) else {
                    throw problem("this call has no valid pattern: remove it", at: name.position)
                }
                var call = Call(
                    pattern: pattern, range: dot.range.lowerBound..<token.range.upperBound, position: name.position,
                    startsLine: dot.startsLine, followsComment: dot.commentCount > 0)
                // A comment behind the call is about its pins.
                call.containsComment = commentCount > 0 || lexer.peek()?.sideComment != nil
                for (text, position) in texts.dropFirst() {
                    guard let pin = OkHttpPin.pin(text) else {
                        throw problem("OkHttp rejects the pin \(quoted(text)): remove it", at: position)
                    }
                    call.pins.insert(pin)
                }
                return call
            }
            guard case .string(let parts) = token.kind, parts.count == 1, case .literal(let text) = parts[0],
                let next = lexer.peek(), next.isSign(",") || next.isSign(")")
            else {
                throw problem(
                    "only strings can be replaced, and this is a constant or an expression: write the string itself in "
                        + "the call", at: token.position)
            }
            texts.append((text, token.position))
            if next.isSign(",") {
                commentCount += next.commentCount
                _ = lexer.next()
            }
        }
        throw problem("this call isn't closed: add \")\"", at: name.position)
    }
}

// MARK: - The chain of the policy

extension OkHttpReplacement {
    /// Returns the program with the pins of a policy. Calls for patterns whose pins don't change stay as they are.
    func result(_ policy: CanonicalPolicy) throws(DialectWriteError) -> [UInt8] {
        var wanted: [(pattern: HostPattern, rule: CanonicalRule, pins: Set<CanonicalPin>)] = []
        var indices: [HostPattern: Int] = [:]
        for rule in policy.rules {
            for pattern in rule.patterns {
                if let index = indices[pattern] {
                    wanted[index].pins.formUnion(rule.pins.map(\.bare))
                    wanted[index].rule.pins += rule.pins.without(wanted[index].rule.pins)
                } else {
                    indices[pattern] = wanted.count
                    wanted.append((pattern, rule, Set(rule.pins.map(\.bare))))
                }
            }
        }
        let found = Dictionary(grouping: calls, by: \.pattern).mapValues { calls in
            calls.reduce(into: Set<CanonicalPin>()) { $0.formUnion($1.pins) }
        }
        var edit = MarkupEdit(bytes, usualStep: "    ")
        var written: Set<HostPattern> = []
        for call in calls {
            let index = indices[call.pattern]
            if let index, wanted[index].pins == found[call.pattern] {
                written.insert(call.pattern)
                continue
            }
            let isRemoved = index == nil || written.contains(call.pattern)
            if call.containsComment || isRemoved && call.followsComment {
                throw problem(
                    "a comment would be lost or would be left without its call: move it out of the chain",
                    at: call.position)
            }
            if let index, written.insert(call.pattern).inserted {
                edit.replace(call.range, with: try text(wanted[index].pattern, wanted[index].rule))
            } else {
                // Only blanks can be between the call and what precedes it.
                let blanks = bytes[..<call.range.lowerBound].reversed().prefix { isXMLSpace($0) }.count
                edit.replace(call.range.lowerBound - blanks..<call.range.upperBound, with: "")
            }
        }
        let end = calls.last?.range.upperBound ?? start
        let more = try wanted.filter { !written.contains($0.pattern) }.map { rule throws(DialectWriteError) in
            "\n" + indent + (try text(rule.pattern, rule.rule))
        }
        if !more.isEmpty { edit.replace(end..<end, with: more.joined()) }
        return edit.result
    }

    private func text(_ pattern: HostPattern, _ rule: CanonicalRule) throws(DialectWriteError) -> String {
        try OkHttpWriter.call(pattern, rule, endsWithComma: false).joined(separator: "\n" + indent)
    }

    /// The indentation of a line that begins with a call.
    private var indent: String {
        func blanks(before offset: Int) -> String {
            let lineStart = (bytes[..<offset].lastIndex { $0.isLineEnd } ?? -1) + 1
            return String(decoding: bytes[lineStart..<offset].prefix(while: \.isBlank), as: UTF8.self)
        }
        if let call = calls.first(where: \.startsLine) { return blanks(before: call.range.lowerBound) }
        return blanks(before: start) + "    "
    }
}
