import PinctlBasics

/// A parsed list of publicsuffix.org.
struct SuffixList: Sendable {
    /// The rules of one section, as A-labels.
    private struct Rules: Sendable {
        var names: Set<String> = []
        /// The names after `*.`.
        var wildcards: Set<String> = []
        /// The names after `!`.
        var exceptions: Set<String> = []

        func contains(_ text: String) -> Bool {
            guard !exceptions.contains(text) else { return false }
            guard !names.contains(text) else { return true }
            return text.firstIndex(of: ".").map { wildcards.contains(String(text[text.index(after: $0)...])) } ?? false
        }
    }

    private var icann = Rules()
    private var others = Rules()
    /// The publication date of the list (`// VERSION: 2025-01-31_…`). `nil` if the list doesn't state it.
    private(set) var version: String?

    /// Whether the list has no rule of a registry.
    var isEmpty: Bool { icann.names.isEmpty }

    init(_ list: [UInt8]) {
        var isPrivate = false
        for line in list.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            guard !line.starts(with: "//".utf8) else {
                readComment(line, &isPrivate)
                continue
            }
            let rule = line.prefix { $0 > UInt8(ascii: " ") }
            guard !rule.isEmpty else { continue }
            if isPrivate { Self.add(rule, to: &others) } else { Self.add(rule, to: &icann) }
        }
    }

    /// The names above all rules of both sections, such as `amazonaws.com` above `s3.amazonaws.com`.
    var inner: Set<String> {
        var inner: Set<String> = []
        for rules in [icann, others] {
            inner.formUnion(rules.wildcards)
            for name in [rules.names, rules.wildcards, rules.exceptions].joined() {
                var rest = name[...]
                while let dot = rest.firstIndex(of: ".") {
                    rest = rest[rest.index(after: dot)...]
                    guard inner.insert(String(rest)).inserted else { break }
                }
            }
        }
        return inner
    }

    private mutating func readComment(_ line: ArraySlice<UInt8>, _ isPrivate: inout Bool) {
        if line.starts(with: "// ===BEGIN PRIVATE DOMAINS===".utf8) {
            isPrivate = true
        } else if line.starts(with: "// ===END PRIVATE DOMAINS===".utf8) {
            isPrivate = false
        } else if version == nil, line.starts(with: "// VERSION: ".utf8) {
            version = String(decoding: line.dropFirst("// VERSION: ".utf8.count).prefix(10), as: UTF8.self)
        }
    }

    private static func add(_ rule: ArraySlice<UInt8>, to rules: inout Rules) {
        let name = aLabels(rule.first == UInt8(ascii: "!") ? rule.dropFirst() : rule)
        if rule.starts(with: "*.".utf8) {
            rules.wildcards.insert(String(name.dropFirst(2)))
        } else if rule.first == UInt8(ascii: "!") {
            rules.exceptions.insert(name)
        } else {
            rules.names.insert(name)
        }
    }

    /// Returns the section that has a name as a suffix, if any. A single label is always a suffix of a registry.
    func section(of name: ServerName) -> PublicSuffixes.Section? {
        guard case .dns(let text) = name.kind else { return nil }
        if !text.contains(".") || icann.contains(text) { return .icann }
        return others.contains(text) ? .private : nil
    }

    /// Returns the suffix of a name that Google's domain-registry-provider finds, or `nil` if it finds none.
    ///
    /// It descends from the last label as long as the list has a rule at or below the name so far, and returns the name
    /// where it ends. If that name isn't itself a rule, it finds none: `x.amazonaws.com` has no suffix, because the
    /// list has rules below `amazonaws.com`, but not this name (`GetRegistryForHostname` in registry_search.c). `inner`
    /// is the list's own.
    func registry(of name: ServerName, _ inner: Set<String>) -> String? {
        guard case .dns(let text) = name.kind else { return nil }
        var found: Substring?
        var parent: Substring = ""
        while parent.count < text.count {
            let rest = text.dropLast(parent.isEmpty ? 0 : parent.count + 1)
            let start = rest.lastIndex(of: ".").map(rest.index(after:)) ?? rest.startIndex
            let current = text[start...]
            let key = String(current)
            if icann.names.contains(key) || others.names.contains(key) {
                found = current
            } else if inner.contains(key) {
                found = nil
            } else {
                let above = String(parent)
                guard icann.wildcards.contains(above) || others.wildcards.contains(above) else { break }
                let isException = icann.exceptions.contains(key) || others.exceptions.contains(key)
                found = isException ? parent : current
                break
            }
            parent = current
        }
        return found.map(String.init)
    }

    private static func aLabels(_ rule: ArraySlice<UInt8>) -> String {
        let text = String(decoding: rule, as: UTF8.self)
        guard rule.contains(where: { $0 >= 0x80 }) else { return text }
        return text.split(separator: ".", omittingEmptySubsequences: false)
            .map { Punycode.aLabel($0) ?? String($0) }.joined(separator: ".")
    }
}
