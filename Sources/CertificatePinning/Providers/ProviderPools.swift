package import CertificateTrust
import PinctlBasics
package import PinctlFoundation

/// The roots under which providers of managed certificates issue, such as `pins/providers.jsonc`.
///
/// A provider chooses the CA of each certificate. A pin set that lasts therefore matches a chain of each root.
package struct ProviderPools: Sendable {
    /// A key of a CA.
    package struct Key: Sendable {
        package let name: String
        /// The pin of the key. Its value is empty, so that no other pin equals it, if the key isn't known.
        package let pin: CanonicalPin

        init(_ name: String, _ key: SPKIFingerprint?) {
            self.name = name
            pin = CanonicalPin(.publicKey, .sha256, key.map { Array(copying: $0.bytes.span) } ?? [], name: name)
        }
    }

    /// A path that clients may find for a chain of a provider.
    package struct Path: Sendable {
        /// The name of the CA.
        package let authority: String
        /// The keys that are known: the trust anchor's, and that of a root that it has signed, if any.
        let keys: [Key]

        /// The pins of the path, leaf first. The keys of the leaf and of the intermediate that signed it aren't known.
        package var served: [CanonicalPin] {
            let unknown = CanonicalPin(.publicKey, .sha256, [])
            return [unknown, unknown] + keys.reversed().map(\.pin)
        }

        /// The anchor in messages.
        package var title: String { keys.reversed().map(\.name).joined(separator: " signed by ") }
    }

    /// A root of a CA.
    package struct Root: Sendable {
        /// The name of the CA.
        package let authority: String
        package let key: Key
        /// The day on which the CA published that it issues under the root, or `nil` if it always has.
        let since: Date?
        /// The last day on which it is one of the CA's roots, or `nil` if there is none.
        let until: Date?
        /// The roots that have signed a certificate for it, and the last day on which that is valid.
        let signers: [(key: Key, until: Date)]

        /// Returns the paths that end at the root, or above it at a root that has signed it.
        package func paths(at time: Date) -> [Path] {
            [Path(authority: authority, keys: [key])]
                + signers.filter { time < $0.until.adding(days: 1) }
                .map { Path(authority: authority, keys: [$0.key, key]) }
        }
    }

    /// A document that lists CAs or roots, and its day.
    struct Document: Sendable {
        let url: String
        let day: Date
        /// Whether the document shows the day. Otherwise, it is the day on which it was read.
        let isDated: Bool
    }

    /// The roots of one provider.
    package struct Pool: Sendable {
        /// The name in the key `x-provider` of a rule.
        package let name: String
        package let title: String
        /// A limit of the list, or `nil`.
        package let note: String?
        let allRoots: [Root]
        /// The newest document for each CA and root.
        let documents: [Document]
    }

    private(set) var pools: [String: Pool] = [:]
    /// The CAs, each with the roots under which it issues.
    private var authorities: [Pool] = []

    /// Creates pools without a provider.
    init() {}

    /// The names of the providers.
    package var names: [String] { pools.keys.sorted() }

    package subscript(name: String) -> Pool? { pools[name] }

    /// Returns the CAs that have a root with one of these keys.
    package func authorities(withAny keys: Set<SPKIFingerprint>) -> [Pool] {
        authorities.filter { authority in
            // mutant provider-issuer: true by PlanNextIssuerTests
            authority.allRoots.contains { root in root.key.pin.spkiFingerprint.map(keys.contains) ?? false }
        }
    }

    /// The names of the CAs.
    package var authorityNames: [String] { authorities.map(\.title) }

    /// The pools that this version of the library knows. They are empty if the file can't be read, so that every name
    /// is an error.
    package static let builtIn: ProviderPools = {
        var problems = PolicyProblems(path: "providers.jsonc")
        let pools = ProviderPools(PackageResources.providers_jsonc, path: "providers.jsonc", &problems)
        return problems.isEmpty ? pools : ProviderPools()
    }()

    /// Reads the pools in a file.
    package init(contentsOfFile path: String) throws(PolicyFileError) {
        var problems = PolicyProblems(path: path)
        self.init(try PolicyFile.contents(ofFile: path), path: path, &problems)
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
    }

    /// Returns why a name isn't that of a provider, and what to do.
    package func unknown(_ name: String) -> String {
        let remedy =
            suggestion(for: name, among: names).map { "did you mean \"\($0)\"?" }
            ?? "use one of \(names.joined(separator: ", "))"
        return "\(quoted(name)) isn't a known provider: \(remedy)"
    }
}

