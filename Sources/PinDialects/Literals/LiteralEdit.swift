import CertificatePinning
import PinctlBasics

/// A change of the pins in the literals of a program or a document.
///
/// Only the pins that differ are replaced, added and removed, with their comments. Each host has its pins in one list.
/// A pin that isn't in a list, such as the value of a constant, can only be replaced by another one. A host that isn't
/// there gets a copy of another host's entry (``LiteralEntries``).
struct LiteralEdit {
    /// A list of literals, with what changes in it.
    private struct List {
        let elements: [SourceLiteral]
        let inside: Range<Int>
        var change: Change?
    }

    private struct Change: Equatable {
        var removed: Set<PolicyLocation>
        var added: [CanonicalPin]
    }

    private let path: String
    private let literals: SourceLiterals
    private var edit: MarkupEdit
    /// The bytes that change.
    private var changed: [Range<Int>] = []
    /// The pins that change, or whose lists do.
    private var changedPins: [PolicyLocation] = []
    /// The texts and Booleans, by their locations.
    private var values: [PolicyLocation: SourceLiteral] = [:]
    private var lists: [List] = []
    /// The index of the list that a text is an element of.
    private var listIndices: [PolicyLocation: Int] = [:]
    /// The pins that take the place of texts outside of lists, or `nil` for texts that stay.
    private var replaced: [PolicyLocation: CanonicalPin?] = [:]
    /// The number of times that a text is a value, and a pin of a host. In YAML, an alias is the same value again.
    private var occurrences: [PolicyLocation: Int] = [:]
    private let uses: [PolicyLocation: Int]

    /// Returns a text in which the hosts have the pins of a policy that was converted to this dialect. `changeSettings`
    /// changes others of the settings of hosts that are there.
    static func replacing(
        _ bytes: [UInt8], path: String, of dialect: PinDialect, with policy: CanonicalPolicy,
        changeSettings: (inout LiteralEdit, CanonicalPolicy) throws(DialectWriteError) -> Void = { _, _ in }
    ) throws(DialectWriteError) -> [UInt8] {
        let found = try rules(of: bytes, path: path, dialect)
        let hosts = Set(found.flatMap(\.patterns).map(\.host))
        var (known, missing) = (policy, policy)
        known.rules.removeAll { rule in !rule.patterns.contains { hosts.contains($0.host) } }
        missing.rules.removeAll { rule in rule.patterns.contains { hosts.contains($0.host) } }
        var edit = try LiteralEdit(bytes, path: path, dialect)
        try edit.replacePins(of: found, with: known)
        try changeSettings(&edit, known)
        var result = edit.edit.result
        if !missing.rules.isEmpty {
            result = try LiteralEntries.adding(missing.rules, to: result, path: path, of: dialect)
        }
        try dialect.check(result, path: path, says: String(decoding: try dialect.write(policy), as: UTF8.self))
        return result
    }

    static func rules(
        of bytes: [UInt8], path: String, _ dialect: PinDialect
    ) throws(DialectWriteError) -> [CanonicalRule] {
        do throws(PolicyFileError) {
            return try dialect.read(bytes, path: path).policy.rules
        } catch {
            throw DialectWriteError(error)
        }
    }

    /// Returns the literals that the dialect's reader reads, with the number of times that a pin is one of a host.
    static func literals(
        of bytes: [UInt8], path: String, _ dialect: PinDialect
    ) throws(DialectWriteError) -> (literals: SourceLiterals, uses: [PolicyLocation: Int]) {
        do throws(PolicyFileError) {
            guard dialect != .map else { return try PinMapReader.literals(of: bytes, path: path) }
            return (SourceLiterals(bytes, try TextCursor(checking: bytes, path: path), path: path), [:])
        } catch {
            throw DialectWriteError(error)
        }
    }

    private init(_ bytes: [UInt8], path: String, _ dialect: PinDialect) throws(DialectWriteError) {
        self.path = path
        edit = MarkupEdit(bytes, usualStep: "  ")
        (literals, uses) = try Self.literals(of: bytes, path: path, dialect)
        for root in literals.roots { take(root.literal) }
        for (_, text) in literals.texts { take(text) }
    }

