import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader of the calls of `addPublicKeyPins` in Kotlin and Java, with which Cronet and Android's HttpEngine pin keys.
struct CronetReader {
    private let path: String
    private var problems: PolicyProblems
    private var notes: [ConversionNote] = []
    private var rules: [CanonicalRule] = []
    /// The index of each host's rule.
    private var indices: [String: Int] = [:]
    private let calls: SourceCalls

    /// Whether a program has a call that pins keys, or a reference to one.
    static func isIn(_ bytes: [UInt8], path: String) -> Bool {
        let calls = SourceCalls(SourceLexer(TextCursor(bytes), path: path), .cronet)
        return !calls.calls.isEmpty || !calls.references.isEmpty
    }

    /// Reads a file. `project` has the other files that can declare its constants.
    static func read(
        _ bytes: [UInt8], path: String, project: SourceProject? = nil
    ) throws(PolicyFileError) -> DialectReading {
        let lexer = SourceLexer(try TextCursor(checking: bytes, path: path), path: path)
        var constants = SourceConstants(lexer, bytes, path: path, project: project)
        var reader = CronetReader(SourceCalls(lexer, .cronet), path: path)
        reader.takeCalls(&constants)
        if reader.rules.isEmpty, reader.problems.isEmpty, reader.notes.isEmpty {
            reader.problems.add(
                "nothing is pinned here: write addPublicKeyPins(…) on the builder of a CronetEngine or HttpEngine",
                at: SourcePosition(line: 1, column: 1), rule: .pinsNothing)
        }
        guard reader.problems.isEmpty else {
            throw PolicyFileError(
                problems: reader.problems.sorted, known: reader.rules, files: constants.otherFiles)
        }
        reader.noteParents()
        reader.noteBypass(&constants)
        var reading = DialectReading(CanonicalPolicy(rules: reader.rules, combination: .carveOut), notes: reader.notes)
        reading.constantFiles = constants.otherFiles
        return reading
    }

    private init(_ calls: SourceCalls, path: String) {
        (self.calls, self.path) = (calls, path)
        problems = PolicyProblems(path: path)
    }

    private mutating func takeCalls(_ constants: inout SourceConstants) {
        for position in calls.openStrings {
            problems.add("unterminated string: close it on the same line", at: position)
        }
        for position in calls.references {
            problems.add(
                "addPublicKeyPins is used here without its arguments, so its hosts and pins aren't known: call it",
                at: position)
        }
        for call in calls.calls {
            let unresolved = constants.forEach(call.loops[...], at: .init(call.position)) { take(call, &$0) }
            if let unresolved { problems.add(unresolved.description, at: call.position) }
        }
        for (message, position) in calls.choices {
            note(.combinationChanged, .weaker, message, at: position, rule: .misreadSetting)
        }
    }

    /// Adds the rule of a call, with the loops around it at one of their elements.
    private mutating func take(_ call: SourceCalls.Call, _ constants: inout SourceConstants) {
        var values: [KnownValue] = []
        for argument in call.arguments {
            switch constants.value(argument.value, at: .init(argument.position)) {
            case .success(let value): values.append(value)
            case .failure(let unresolved):
                // The same name fails for each element of a loop.
                if problems.isEmpty || call.loops.isEmpty {
                    problems.add(Self.message(unresolved, values.count), at: argument.position)
                }
                return
            }
        }
        guard values.count == 4, call.arguments.count == 4 else {
            problems.add(
                "addPublicKeyPins needs a host, a set of digests, a Boolean and a time: write all four literally",
                at: call.position)
            return
        }
        func fails(_ message: String, _ index: Int, _ rule: LintRule? = nil) {
            problems.add(message, at: call.arguments[index].position, rule: rule)
        }
        guard case .text(let host) = values[0] else { return fails("the host isn't a string: write it literally", 0) }
        guard let name = Self.name(host) else {
            return fails(
                "Cronet rejects the host \(quoted(host)): write a DNS name, without scheme, port or wildcard", 0,
                .malformedHost)
        }
        let digests = values[1].elements.compactMap { if case .bytes(let bytes) = $0 { bytes } else { nil } }
        guard case .list = values[1], digests.count == values[1].elements.count else {
            return fails("the pins aren't a set of byte arrays: write setOf(Base64.decode(\"…\", 0))", 1)
        }
        guard case .flag(let includesSubdomains) = values[2] else {
            return fails("the third argument isn't true or false: write one of them", 2)
        }
        guard case .time(let milliseconds) = values[3] else {
            return fails("the expiry isn't a Date or Instant that is known: write Date(1798761600000L)", 3)
        }
        // mutant cronet-length: nil by CronetTests/unread
        if let bytes = digests.first(where: { $0.count != 32 }) {
            let object = OkHttpPin.wholeObject(bytes)
            fails(
                "Cronet rejects a pin of \(bytes.count) bytes\(object.map { ", \($0.name)" } ?? ""), since SHA-256 has "
                    + "32: " + (object?.remedy ?? "hash the key again"), 1, .malformedPin)
        }
        guard !digests.isEmpty else {
            return note(
                .quirk, .weaker, "\(quoted(host)) has no pins, so it isn't pinned: add pins", at: call.position,
                rule: .pinsNothing)
        }
        add(
            CanonicalRule(
                patterns: [HostPattern(name, includesSubdomains ? .exactAndBelow : .exact)],
                pins: pins(digests.filter { $0.count == 32 }, at: call.arguments[1].position),
                expiry: Self.expiry(milliseconds), location: PolicyLocation(path: path, call.position)),
            at: call.position)
    }

