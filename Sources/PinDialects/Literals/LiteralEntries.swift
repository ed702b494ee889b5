import CertificatePinning
import PinctlBasics
import PinctlFoundation

/// The entries of hosts in the literals of a text: the members of an object, or the elements of a list. New hosts get
/// copies of them.
///
/// Only an entry without anything particular to its host is copied: its name, a list of pins, and Booleans and dates.
struct LiteralEntries {
    /// The entry of a host, which has a rule.
    private struct Entry {
        let rule: CanonicalRule
        let range: Range<Int>
        /// The text that is the host.
        let host: Range<Int>
        let value: SourceLiteral
    }

    private let path: String
    private let rules: [PolicyLocation: CanonicalRule]
    /// The collections with entries, by the ranges of their bytes.
    private var collections: [Range<Int>: (literal: SourceLiteral, entries: [Entry])] = [:]

    /// Returns a text with entries for the hosts of these rules, which it doesn't have.
    static func adding(
        _ rules: [CanonicalRule], to bytes: [UInt8], path: String, of dialect: PinDialect
    ) throws(DialectWriteError) -> [UInt8] {
        let literals = try LiteralEdit.literals(of: bytes, path: path, dialect).literals
        var entries = LiteralEntries(path, try LiteralEdit.rules(of: bytes, path: path, dialect))
        for root in literals.roots { entries.take(root.literal) }
        var edit = MarkupEdit(bytes, usualStep: "  ")
        try entries.add(rules, to: &edit, isYAML: literals.isYAML)
        return edit.result
    }

    private init(_ path: String, _ rules: [CanonicalRule]) {
        self.path = path
        self.rules = Dictionary(rules.compactMap { rule in rule.location.map { ($0, rule) } }) { first, _ in first }
    }

    /// Returns the rule with one host at a position.
    private func rule(for host: String?, at position: SourcePosition) -> CanonicalRule? {
        guard let rule = rules[PolicyLocation(path: path, position)], rule.patterns.map(\.host) == [host] else {
            return nil
        }
        return rule
    }

    private mutating func take(_ literal: SourceLiteral) {
        var entries: [Entry] = []
        switch literal.kind {
        case .object(let members):
            for member in members {
                if !member.isComputed, let rule = rule(for: member.key, at: member.position) {
                    entries.append(
                        Entry(rule: rule, range: member.range, host: member.keyRange, value: member.value))
                }
                take(member.value)
            }
        case .list(let elements, _):
            for element in elements {
                for member in element.members ?? [] {
                    guard let rule = rule(for: member.value.text, at: member.value.position) else { continue }
                    entries.append(
                        Entry(rule: rule, range: element.range, host: member.value.range, value: element))
                }
                take(element)
            }
        case .text, .word, .expression: break
        }
        // An alias in YAML is the same collection again.
        if !entries.isEmpty { collections[literal.range] = (literal, entries) }
    }

    private func add(
        _ rules: [CanonicalRule], to edit: inout MarkupEdit, isYAML: Bool
    ) throws(DialectWriteError) {
        func refusal(_ rule: CanonicalRule, _ reason: String) -> DialectWriteError {
            DialectWriteError(
                "\(rule.title) isn't in this file, and \(reason): add it with one of its pins, and run pinctl again",
                at: PolicyLocation(path: path))
        }
        guard let first = rules.first else { return }
        // mutant literal-collections: true for `collections.count == 1` by LiteralEditTests/collections
        guard collections.count == 1, let (literal, entries) = collections.values.first else {
            throw refusal(
                first,
                collections.isEmpty
                    ? "no host here has an entry that could be copied" : "several objects here have hosts")
        }
        guard let items = items(of: literal, in: edit, isYAML: isYAML) else {
            throw refusal(first, "the entries here are more than literals")
        }
        var texts: [String] = []
        for rule in rules {
            let alike = entries.filter { $0.rule.settings == rule.settings }
            // mutant literal-settings: true by LiteralEditTests/refused
            guard !alike.isEmpty else {
                throw refusal(rule, "no host here has the same settings (subdomains, mode, expiry)")
            }
            var copy: String?
            for entry in alike where copy == nil {
                // An element of a list in YAML begins with its dash.
                let item = items.first { $0.range.upperBound == entry.range.upperBound }
                copy = text(of: entry, item?.range ?? entry.range, for: rule, in: edit, isYAML: isYAML)
            }
            guard let text = copy else {
                throw refusal(
                    rule,
                    "no entry here has only pins, Booleans and dates, without a comment, so that it could be copied")
            }
            texts.append(text)
        }
        let isFlow = !isYAML || "[{".utf8.contains(edit.bytes[literal.range.lowerBound])
        edit.change(
            items, keeping: items.map { _ in true }, adding: texts.map { text in NewItem(text: { _ in text }) },
            isYAML ? .hash : .program, hasCommas: isFlow)
    }