    private mutating func take(_ literal: SourceLiteral) {
        switch literal.kind {
        case .object(let members): for member in members { take(member.value) }
        case .list(let elements, let inside):
            for element in elements where element.text != nil { listIndices[location(of: element)] = lists.count }
            lists.append(List(elements: elements, inside: inside))
            for element in elements { take(element) }
        case .text, .word:
            values[location(of: literal)] = literal
            occurrences[location(of: literal), default: 0] += 1
        case .expression: break
        }
    }

    private func location(of literal: SourceLiteral) -> PolicyLocation { PolicyLocation(path: path, literal.position) }

    private func problem(_ message: String, at location: PolicyLocation?) -> DialectWriteError {
        DialectWriteError(message, at: location ?? PolicyLocation(path: path))
    }

    // MARK: Changes

    /// Gives the hosts of a policy its pins. `found` are the rules of the file, whose pins have their locations.
    private mutating func replacePins(of found: [CanonicalRule], with policy: CanonicalPolicy) throws(DialectWriteError)
    {
        var wanted: [String: [CanonicalPin]] = [:]
        var hosts: [String] = []
        for rule in policy.rules {
            for pattern in rule.patterns {
                if wanted[pattern.host] == nil { hosts.append(pattern.host) }
                wanted[pattern.host, default: []] += rule.pins.without(wanted[pattern.host] ?? [])
            }
        }
        for rule in found where rule.mode != .off {
            // mutant literal-removed: nil by LiteralEditTests/refused
            if let pattern = rule.patterns.first(where: { wanted[$0.host] == nil }) {
                throw problem(
                    "no rule of the policy pins \(visibleText(pattern.host)): remove it here, or add one",
                    at: rule.location)
            }
        }
        var rules: [String: [CanonicalRule]] = [:]
        for rule in found { for pattern in rule.patterns { rules[pattern.host, default: []].append(rule) } }
        for host in hosts {
            guard let own = rules[host] else { continue }
            let (there, pins) = (own.flatMap(\.pins), wanted[host] ?? [])
            // mutant literal-twice: false for 2 by LiteralEditTests/refused
            if Set(there.map(\.bare)) != Set(pins.map(\.bare)), own.count > 1 {
                throw problem(
                    "\(visibleText(host)) is in line \(own[0].location?.line ?? 0) too, and the program decides which "
                        + "of the two it uses: give each a file of its own", at: own[1].location)
            }
            try replace(there, with: pins, host)
        }
        try apply()
        try checkConstants(rules.values.flatMap(\.self))
        try checkAliases(found)
    }

    private mutating func replace(
        _ there: [CanonicalPin], with wanted: [CanonicalPin], _ host: String
    ) throws(DialectWriteError) {
        let (old, kept) = (Set(there.map(\.bare)), Set(wanted.map(\.bare)))
        var new = wanted.filter { !old.contains($0.bare) }[...]
        var indices: [Int] = []
        for pin in there {
            guard let location = pin.location, values[location] != nil else {
                throw problem(
                    "only a pin in quotes can be changed in place: write it, and the list around it, as "
                        + "[\"sha256/…\"]", at: pin.location)
            }
            if let index = listIndices[location] {
                if !indices.contains(index) { indices.append(index) }
                continue
            }
            let next = kept.contains(pin.bare) ? nil : new.popFirst()
            // mutant literal-constant: false by LiteralEditTests/refused
            guard kept.contains(pin.bare) || next != nil else {
                throw problem(
                    "\(visibleText(host)) has fewer pins in the policy, and this one isn't in a list: remove it",
                    at: location)
            }
            // mutant literal-shared: false for 2 by LiteralEditTests/shared
            if let other = replaced.updateValue(next, forKey: location), other?.bare != next?.bare {
                throw problem(
                    "other hosts that have other pins in the policy use this pin: separate them", at: location)
            }
        }
        // mutant literal-lists: false for 2 by LiteralEditTests/refused
        if old != kept, indices.count > 1 {
            throw problem(
                "\(visibleText(host)) has its pins in several lists, and which of them a pin belongs to isn't known: "
                    + "change them yourself", at: lists[indices[1]].elements.first.map(location))
        }
        let lost = there.filter { !kept.contains($0.bare) }
        for index in indices {
            // A list can have a pin twice, which counts once.
            let removed = lists[index].elements.filter { element in
                // mutant literal-duplicate: false for `isOne(of: lost, element)` by LiteralEditTests/duplicates
                lost.contains { $0.location == location(of: element) } || isOne(of: lost, element)
            }
            let change = Change(removed: Set(removed.map(location)), added: Array(new))
            new = []
            // mutant literal-list: false for 2 by LiteralEditTests/shared
            if let other = lists[index].change, other != change {
                throw problem(
                    "other hosts that have other pins in the policy use this list: give each host its own",
                    at: lists[index].elements.first.map(location))
            }
            lists[index].change = change
        }
        guard new.isEmpty else {
            throw problem(
                "\(visibleText(host)) has more pins in the policy than here, and they aren't in a list: write a list",
                at: there.first?.location)
        }
    }

