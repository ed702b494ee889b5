/// The names under which strangers register names: `com`, `co.uk`, `github.io` (publicsuffix.org, both sections).
///
/// A rule for all names below one of them would speak for people who do not know of it.
public struct PublicSuffixes: Sendable {
    /// A-labels; a wildcard is held as the name behind `*.`, an exception as the name behind `!`.
    private var names: Set<String> = []
    private var wildcards: Set<String> = []
    private var exceptions: Set<String> = []

    /// The list of this machine (Debian's package `publicsuffix`), read when it is first asked for; single labels alone
    /// where there is none.
    public static let system = PublicSuffixes(
        list: (try? InputFile.contents(ofFile: "/usr/share/publicsuffix/public_suffix_list.dat", limit: 8 << 20)) ?? [])

    /// Reads a list as publicsuffix.org publishes it: UTF-8, a rule a line, `//` comments.
    public init(list: [UInt8]) {
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

    /// Whether names below this one belong to different parties. An address is no suffix; a single label always is.
    public func contains(_ name: ServerName) -> Bool {
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