    /// Adds a rule. Cronet has one for each host, that of the last call.
    private mutating func add(_ rule: CanonicalRule, at position: SourcePosition) {
        let name = rule.patterns[0].host
        guard let index = indices[name] else {
            guard rules.count < TextLimits.rules, rule.pins.count <= TextLimits.pins else {
                problems.add(
                    "there are more than \(TextLimits.rules) hosts, or \(TextLimits.pins) pins for one: split the file",
                    at: position)
                return
            }
            indices[name] = rules.count
            rules.append(rule)
            return
        }
        // mutant cronet-choice: true by CronetTests/unread
        guard calls.choices.isEmpty else {
            problems.add(
                "\(quoted(name)) is pinned twice, on alternatives of the program: give each alternative a file of its "
                    + "own", at: position)
            return
        }
        let line = rules[index].location?.line ?? 0
        note(
            .quirk, .either,
            "Cronet ignores the pins of \(quoted(name)) on line \(line), because this call for the same host replaces "
                + "them: write one call for each host", at: position, rule: .ignoredSetting)
        rules[index] = rule
    }

    private func pins(_ digests: [[UInt8]], at position: SourcePosition) -> [CanonicalPin] {
        digests.map { bytes in
            var pin = CanonicalPin(.publicKey, .sha256, bytes)
            pin.location = PolicyLocation(path: path, position)
            return pin
        }.without([])
    }

    /// The end of a rule, or `nil` for one after the last time that a policy can have, so that it never expires.
    private static func expiry(_ milliseconds: Int64) -> RuleExpiry? {
        let seconds = max(0, milliseconds / 1_000)
        return seconds > 253_402_300_799 ? nil : RuleExpiry(.instant(seconds), .stopPinning)
    }

    /// Returns the canonical name of a host, or `nil` where Cronet throws: for addresses in IPv4, and characters that
    /// no hostname has (`IDN.USE_STD3_ASCII_RULES`).
    private static func name(_ host: String) -> String? {
        let name = HostMatching.aLabels(of: host)
        // mutant cronet-host: true by CronetTests/unread
        guard name.utf8.allSatisfy({ $0.isWordByte && $0 != UInt8(ascii: "_") || "-.".utf8.contains($0) }) else {
            return nil
        }
        return HostMatching.Form.parsedName.name(name)
    }

    /// Returns the message about an argument that has no known value.
    private static func message(_ unresolved: UnresolvedName, _ index: Int) -> String {
        guard index == 3 else { return unresolved.description }
        return "the expiry \(quoted(unresolved.name)) isn't known before the program runs: write a time such as "
            + "Date(1798761600000L)"
    }

    // MARK: Notes

    /// Notes that an expired rule is dropped, so that the pins of a parent apply to its host. Policies have none then.
    private mutating func noteParents() {
        /// The last second of a rule.
        func end(_ rule: CanonicalRule) -> Int64 {
            if case .instant(let seconds)? = rule.expiry?.moment { seconds } else { .max }
        }
        for rule in rules {
            guard rule.expiry != nil, let location = rule.location else { continue }
            let host = rule.patterns[0].host
            let parent = rules.first { parent in
                // mutant cronet-parent: false by CronetTests/expiredHost
                parent.patterns[0].scope == .exactAndBelow && host.hasSuffix("." + parent.patterns[0].host)
                    && end(parent) > end(rule)
            }
            guard let parent, notes.count < TextLimits.notes else { continue }
            notes.append(
                ConversionNote(
                    .combinationChanged, .stricter,
                    "once the pins of \(quoted(host)) have expired, Cronet compares those of "
                        + "\(quoted(parent.patterns[0].host)), but they are read as if nothing were pinned then: give "
                        + "both the same expiry", at: location, rule: .misreadSetting))
        }
    }

    /// Notes that trust anchors that were installed locally bypass the pins, unless each builder turns that off.
    private mutating func noteBypass(_ constants: inout SourceConstants) {
        let known = calls.newBuilders.first?.branches ?? []
        var isOff = calls.settings.count >= max(1, calls.newBuilders.count)
        for setting in calls.settings {
            let value = setting.arguments.first.map { constants.value($0.value, at: .init($0.position)) }
            // mutant cronet-bypass: false by CronetTests/bypass
            if (try? value?.get()) != .flag(false) || !setting.branches.isSubset(of: known) { isOff = false }
        }
        guard !isOff, let first = rules.first?.location else { return }
        notes.append(
            ConversionNote(
                .quirk, .weaker,
                "Cronet doesn't compare pins if a chain ends at a root that the user or an administrator has added: "
                    + "call enablePublicKeyPinningBypassForLocalTrustAnchors(false) on the builder", at: first,
                rule: .bypassedPins))
    }

    private mutating func note(
        _ change: ConversionChange, _ direction: SecurityDirection, _ message: String, at position: SourcePosition,
        rule: LintRule
    ) {
        guard notes.count < TextLimits.notes else { return }
        notes.append(ConversionNote(change, direction, message, at: PolicyLocation(path: path, position), rule: rule))
    }
}
