import CertificatePinning
import PinctlBasics

/// A change of the pins in the literals of a program or a document.
///
/// Only the pins that differ are replaced, added and removed, with their comments. The hosts and their settings have to
/// be there. A pin that isn't in a list, such as the value of a constant, can only be replaced by another one.
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
    private var edit: MarkupEdit
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
        let literals: SourceLiterals
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
        for host in hosts {
            let own = found.filter { $0.patterns.contains { $0.host == host } }
            // mutant literal-host: false by LiteralEditTests/refused
            guard !own.isEmpty else {
                throw problem(
                    "\(visibleText(host)) isn't in this file: add it with one of its pins, and run pinctl again",
                    at: nil)
            }
            try replace(own.flatMap(\.pins), with: wanted[host] ?? [], host)
        }
        try apply()
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
        for index in indices {
            let removed = there.filter { !kept.contains($0.bare) }.compactMap(\.location).filter {
                listIndices[$0] == index
            }
            let added = index == indices.last ? new : new.prefix(removed.count)
            new = new.dropFirst(added.count)
            let change = Change(removed: Set(removed), added: Array(added))
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
            edit.replace(value.range, with: try text(pin, like: value))
        }
        for list in lists {
            guard let change = list.change, change != Change(removed: [], added: []) else { continue }
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

    /// Returns a pin in the form of another one.
    private func text(_ pin: CanonicalPin, like literal: SourceLiteral) throws(DialectWriteError) -> String {
        let source = String(decoding: edit.bytes[literal.range], as: UTF8.self)
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