extension ProviderPools.Pool {
    /// The age at which a document is too old to be relied on without a note, in days: a year.
    private static let longestUse = 366.0

    /// Returns the roots of the provider at a time.
    package func roots(at time: Date) -> [ProviderPools.Root] {
        // mutant provider-until: !$0.key.name.isEmpty for `$0.until…true` by ProviderPoolTests/until
        allRoots.filter { $0.until.map { time < $0.adding(days: 1) } ?? true }
            // mutant provider-since: true for `$0 <= time` by ReplayTests
            .filter { $0.since.map { $0 <= time } ?? true }
    }

    /// Returns a path for each root of which clients refuse a path. `accepts` returns whether they accept the path
    /// with these pins, leaf first.
    func gaps(at time: Date, where accepts: ([CanonicalPin]) -> Bool) -> [ProviderPools.Path] {
        roots(at: time).compactMap { root in root.paths(at: time).first { !accepts($0.served) } }
    }

    /// Returns a note if a document about the provider's CAs is too old, otherwise `nil`.
    package func agingNote(at time: Date) -> String? {
        // mutant provider-age: false for 2 by ProviderPoolTests/age
        guard let oldest = documents.min(by: { $0.day < $1.day }), oldest.day.adding(days: Self.longestUse) < time
        else { return nil }
        return "the CAs of \(title) are those that \(oldest.url) listed on \(oldest.day.day), more than a year ago: "
            + "check whether it lists others now, and pin their roots too"
    }
}

// MARK: - Reading

extension ProviderPools {
    /// The keys of a file with pools, besides those of a file that names pins.
    static let keys = ["x-sources", "x-authorities", "x-providers"]

    private static let sources = PolicyShape.map(
        to: .object([
            PolicyKey("url", .string, isRequired: true), PolicyKey("day", .string), PolicyKey("read", .string),
        ]))

    private static let authorities = PolicyShape.map(
        to: .object([
            PolicyKey("title", .string, isRequired: true),
            PolicyKey(
                "roots",
                .map(
                    to: .object([
                        PolicyKey("since", .string), PolicyKey("until", .string),
                        PolicyKey("source", .string, isRequired: true),
                    ])),
                isRequired: true),
        ]))

    private static let providers = PolicyShape.map(
        to: .object([
            PolicyKey("title", .string, isRequired: true),
            PolicyKey("authorities", .map(to: .string), isRequired: true), PolicyKey("note", .string),
        ]))

    private init(_ bytes: [UInt8], path: String, _ problems: inout PolicyProblems) {
        let document = JSONCReader.read(bytes, dialect: .init(ofFile: path))
        problems.add(document, of: bytes, keys: "\"version\", \"x-sources\", \"x-authorities\" and \"x-providers\"")
        guard let root = document.root else { return }
        for (key, shape) in zip(Self.keys, [Self.sources, Self.authorities, Self.providers]) {
            if let value = root[key] {
                shape.check(value, "\"\(key)\"", &problems)
            } else {
                problems.add("the file has no \"\(key)\": name a file such as pins/providers.jsonc", at: root.position)
            }
        }
        guard problems.isEmpty else { return }
        let facts = Facts(root, &problems)
        for member in root["x-providers"]?.members ?? [] {
            pools[member.key] = facts.pool(member, &problems)
        }
        authorities = facts.authorities
    }

    /// The documents, keys and CAs of a file.
    private struct Facts {
        private let sources: JSONValue?
        /// The CAs, in the order of the file.
        private(set) var authorities: [Pool] = []
        private var documents: [String: Document] = [:]
        private var keys: [String: SPKIFingerprint] = [:]

