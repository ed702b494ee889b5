import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader of the input to OkHttp's CertificatePinner: a program in Kotlin or Java, lines with a pattern and its pins,
/// or the text of the exception that a mismatch throws.
struct OkHttpReader {
    private let path: String
    private var problems: PolicyProblems
    private var notes: [ConversionNote] = []
    private var rules: [CanonicalRule] = []
    /// The lines with pins that no call adds.
    private var ignoredLines: Set<Int> = []
    /// The other files whose constants the calls have.
    private var constantFiles: Set<String> = []
    /// The index of each pattern's rule. The pins of several calls for one pattern belong to the same rule.
    private var indices: [HostPattern: Int] = [:]

    private init(path: String) {
        self.path = path
        problems = PolicyProblems(path: path)
    }

    /// Reads a file. `project` has the other files that can declare its constants.
    static func read(
        _ bytes: [UInt8], path: String, project: SourceProject? = nil
    ) throws(PolicyFileError) -> DialectReading {
        let cursor = try TextCursor(checking: bytes, path: path)
        let text = String(decoding: bytes, as: UTF8.self)
        var reader = OkHttpReader(path: path)
        if !text.contains("CertificatePinner.Builder"), let failure = PinningFailureText(text) {
            reader.take(failure)
        } else if ["CertificatePinner", "add("].contains(where: { text.contains($0) }) {
            reader.takeProgram(cursor, bytes, project)
        } else if isList(text) {
            reader.takeLines(cursor)
        }
        if reader.rules.isEmpty, reader.problems.isEmpty {
            let remedy = "write CertificatePinner.Builder().add(…), or lines with a pattern and its pins"
            let place = place(ofPinIn: cursor)
            reader.problems.add(
                place == nil
                    ? "nothing is pinned here: \(remedy)"
                    : "nothing is pinned here, because no call adds this pin to a CertificatePinner.Builder: name the "
                        + "file with the call, or \(remedy)",
                at: place ?? SourcePosition(line: 1, column: 1), rule: .pinsNothing)
        }
        guard reader.problems.isEmpty else {
            throw PolicyFileError(
                problems: reader.problems.sorted, known: reader.rules, files: reader.constantFiles)
        }
        var reading = DialectReading(CanonicalPolicy(rules: reader.rules, combination: .union), notes: reader.notes)
        reading.constantFiles = reader.constantFiles
        reading.ignoredLines = reader.ignoredLines
        return reading
    }

    /// Returns whether most lines of a text have a pattern and pins, and nothing of a program.
    static func isList(_ text: String) -> Bool {
        var (listed, others) = (0, 0)
        for line in text.split(whereSeparator: \.isNewline) {
            let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
            guard let pattern = words.first else { continue }
            let hasPins = words.dropFirst().first.map(isPin) ?? false
            let isPlain =
                !pattern.utf8.contains { "\"'(){}[]<>=;,".utf8.contains($0) }
                && pattern.utf8.contains { $0.isDigit || (0x61...0x7A).contains($0 | 0x20) }
            // The last line may be cut off.
            if hasPins, isPlain { listed += 1 } else if line.endIndex != text.endIndex { others += 1 }
        }
        return listed > others
    }

    /// Whether a program creates a builder, or adds something to one.
    static func buildsPinner(_ bytes: [UInt8], path: String) -> Bool {
        let calls = SourceCalls(SourceLexer(TextCursor(bytes), path: path))
        return !calls.calls.isEmpty || !calls.newBuilders.isEmpty
    }

    private static func isPin(_ word: Substring) -> Bool { word.hasPrefix("sha256/") || word.hasPrefix("sha1/") }

    /// Returns the position of the first text that looks like a pin.
    private static func place(ofPinIn cursor: TextCursor) -> SourcePosition? {
        var cursor = cursor
        while cursor.byte != nil {
            if cursor.stands("sha256/") || cursor.stands("sha1/") { return cursor.position }
            cursor.step()
        }
        return nil
    }

