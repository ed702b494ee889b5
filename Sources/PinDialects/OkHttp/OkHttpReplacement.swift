import CertificatePinning
import PinctlBasics

/// A replacement of the calls of `add` in the one chain of calls that builds a CertificatePinner in a program.
///
/// Only the pins that differ are removed and added, with their comments. Everything that isn't literally in the chain
/// is refused, because a change could leave a constant without use or pins in another place.
struct OkHttpReplacement {
    /// A call such as `.add("api.test", "sha256/…")`.
    private struct Call {
        let pattern: HostPattern
        var pins: [(pin: CanonicalPin, range: Range<Int>)] = []
        /// The bytes of the text of the pattern.
        let patternRange: Range<Int>
        /// The bytes from the dot to the closing parenthesis.
        let range: Range<Int>
        let position: SourcePosition
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
            lexer = SourceLexer(try TextCursor(checking: bytes, path: path), path: path)
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
        var texts: [(text: String, token: SourceToken)] = []
        while let token = lexer.next() {
            if token.isSign(")") {
                guard let first = texts.first, let pattern = OkHttpPin.pattern(first.text) else {
                    throw problem("this call has no valid pattern: remove it", at: name.position)
                }
                var call = Call(
                    pattern: pattern, patternRange: first.token.range,
                    range: dot.range.lowerBound..<token.range.upperBound,
                    position: name.position)
                for (text, token) in texts.dropFirst() {
                    guard let pin = OkHttpPin.pin(text) else {
                        throw problem("OkHttp rejects the pin \(quoted(text)): remove it", at: token.position)
                    }
                    call.pins.append((pin, token.range))
                }
                return call
            }
            guard case .string(let parts) = token.kind, parts.count == 1, case .literal(let text) = parts[0],
                let next = lexer.peek(), next.isSign(",") || next.isSign(")")
            else {
                throw problem(
                    "only strings can be replaced, and this is a constant or an expression: change its value where it "
                        + "is declared, or write the string itself in the call", at: token.position)
            }
            texts.append((text, token))
            if next.isSign(",") { _ = lexer.next() }
        }
        throw problem("this call isn't closed: add \")\"", at: name.position)
    }
}

// MARK: - The chain of the policy

extension OkHttpReplacement {
    /// Returns the program with the pins of a policy.
    func result(_ policy: CanonicalPolicy) throws(DialectWriteError) -> [UInt8] {
        var wanted: [(pattern: HostPattern, rule: CanonicalRule)] = []
        var indices: [HostPattern: Int] = [:]
        for rule in policy.rules {
            for pattern in rule.patterns {
                if let index = indices[pattern] {
                    wanted[index].rule.pins += rule.pins.without(wanted[index].rule.pins)
                } else {
                    indices[pattern] = wanted.count
                    wanted.append((pattern, rule))
                }
            }
        }
        var edit = MarkupEdit(bytes, usualStep: "    ")
        let items = edit.items(calls.map(\.range), from: start, to: bytes.count, .program)
        var isKept = calls.map { _ in false }
        for (pattern, rule) in wanted {
            let own = calls.indices.filter { calls[$0].pattern == pattern }
            for index in try replacePins(of: own, items, rule, &edit) { isKept[index] = true }
        }
        // A call without pins isn't kept, and gets its pins in a new one.
        let missing = wanted.filter { wanted in !zip(calls, isKept).contains { $1 && $0.pattern == wanted.pattern } }
        let more = try missing.map { pattern, rule throws(DialectWriteError) in
            let lines = try OkHttpWriter.call(pattern, rule, endsWithComma: false)
            return NewItem(text: { indent in lines.joined(separator: "\n" + indent) })
        }
        if items.isEmpty {
            // The indentation of a line that begins with the first call.
            let indent = edit.lineIndentation(at: start) + "    "
            edit.replace(start..<start, with: more.map { "\n\(indent)\($0.text(indent))" }.joined())
        } else {
            edit.change(items, keeping: isKept, adding: more, .program)
        }
        return edit.result
    }

    /// Changes the pins in the calls for a pattern, and returns the calls that are left.
    ///
    /// A pin that is added takes the place of one that is removed, or else follows the last one. A comment behind a
    /// call is about its pins, and one above it too if there are several calls for the pattern.
    private func replacePins(
        of own: [Int], _ items: [ListItem], _ rule: CanonicalRule, _ edit: inout MarkupEdit
    ) throws(DialectWriteError) -> [Int] {
        let wanted = Set(rule.pins.map(\.bare))
        let there = Set(own.flatMap { calls[$0].pins.map(\.pin) })
        var new = try rule.pins.filter { !there.contains($0.bare) }.map { pin throws(DialectWriteError) in
            let text = try OkHttpWriter.text(pin, of: rule)
            return NewItem(text: { _ in text }, remark: pin.name.map { "  // \(visibleText($0))" } ?? "")
        }[...]
        let gone = own.map { index in calls[index].pins.count { !wanted.contains($0.pin) } }
        // The calls that have pins in the end, the last of which gets the pins that take no other's place.
        var places = new.count
        let left = zip(own, gone).filter { index, count in
            defer { places -= min(places, count) }
            return calls[index].pins.count > count || places > 0 && count > 0
        }.map(\.0)
        for (index, count) in zip(own, gone) where left.contains(index) {
            let call = calls[index]
            let added = Array(index == left.last ? new : new.prefix(count))
            new = new.dropFirst(added.count)
            guard count > 0 || !added.isEmpty else { continue }
            let pins = edit.items(
                call.pins.map(\.range), from: call.patternRange.upperBound, to: call.range.upperBound - 1, .program,
                hasCommas: true)
            edit.change(
                pins, keeping: call.pins.map { wanted.contains($0.pin) }, adding: added, .program, hasCommas: true)
            guard count == call.pins.count else { continue }
            let item = items[index]
            edit.replace(item.range.upperBound..<item.tail, with: "")
            if own.count > 1 { edit.removeLead(of: item) }
        }
        return left
    }
}
