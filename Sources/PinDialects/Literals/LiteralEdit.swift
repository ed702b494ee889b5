import CertificatePinning
import PinctlBasics

/// A change of the pins in the literals of a program or a document.
///
/// Only the pins that differ are replaced, added and removed, with their comments. The hosts and their settings have to
/// be there, and each host has its pins in one list. A pin that isn't in a list, such as the value of a constant, can
/// only be replaced by another one.
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
    /// The texts and Booleans, by their locations.
    private var values: [PolicyLocation: SourceLiteral] = [:]
    private var lists: [List] = []
    /// The index of the list that a text is an element of.
    private var listIndices: [PolicyLocation: Int] = [:]
    /// The pins that take the place of texts outside of lists, or `nil` for texts that stay.
    private var replaced: [PolicyLocation: CanonicalPin?] = [:]

    /// Returns a text in which the hosts have the pins of a policy that was converted to this dialect. `changeSettings`
    /// changes others of their settings.
    static func replacing(
        _ bytes: [UInt8], path: String, of dialect: PinDialect, with policy: CanonicalPolicy,
        changeSettings: (inout LiteralEdit) throws(DialectWriteError) -> Void = { _ in }
    ) throws(DialectWriteError) -> [UInt8] {
        let found: [CanonicalRule]
        do throws(PolicyFileError) {
            found = try dialect.read(bytes, path: path).policy.rules
        } catch {
            throw DialectWriteError(error)
        }
        var edit = try LiteralEdit(bytes, path: path)
        try edit.replacePins(of: found, with: policy)
        try changeSettings(&edit)
        let result = edit.edit.result
        try dialect.check(result, path: path, says: String(decoding: try dialect.write(policy), as: UTF8.self))
        return result
    }

    private init(_ bytes: [UInt8], path: String) throws(DialectWriteError) {
        self.path = path
        edit = MarkupEdit(bytes, usualStep: "  ")
        do throws(PolicyFileError) {
            literals = SourceLiterals(bytes, try TextCursor(checking: bytes, path: path), path: path)
        } catch {
            throw DialectWriteError(error)
        }
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
        case .text, .word: values[location(of: literal)] = literal
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
                    "the policy has no rule for \(visibleText(pattern.host)): remove it here, or add a rule",
                    at: rule.location)
            }
        }
        var rules: [String: [CanonicalRule]] = [:]
        for rule in found { for pattern in rule.patterns { rules[pattern.host, default: []].append(rule) } }
        for host in hosts {
            let own = rules[host] ?? []
            // mutant literal-host: false by LiteralEditTests/refused
            guard !own.isEmpty else {
                throw problem(
                    "\(visibleText(host)) isn't in this file: add it with one of its pins, and run pinctl again",
                    at: nil)
            }
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
        for index in indices {
            let removed = there.filter { !kept.contains($0.bare) }.compactMap(\.location).filter {
                listIndices[$0] == index
            }
            let change = Change(removed: Set(removed), added: Array(new))
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

    private mutating func apply() throws(DialectWriteError) {
        for (location, pin) in replaced {
            guard let pin, let value = values[location] else { continue }
            changed.append(value.range)
            edit.replace(value.range, with: try text(pin, like: value))
        }
        for list in lists {
            guard let change = list.change, change != Change(removed: [], added: []) else { continue }
            changed.append(list.inside)
            // Lines of a preprocessor choose between elements.
            let lines = edit.bytes[list.inside].split(whereSeparator: \.isLineEnd)
            // mutant literal-preprocessor: false by LiteralEditTests/refused
            if lines.contains(where: { $0.first { !$0.isBlank } == UInt8(ascii: "#") }) {
                throw problem(
                    "this list has lines that begin with #, which may choose between its pins: change it yourself",
                    at: list.elements.first.map(location))
            }
            let like = list.elements.first { $0.text.flatMap { PinText($0, []) } != nil }
            let added = try change.added.map { pin throws(DialectWriteError) in
                let text = try like.map { like throws(DialectWriteError) in try self.text(pin, like: like) } ?? ""
                return NewItem(text: { _ in text })
            }
            let items = edit.items(
                list.elements.map(\.range), from: list.inside.lowerBound, to: list.inside.upperBound, .program,
                hasCommas: true)
            edit.change(
                items, keeping: list.elements.map { !change.removed.contains(location(of: $0)) }, adding: added,
                .program, hasCommas: true)
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

    /// Returns a pin in the form of another one.
    private func text(_ pin: CanonicalPin, like literal: SourceLiteral) throws(DialectWriteError) -> String {
        // JSON may escape the slash.
        let source = String(decoding: edit.bytes[literal.range], as: UTF8.self).replacing("\\/", with: "/")
        guard let old = literal.text, let form = PinText(old, []), source.contains(old) else {
            throw problem("this pin isn't one plain string: write it as one", at: location(of: literal))
        }
        return source.replacing(old, with: form.spelled(pin))
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