    /// Returns the items of a collection with their comments, or `nil` if it isn't known to be one when the program
    /// runs.
    private func items(of literal: SourceLiteral, in edit: MarkupEdit, isYAML: Bool) -> [ListItem]? {
        let (ranges, isList): ([Range<Int>], Bool) =
            switch literal.kind {
            case .object(let members): (members.map(\.range), false)
            case .list(let elements, _): (elements.map(\.range), true)
            case .text, .word, .expression: ([], false)
            }
        // Merge keys of YAML add members of other mappings.
        guard let end = ranges.last?.upperBound,
            zip(ranges, ranges.dropFirst()).allSatisfy({ $0.upperBound <= $1.lowerBound }),
            literal.range.lowerBound <= ranges[0].lowerBound, end <= literal.range.upperBound
        else { return nil }
        if isYAML { return edit.items(ranges, ofYAML: literal.range, isList: isList) }
        // mutant literal-entries-preprocessor: false by LiteralEditTests/refused
        if edit.hasDirective(in: literal.range) { return nil }
        return edit.items(
            ranges, from: literal.range.lowerBound, to: max(end, literal.range.upperBound - 1), .program,
            hasCommas: true)
    }

    /// Returns a copy of an entry with the host and the pins of a rule, or `nil` if it has more than that.
    private func text(
        of entry: Entry, _ range: Range<Int>, for rule: CanonicalRule, in edit: MarkupEdit, isYAML: Bool
    ) -> String? {
        guard let (list, inside) = Self.list(of: entry.value, besides: entry.host),
            let host = rule.patterns.first?.host, let old = entry.rule.patterns.first?.host
        else { return nil }
        // The entry alone, with the blanks before it.
        let start = edit.startOfLine(0, above: range.lowerBound)
        guard list.allSatisfy({ range.contains($0.range.lowerBound) && $0.range.upperBound <= range.upperBound }),
            range.contains(inside.lowerBound), inside.upperBound <= range.upperBound
        else { return nil }
        func moved(_ range: Range<Int>) -> Range<Int> { range.lowerBound - start..<range.upperBound - start }
        var copy = MarkupEdit(Array(edit.bytes[start..<range.upperBound]), usualStep: "  ")
        let pins = rule.pins.compactMap { edit.text($0, like: list[0]) }
        let name = String(decoding: edit.bytes[entry.host], as: UTF8.self)
        guard pins.count == rule.pins.count, name.contains(old) else { return nil }
        let moving = list.map { SourceLiteral(kind: $0.kind, position: $0.position, range: moved($0.range)) }
        guard
            copy.change(
                moving, in: moved(inside), isYAML: isYAML, keeping: list.map { _ in false }, adding: pins)
        else { return nil }
        copy.replace(moved(entry.host), with: name.replacing(old, with: host))
        var text = copy.result.dropFirst(range.lowerBound - start)
        while text.last.map({ $0.isLineEnd || $0.isBlank }) ?? false { text.removeLast() }
        // mutant literal-entry-comment: true by LiteralEditTests/refused
        guard SourceLiterals.comments(in: Array(text), isYAML: isYAML).isEmpty else { return nil }
        return String(decoding: text, as: UTF8.self).replacing("\r\n", with: "\n")
    }

    /// Returns the elements of the only list of pins in an entry, if it has nothing else but its host, Booleans and
    /// dates.
    private static func list(
        of value: SourceLiteral, besides host: Range<Int>
    ) -> (elements: [SourceLiteral], inside: Range<Int>)? {
        switch value.kind {
        case .list(let elements, let inside):
            let isPins = !elements.isEmpty && elements.allSatisfy { $0.text.flatMap { PinText($0, []) } != nil }
            return isPins ? (elements, inside) : nil
        case .object(let members):
            let rest = members.filter { member in
                let isDate = member.value.text.map { Date(rfc3339: $0) != nil } ?? false
                return !isDate && member.value.bool == nil && member.value.range != host
            }
            // mutant literal-entry: true for 1 by LiteralEditTests/refused
            guard rest.count == 1, case .list = rest[0].value.kind else { return nil }
            return list(of: rest[0].value, besides: host)
        case .text, .word, .expression: return nil
        }
    }
}

extension CanonicalRule {
    /// The rule without its hosts and pins.
    fileprivate var settings: CanonicalRule {
        var rule = self
        rule.patterns = patterns.map { HostPattern("", $0.scope) }
        (rule.pins, rule.location) = ([], nil)
        return rule
    }
}