    private func isOne(of pins: [CanonicalPin], _ element: SourceLiteral) -> Bool {
        let value = element.text.flatMap { PinText($0, []) }?.pin.value
        return pins.contains { $0.value == value }
    }

    private mutating func apply() throws(DialectWriteError) {
        for (location, pin) in replaced {
            guard let pin, let value = values[location] else { continue }
            changed.append(value.range)
            changedPins.append(location)
            edit.replace(value.range, with: try text(pin, like: value))
        }
        for list in lists {
            guard let change = list.change, change != Change(removed: [], added: []) else { continue }
            changed.append(list.inside)
            changedPins += list.elements.map(location)
            // mutant literal-preprocessor: false for 2 by LiteralEditTests/refused
            if !literals.isYAML, edit.hasDirective(in: list.inside) {
                throw problem(
                    "this list has lines that begin with #, which may choose between its pins: change it yourself",
                    at: list.elements.first.map(location))
            }
            let like = list.elements.first { $0.text.flatMap { PinText($0, []) } != nil }
            let added = try change.added.map { pin throws(DialectWriteError) in
                try like.map { like throws(DialectWriteError) in try self.text(pin, like: like) } ?? ""
            }
            let isKept = list.elements.map { !change.removed.contains(location(of: $0)) }
            guard
                edit.change(
                    list.elements, in: list.inside, isYAML: literals.isYAML, keeping: isKept, adding: added)
            else {
                throw problem(
                    "this list has an alias for a pin: write the pin itself", at: list.elements.first.map(location))
            }
        }
    }

    /// Throws if a constant with a change is used for something else too. One that the program changes isn't read.
    private func checkConstants(_ found: [CanonicalRule]) throws(DialectWriteError) {
        let places = found.map { rule in
            (rule.location, rule.pins.compactMap { $0.location.flatMap { values[$0] }?.range })
        }
        for range in changed {
            // A map is passed on as a whole.
            for (name, value) in literals.constants(around: range) where value.members == nil {
                let hosts = Set(places.filter { $0.1.contains { value.range.contains($0.lowerBound) } }.map(\.0))
                // mutant literal-used: false by LiteralEditTests/constants
                if edit.bytes.count(ofWord: name) > 1 + max(1, hosts.count) {
                    throw problem(
                        "\(quoted(name)) is used for something else too: change it yourself",
                        at: location(of: value))
                }
            }
        }
    }

