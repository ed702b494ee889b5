/// The names under which strangers register names: `com`, `co.uk`, `github.io` (publicsuffix.org, both sections).
///
/// A rule for all names below one of them would speak for people who do not know of it.
public struct PublicSuffixes: Sendable {
    private final class Source: Sendable {
        let contains: @Sendable (ServerName) -> Bool
        init(_ contains: @escaping @Sendable (ServerName) -> Bool) { self.contains = contains }
    }

    private let source: Source

    /// The list of this machine (Debian's package `publicsuffix`), read when it is first asked; single labels alone
    /// where there is none.
    public static let system = PublicSuffixes { SuffixList.system.contains($0) }

    /// Reads a list as publicsuffix.org publishes it: UTF-8, a rule a line, `//` comments.
    public init(list: [UInt8]) {
        let list = SuffixList(list)
        self.init { list.contains($0) }
    }

    /// Suffixes from elsewhere: whether names below a name belong to different parties.
    public init(_ contains: @escaping @Sendable (ServerName) -> Bool) { source = Source(contains) }

    /// Whether names below this one belong to different parties. An address is no suffix; a single label always is.
    public func contains(_ name: ServerName) -> Bool { source.contains(name) }
}

/// By source: two are equal when one is a copy of the other.
extension PublicSuffixes: Hashable {
    public static func == (left: PublicSuffixes, right: PublicSuffixes) -> Bool { left.source === right.source }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(source)) }
}

/// The list of publicsuffix.org, read.
private struct SuffixList: Sendable {
    /// A-labels; a wildcard is held as the name behind `*.`, an exception as the name behind `!`.
    private var names: Set<String> = []
    private var wildcards: Set<String> = []
    private var exceptions: Set<String> = []

    static let system = SuffixList(
        (try? InputFile.contents(ofFile: "/usr/share/publicsuffix/public_suffix_list.dat", limit: 8 << 20)) ?? [])

    init(_ list: [UInt8]) {
        for line in list.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            let rule = line.prefix { $0 > UInt8(ascii: " ") }
            guard let first = rule.first, !rule.starts(with: "//".utf8) else { continue }
            if rule.starts(with: "*.".utf8) {
                wildcards.insert(Self.aLabels(rule.dropFirst(2)))
            } else if first == UInt8(ascii: "!") {
                exceptions.insert(Self.aLabels(rule.dropFirst()))
            } else {
                names.insert(Self.aLabels(rule))
            }
        }
    }

    func contains(_ name: ServerName) -> Bool {
        guard case .dns(let text) = name.kind, !exceptions.contains(text) else { return false }
        guard let dot = text.firstIndex(of: ".") else { return true }
        return names.contains(text) || wildcards.contains(String(text[text.index(after: dot)...]))
    }

    private static func aLabels(_ rule: ArraySlice<UInt8>) -> String {
        let text = String(decoding: rule, as: UTF8.self)
        guard rule.contains(where: { $0 >= 0x80 }) else { return text }
        return text.split(separator: ".", omittingEmptySubsequences: false)
            .map { Punycode.aLabel($0) ?? String($0) }.joined(separator: ".")
    }
}
