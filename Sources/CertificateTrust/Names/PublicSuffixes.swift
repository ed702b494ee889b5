/// The names under which strangers register names: `com`, `co.uk`, `github.io` (publicsuffix.org, both sections).
///
/// A rule for all names below one of them would speak for people who do not know of it.
public struct PublicSuffixes: Sendable {
    /// The two sections of the list.
    package enum Section: Sendable {
        /// Suffixes of registries: `com`, `co.uk`.
        case icann
        /// Suffixes of companies that give out names below their own: `github.io`.
        case `private`
    }

    private final class Source: Sendable {
        let section: @Sendable (ServerName) -> Section?
        init(_ section: @escaping @Sendable (ServerName) -> Section?) { self.section = section }
    }

    private let source: Source

    /// The list of this machine (Debian's package `publicsuffix`), read when it is first asked; single labels alone
    /// where there is none.
    public static let system = PublicSuffixes(source: Source { SystemSuffixList.shared.list.section(of: $0) })

    private init(source: Source) { self.source = source }

    /// Reads a list as publicsuffix.org publishes it: UTF-8, a rule a line, `//` comments, of which two begin the
    /// sections. Rules outside the private section count as those of registries.
    public init(list: [UInt8]) {
        let list = SuffixList(list)
        source = Source { list.section(of: $0) }
    }

    /// Suffixes from elsewhere: whether names below a name belong to different parties. They count as those of
    /// registries.
    public init(_ contains: @escaping @Sendable (ServerName) -> Bool) {
        source = Source { contains($0) ? .icann : nil }
    }

    /// Whether names below this one belong to different parties. An address is no suffix; a single label always is.
    public func contains(_ name: ServerName) -> Bool { section(of: name) != nil }

    /// The section that has the name as a suffix, the registries' first; nil for a name that is no suffix.
    package func section(of name: ServerName) -> Section? { source.section(name) }
}

/// By source: two are equal when one is a copy of the other.
extension PublicSuffixes: Hashable {
    public static func == (left: PublicSuffixes, right: PublicSuffixes) -> Bool { left.source === right.source }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(source)) }
}