    private mutating func takeProgram(_ cursor: TextCursor, _ bytes: [UInt8], _ project: SourceProject?) {
        let lexer = SourceLexer(cursor, path: path)
        var constants = SourceConstants(lexer, bytes, path: path, project: project)
        let calls = SourceCalls(lexer)
        // Without a call, the text may be that of another language.
        guard !calls.calls.isEmpty else { return }
        for position in calls.openStrings {
            problems.add("unterminated string: close it on the same line", at: position)
        }
        var read: Set<String> = []
        for call in calls.calls {
            let unresolved = constants.forEach(call.loops[...], at: .init(call.position)) { take(call, &$0, &read) }
            if let unresolved { problems.add(unresolved.description, at: call.position) }
        }
        constantFiles = constants.otherFiles
        notes += calls.choices.prefix(TextLimits.notes).map { message, position in
            ConversionNote(
                .combinationChanged, .weaker, message, at: PolicyLocation(path: path, position), rule: .misreadSetting)
        }
        let uses = PinUses(lexer, calls, &constants)
        let strays = calls.strayPins.filter { parts, position, offset in
            // A constant that a call refers to is read as part of that call.
            // mutant okhttp-stray: true for `uses.contains(offset)` by OkHttpTests/unreadUses
            guard uses.contains(offset) else { return true }
            let value = constants.value(.text(parts), at: .init(position))
            let texts = constants.pins(definedAt: offset) ?? (try? value.get())?.texts
            return texts.map { !read.isSuperset(of: $0) } ?? true
        }
        if let first = strays.first {
            let more = strays.count > 1 ? ", and so are \(strays.count - 1) more in this file" : ""
            note(
                .either, "a pin outside a call of add is ignored\(more): put it into a call", at: first.position,
                rule: .ignoredSetting)
        }
        ignoredLines = Set(strays.map { Int($0.position.line) })
        // mutant okhttp-unread: nil for `uses.unread.first` by OkHttpTests/unreadUses
        if let first = uses.unread.first {
            let more = uses.unread.count > 1 ? " (and in \(uses.unread.count - 1) more places)" : ""
            note(
                .either,
                "\(quoted(first.name)) is used here in a way that isn't read\(more), so hosts may be missing: write "
                    + "these pins into calls of add on a CertificatePinner.Builder", at: first.position,
                rule: .ignoredSetting)
        }
        // mutant okhttp-removed: nil for `uses.changes.first` by OkHttpTests/unreadUses
        if let change = uses.changes.first {
            note(
                .weaker,
                "a pinner is changed or made here without its builder, which isn't read: write its pins into "
                    + "calls of add on a CertificatePinner.Builder", at: change, rule: .ignoredSetting)
        }
    }

    /// Adds the pins of a call, with the loops around it at one of their elements. The texts of pins are added to
    /// `read`.
    private mutating func take(_ call: SourceCalls.Call, _ constants: inout SourceConstants, _ read: inout Set<String>)
    {
        var texts: [(String, SourcePosition)] = []
        var names: [String?] = []
        /// The indices of the arguments without a known value.
        var unknown: [Int] = []
        for (index, argument) in call.arguments.enumerated() {
            let value: KnownValue
            switch constants.value(argument.value, at: .init(argument.position)) {
            case .success(let found): value = found
            case .failure(let unresolved):
                // The same name fails for each element of a loop.
                if problems.isEmpty || call.loops.isEmpty {
                    problems.add(unresolved.description, at: argument.position)
                }
                unknown.append(index)
                continue
            }
            guard let found = value.texts else {
                problems.add("this argument isn't a string: write the string itself", at: argument.position)
                unknown.append(index)
                continue
            }
            texts += found.map { ($0, argument.position) }
            // The name of a loop or a collection isn't that of its pins.
            let constant = call.loops.isEmpty && found.count == 1 ? argument.constant : nil
            let name = (constant ?? argument.comment).flatMap(CanonicalPin.name(in:))
            names += found.map { _ in found.count == 1 ? name : nil }
        }
        read.formUnion(texts.map(\.0))
        // mutant okhttp-empty: {} by OkHttpTests/emptyDigest
        if unknown.first == 0 { takeProblems(of: texts) }
        // The pins that are known are shown beside the problem with the others.
        guard unknown.first != 0, unknown.isEmpty || texts.count > 1, let pattern = texts.first else { return }
        add(pattern.0, at: pattern.1, pins: texts.dropFirst(), names: names)
    }

    /// Adds problems for the digests of nothing among the pins of a host that isn't known.
    private mutating func takeProblems(of pins: [(String, SourcePosition)]) {
        for (text, position) in pins {
            guard let problem = OkHttpPin.pin(text)?.emptyInputProblem else { continue }
            problems.add(problem, at: position, rule: .placeholderPin)
        }
    }

