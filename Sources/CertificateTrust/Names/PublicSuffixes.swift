import PinctlBasics

/// The names below which different parties register names, such as `com`, `co.uk` and `github.io` (publicsuffix.org,
/// both sections).
///
/// A rule for every name below a public suffix would affect people who don't know about it.
public struct PublicSuffixes: Sendable {
    /// The two sections of the list.
    package enum Section: Sendable {
        /// The suffixes of registries, such as `com` and `co.uk`.
        case icann
        /// The suffixes of companies that offer names below their own, such as `github.io`.
        case `private`
    }

    private final class Source: Sendable {
        let section: @Sendable (ServerName) -> Section?
        /// The list, or `nil` if there is only a function.
        let list: @Sendable () -> SuffixList?
        let isKnown: @Sendable () -> Bool
        let noteRefusal: @Sendable () -> Void
        /// The names above the rules of the list, once they are needed.
        private let innerNames = Locked<Set<String>?>(nil)

        init(
            isKnown: @escaping @Sendable () -> Bool = { true }, list: @escaping @Sendable () -> SuffixList? = { nil },
            noteRefusal: @escaping @Sendable () -> Void = {}, section: @escaping @Sendable (ServerName) -> Section?
        ) {
            self.isKnown = isKnown
            self.list = list
            self.noteRefusal = noteRefusal
            self.section = section
        }

        /// Returns the names above the rules of the list.
        func inner(_ list: SuffixList) -> Set<String> {
            innerNames.withLock { names in
                let inner = names ?? list.inner
                names = inner
                return inner
            }
        }
    }

    private let source: Source

    /// The system's list (Debian's package `publicsuffix`), read on first use. If it is missing, only single labels are
    /// suffixes.
    public static let system = PublicSuffixes { SystemSuffixList.shared }

    /// Creates suffixes from a list that is installed on the system, or isn't.
    package init(_ list: @escaping @Sendable () -> SystemSuffixList) {
        source = Source(
            isKnown: { list().date != nil }, list: { list().list }, noteRefusal: SystemSuffixList.noteRefusal,
            section: { list().section(of: $0) })
    }

    /// Parses a list in the format of publicsuffix.org: UTF-8, one rule per line, and `//` comments, some of which
    /// begin and end the sections. Rules outside the private section count as suffixes of registries.
    public init(list: [UInt8]) {
        let list = SuffixList(list)
        source = Source(list: { list }, section: { list.section(of: $0) })
    }

    /// Creates suffixes from another source, which returns whether the names below a name belong to different parties.
    /// They count as suffixes of registries.
    public init(_ contains: @escaping @Sendable (ServerName) -> Bool) {
        source = Source { contains($0) ? .icann : nil }
    }

    /// Whether the names below this one belong to different parties. An address is never a suffix. A single label
    /// always is.
    public func contains(_ name: ServerName) -> Bool { section(of: name) != nil }

    /// Whether there is a list. Without one, only single labels are known to be suffixes.
    package var isKnown: Bool { source.isKnown() }

    /// Returns the section that has the name as a suffix, with registries taking precedence. Returns `nil` if the name
    /// isn't a suffix.
    package func section(of name: ServerName) -> Section? { source.section(name) }

    /// Records that something was refused because of an answer of these suffixes, so that a list that is old is
    /// reported.
    package func noteRefusal() { source.noteRefusal() }

    /// Returns the suffix of a name that Google's domain-registry-provider finds, which TrustKit contains, or `nil` if
    /// it finds none. Without a list, it is the longest suffix of the name.
    package func registry(of name: ServerName) -> String? {
        if let list = source.list(), isKnown { return list.registry(of: name, source.inner(list)) }
        guard case .dns(let text) = name.kind else { return nil }
        let parent = { (name: Substring) in name.firstIndex(of: ".").map { name[name.index(after: $0)...] } }
        return sequence(first: text[...], next: parent)
            .first { suffix in (try? ServerName(String(suffix))).map(contains) ?? false }.map(String.init)
    }
}

/// Equality by source: two values are equal if one is a copy of the other.
extension PublicSuffixes: Hashable {
    public static func == (left: PublicSuffixes, right: PublicSuffixes) -> Bool { left.source === right.source }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(source)) }
}