    /// Throws if an alias in YAML uses a value with a change for something else than the pins of a host.
    private func checkAliases(_ found: [CanonicalRule]) throws(DialectWriteError) {
        guard literals.isYAML else { return }
        for location in changedPins {
            // An anchor can be outside of the hosts, above them.
            let isOfHost = found.contains { rule in
                guard let start = rule.location, rule.pins.contains(where: { $0.location == location }) else {
                    return false
                }
                return (start.line, start.column) < (location.line, location.column)
            }
            // mutant literal-alias: false by LiteralEditTests/aliases
            if occurrences[location, default: 0] > uses[location, default: 0] + (isOfHost ? 0 : 1) {
                throw problem("an alias uses this value for something else too: change it yourself", at: location)
            }
        }
    }

    /// Returns a pin in the form of another one.
    private func text(_ pin: CanonicalPin, like literal: SourceLiteral) throws(DialectWriteError) -> String {
        guard let text = edit.text(pin, like: literal) else {
            throw problem("this pin isn't one plain string: write it as one", at: location(of: literal))
        }
        return text
    }

    /// Changes a Boolean.
    mutating func set(_ location: PolicyLocation, to value: Bool) throws(DialectWriteError) {
        guard let literal = values[location], let old = literal.bool else {
            throw problem("this isn't a literal: write true or false itself", at: location)
        }
        guard old != value else { return }
        let source = String(decoding: edit.bytes[literal.range], as: UTF8.self)
        let words = source.contains("YES") || source.contains("NO") ? ["NO", "YES"] : ["false", "true"]
        edit.replace(literal.range, with: source.replacing(words[old ? 1 : 0], with: words[value ? 1 : 0]))
    }
}

extension MarkupEdit {
    /// Returns a pin in the form of a literal, or `nil` if that isn't one plain string.
    func text(_ pin: CanonicalPin, like literal: SourceLiteral) -> String? {
        // JSON may escape the slash.
        let source = String(decoding: bytes[literal.range], as: UTF8.self).replacing("\\/", with: "/")
        guard let old = literal.text, let form = PinText(old, []), source.contains(old) else { return nil }
        return source.replacing(old, with: form.spelled(pin))
    }

    /// Whether a line of a preprocessor is in a part of a program, which may choose between its elements.
    func hasDirective(in range: Range<Int>) -> Bool {
        bytes[range].split(whereSeparator: \.isLineEnd).contains { $0.first { !$0.isBlank } == UInt8(ascii: "#") }
    }

    /// Removes the elements of a list that aren't kept, with their comments, and adds others. Returns false if an
    /// element is written elsewhere, which an alias in YAML stands for.
    mutating func change(
        _ elements: [SourceLiteral], in list: Range<Int>, isYAML: Bool, keeping isKept: [Bool], adding texts: [String]
    ) -> Bool {
        let ranges = elements.map(\.range)
        guard isYAML else {
            let items = items(ranges, from: list.lowerBound, to: list.upperBound, .program, hasCommas: true)
            change(
                items, keeping: isKept, adding: texts.map { text in NewItem(text: { _ in text }) }, .program,
                hasCommas: true)
            return true
        }
        guard let items = items(ranges, ofYAML: list, isList: true) else { return false }
        // The dash and the blanks behind it, without an anchor.
        let dash = zip(items, ranges).map { bytes[$0.range.lowerBound..<$1.lowerBound] }.first {
            $0.dropFirst().allSatisfy { $0 == UInt8(ascii: " ") }
        }
        let isFlow = bytes[list].first == UInt8(ascii: "[")
        let prefix = isFlow ? "" : String(decoding: dash ?? Array("- ".utf8)[...], as: UTF8.self)
        change(
            items, keeping: isKept, adding: texts.map { text in NewItem(text: { _ in prefix + text }) }, .hash,
            hasCommas: isFlow)
        return true
    }
}

extension [UInt8] {
    /// Returns the number of times that a word is in a text, not as a part of another one.
    func count(ofWord word: String) -> Int {
        var (count, start) = (0, 0)
        while let range = firstRange(of: word, from: start) {
            let isWhole =
                (range.lowerBound == 0 || !self[range.lowerBound - 1].isWordByte)
                && (range.upperBound == self.count || !self[range.upperBound].isWordByte)
            if isWhole { count += 1 }
            start = range.upperBound
        }
        return count
    }
}