    private mutating func note(
        _ direction: SecurityDirection, _ message: String, at position: SourcePosition,
        rule: LintRule = .misreadSetting
    ) {
        guard notes.count < TextLimits.notes else { return }
        notes.append(ConversionNote(.quirk, direction, message, at: PolicyLocation(path: path, position), rule: rule))
    }

    private mutating func takeLines(_ cursor: TextCursor) {
        var cursor = cursor
        var words: [(String, SourcePosition)] = []
        while true {
            let byte = cursor.byte
            if byte == UInt8(ascii: "#") { _ = cursor.take { !$0.isLineEnd } }
            if byte.map(\.isLineEnd) ?? true {
                if let pattern = words.first { add(pattern.0, at: pattern.1, pins: words.dropFirst()) }
                words = []
                guard byte != nil else { return }
                cursor.step()
            } else if byte.map(\.isBlank) ?? false {
                cursor.step()
            } else if cursor.byte.map({ !$0.isLineEnd }) ?? false {
                let position = cursor.position
                words.append((String(decoding: cursor.take { !$0.isBlank && !$0.isLineEnd }, as: UTF8.self), position))
            }
        }
    }

    private mutating func take(_ failure: PinningFailureText) {
        guard let pattern = OkHttpPin.pattern(failure.host), pattern.scope == .exact else {
            problems.add(
                "\(quoted(failure.host)) isn't a host: paste the whole exception",
                at: SourcePosition(line: 1, column: 1))
            return
        }
        rules = [
            CanonicalRule(patterns: [pattern], pins: failure.pinned, location: PolicyLocation(path: path))
        ]
        notes = [
            ConversionNote(
                .quirk, .weaker,
                "the exception contains the host \(visibleText(failure.host)), but not the pattern, so subdomains "
                    + "aren't included",
                at: PolicyLocation(path: path))
        ]
    }

    /// Adds pins to the rule of a pattern. `names` are those of the pattern and the pins, in the same order.
    private mutating func add(
        _ text: String, at position: SourcePosition, pins: ArraySlice<(String, SourcePosition)>, names: [String?] = []
    ) {
        guard let pattern = OkHttpPin.pattern(text) else {
            problems.add(
                "OkHttp rejects the pattern \(quoted(text)): write a host, *.host or **.host, without scheme, port "
                    + "or path",
                at: position, rule: .malformedHost)
            return
        }
        guard !pins.isEmpty else {
            note(
                .weaker, "\(quoted(text)) has no pins, so it isn't pinned: add pins",
                at: position, rule: .pinsNothing)
            return
        }
        var values: [CanonicalPin] = []
        for (index, (text, position)) in zip(pins.indices, pins) {
            guard var pin = OkHttpPin.pin(text) else {
                problems.add(
                    "OkHttp rejects the pin \(quoted(text)): write sha256/ and base64", at: position,
                    rule: .malformedPin)
                continue
            }
            if let length = pin.digest.length, pin.value.count != length {
                // mutant okhttp-whole: nil by OkHttpTests/wholeObjects
                let object = OkHttpPin.wholeObject(pin.value)
                let fault =
                    object.map { "is \($0.name) in base64, and not the digest of a key" }
                    ?? "has \(pin.value.count) bytes, but \(pin.digest.rawValue) has \(length)"
                note(
                    .stricter,
                    "\(quoted(text)) \(fault), so OkHttp accepts the pin and no key matches it: "
                        + (object?.remedy ?? "hash the key again"), at: position, rule: .malformedPin)
            }
            pin.location = PolicyLocation(path: path, position)
            pin.name = names.indices.contains(index) ? names[index] : nil
            values.append(pin)
        }
        let index = indices[pattern] ?? rules.count
        let known = index < rules.count ? rules[index].pins : []
        values = values.without(known)
        guard index < TextLimits.rules, known.count + values.count <= TextLimits.pins else {
            problems.add(
                "there are more than \(TextLimits.rules) patterns, or \(TextLimits.pins) pins for one: split the text",
                at: position)
            return
        }
        if index < rules.count {
            rules[index].pins += values
        } else {
            indices[pattern] = index
            rules.append(
                CanonicalRule(patterns: [pattern], pins: values, location: PolicyLocation(path: path, position)))
        }
    }
}