        init(_ root: JSONValue, _ problems: inout PolicyProblems) {
            sources = root["x-sources"]
            for member in sources?.members ?? [] { documents[member.key] = Self.document(member, &problems) }
            for pin in (PublicRoots.file?["pins"]?.members ?? []) + (root["pins"]?.members ?? []) {
                keys[pin.key] = pin.value["pin"]?.string.flatMap { SPKIFingerprint($0) }
            }
            if RootCalendar.builtIn.isEmpty {
                problems.add("the list of public roots can't be read: report it", at: root.position)
            }
            for member in root["x-authorities"]?.members ?? [] { authorities.append(authority(member, &problems)) }
        }

        private static func document(_ member: JSONValue.Member, _ problems: inout PolicyProblems) -> Document? {
            let (shown, read) = (member.value["day"], member.value["read"])
            // mutant provider-source: true by ProviderPoolTests/incomplete
            guard (shown == nil) != (read == nil) else {
                problems.add(
                    "\(quoted(member.key)) needs either \"day\" or \"read\": give the day that the document shows, or "
                        + "else the day on which it was read", at: member.keyPosition)
                return nil
            }
            guard let url = member.value["url"]?.string, let day = (shown ?? read)?.day(&problems) else {
                return nil
            }
            return Document(url: url, day: day, isDated: shown != nil)
        }

        /// Returns the documents with these names. A document that shows its day is preferred, and then the newest.
        private func newest(_ names: JSONValue?, _ problems: inout PolicyProblems) -> Document? {
            guard let names, let text = names.string else { return nil }
            var found: [Document] = []
            for name in text.split(separator: ",").map({ $0.drop { $0 == " " } }).map(String.init) {
                if let document = documents[name] {
                    found.append(document)
                } else if sources?[name] == nil {
                    problems.add("\(quoted(name)) isn't in \"x-sources\": add it", at: names.position)
                }
            }
            let dated = found.filter(\.isDated)
            return (dated.isEmpty ? found : dated).max { $0.day < $1.day }
        }

        private func signers(of key: SPKIFingerprint) -> [(key: Key, until: Date)] {
            RootCalendar.builtIn.signers(of: Array(copying: key.bytes.span)).map { signer in
                (Key(signer.name, keys[signer.name]), signer.until)
            }
        }

        func pool(_ provider: JSONValue.Member, _ problems: inout PolicyProblems) -> Pool {
            var roots: [Root] = []
            var found: [Document] = []
            for entry in provider.value["authorities"]?.members ?? [] {
                guard let authority = authorities.first(where: { $0.name == entry.key }) else {
                    problems.add("\(quoted(entry.key)) isn't in \"x-authorities\": add it", at: entry.keyPosition)
                    continue
                }
                found += [newest(entry.value, &problems)].compactMap(\.self)
                roots += authority.allRoots
                found += authority.documents
            }
            // mutant provider-empty: false by ProviderPoolTests/incomplete
            if roots.isEmpty {
                problems.add(
                    "\(quoted(provider.key)) has no root, so every pin set would pass: list its CAs",
                    at: provider.keyPosition)
            }
            return Pool(
                name: provider.key, title: provider.value["title"]?.string ?? provider.key,
                note: provider.value["note"]?.string, allRoots: roots, documents: found)
        }

        private func authority(_ entry: JSONValue.Member, _ problems: inout PolicyProblems) -> Pool {
            let title = entry.value["title"]?.string ?? entry.key
            var roots: [Root] = []
            var found: [Document] = []
            for member in entry.value["roots"]?.members ?? [] {
                found += [newest(member.value["source"], &problems)].compactMap(\.self)
                // mutant provider-root: keys[member.key] ?? keys.values.first by ProviderPoolTests/incomplete
                guard let key = keys[member.key] else {
                    problems.add(
                        "\(quoted(member.key)) isn't the name of a public root: use the names of "
                            + "public-roots.jsonc, or add its pin to \"pins\"", at: member.keyPosition)
                    continue
                }
                roots.append(
                    Root(
                        authority: title, key: Key(member.key, key), since: member.value["since"]?.day(&problems),
                        until: member.value["until"]?.day(&problems), signers: signers(of: key)))
            }
            return Pool(name: entry.key, title: title, note: nil, allRoots: roots, documents: found)
        }
    }
}
