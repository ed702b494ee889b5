package import CertificateTrust
import PinctlBasics
package import PinctlFoundation

/// The public roots with the days on which trust stores start and stop trusting them, such as
/// `pins/public-roots.jsonc`. A key is in one file only once, since facts about it that differ would hide each other.
///
/// The days are in free keys (`x-stores`) of a file that names pins. Programs that load a policy with this file ignore
/// them, whatever their version is.
package struct RootCalendar: Sendable {
    /// A trust store whose contents the calendar knows.
    package enum Store: String, Sendable, CaseIterable {
        case android, apple, chrome, microsoft, mozilla
    }

    /// The trust of one store in a root. A root without an entry is trusted if the machine's own store has it.
    package struct Trust: Sendable, Hashable {
        /// Whether the store doesn't have the root. It may have had it before.
        package var isAbsent = false
        /// The day from which the store has the root, or `nil` if it has had it for long.
        package var since: Date?
        /// Whether the root is about to enter the store, on an unknown day.
        package var isPending = false
        /// The day after which certificates may not be issued to be trusted, if any.
        package var issuedUntil: Date?
        /// The day from which the store doesn't have the root any more, if any.
        package var removed: Date?

        /// Returns whether the store trusts the root for a leaf certificate at a time. Roots that are about to enter
        /// count if `countsPending` is true.
        package func holds(at time: Date, for leaf: X509Certificate, countsPending: Bool) -> Bool {
            if isAbsent { return false }
            if isPending { return countsPending }
            if let since, time < since { return false }
            if let removed, time >= removed { return false }
            return issuedUntil.map { leaf.notBefore < $0.adding(days: 1) } ?? true
        }
    }

    /// A public root.
    package struct Root: Sendable {
        package let name: String
        package let trust: [Store: Trust]
    }

    /// The roots by the SHA-256 of their keys.
    private var roots: [[UInt8]: Root] = [:]
    /// The keys of the roots that a root has signed a certificate for, by its name, and the last day on which one of
    /// these certificates is valid.
    private var signed: [String: [[UInt8]: Date]] = [:]
    /// The day on which the facts were last checked, and the file that says so.
    package private(set) var checked: (day: Date, path: String)?

    /// The keys of a file with a calendar, besides those of a file that names pins.
    static let keys = ["x-checked", "x-sources"]

    /// The calendar of this version of the library. It is empty if its file can't be read.
    static let builtIn: RootCalendar = {
        let path = "public-roots.jsonc"
        var problems = PolicyProblems(path: path)
        let calendar = PublicRoots.file.map { RootCalendar($0, path: path, isRequired: true, &problems) }
        return problems.isEmpty ? calendar ?? RootCalendar() : RootCalendar()
    }()

    /// Creates a calendar without roots.
    package init() {}

    package var isEmpty: Bool { roots.isEmpty }

    /// Returns the root with the key of a certificate, if the calendar has it.
    package func root(of certificate: X509Certificate) -> Root? {
        roots[Array(copying: certificate.spkiFingerprint.bytes.span)]
    }

    /// Returns the root that a pin of a CA's key identifies, if the calendar has it.
    package func root(of pin: CanonicalPin) -> Root? {
        guard pin.content == .publicKey, pin.digest == .sha256, pin.role != .leaf else { return nil }
        return roots[pin.value]
    }

    /// Returns the roots for which another one has signed a certificate that is valid at a time, in order of their
    /// names.
    func successors(of root: Root, at time: Date) -> [Root] {
        (signed[root.name] ?? [:]).filter { time < $0.value.adding(days: 1) }.compactMap { roots[$0.key] }
            .sorted { $0.name < $1.name }
    }

    /// Returns the roots that have signed a certificate for the root with a key, in order of their names, and the last
    /// day on which it is valid.
    func signers(of key: [UInt8]) -> [(name: String, until: Date)] {
        signed.compactMap { name, keys in keys[key].map { (name, $0) } }.sorted { $0.0 < $1.0 }
    }

    /// The age at which a calendar is too old to be relied on without a note, in days: half a year.
    private static let longestUse = 183.0

    /// Returns a note if the calendar is too old, or not of this time, otherwise `nil`.
    package func note(at time: Date) -> String? {
        guard let checked else { return nil }
        guard checked.day <= time.adding(days: 1) else {
            return "the trust stores in \(checked.path) are those of \(checked.day.day), which hasn't come yet: "
                + "correct \"x-checked\", so that pinctl can report when they are too old"
        }
        guard checked.day.adding(days: Self.longestUse) < time else { return nil }
        return "the trust stores in \(checked.path) are those of \(checked.day.day), more than six months ago: "
            + "get a newer file"
    }

    /// The most roots that one root may have signed certificates for. The facts of each are repeated at each pin.
    private static let successorLimit = 32

    /// Reads the calendars in a policy and in the files that it includes, at any depth. It is empty if there are none.
    package init(of policy: PolicyFile) throws(PolicyFileError) {
        var calendar = RootCalendar()
        for file in [(path: policy.path, root: policy.root)] + policy.included {
            var problems = PolicyProblems(path: file.path)
            calendar.add(RootCalendar(file.root, path: file.path, isRequired: false, &problems))
            guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
        }
        self = calendar
    }

    /// Reads the calendar in a file. Throws if it has none.
    package init(contentsOfFile path: String) throws(PolicyFileError) {
        let bytes = try PolicyFile.contents(ofFile: path)
        var problems = PolicyProblems(path: path)
        let document = JSONCReader.read(bytes, dialect: .init(ofFile: path))
        problems.add(document, of: bytes, keys: "\"version\" and \"pins\"")
        guard let root = document.root else { throw PolicyFileError(problems: problems.sorted) }
        self.init(root, path: path, isRequired: true, &problems)
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
    }

    private init(_ root: JSONValue, path: String, isRequired: Bool, _ problems: inout PolicyProblems) {
        for member in root["pins"]?.members ?? [] { read(member, &problems) }
        if let value = root["x-checked"] {
            if let day = value.string.flatMap({ Date(rfc3339: $0) }) {
                checked = (day, path)
            } else {
                problems.add("\"x-checked\" isn't a day: write 2026-11-20", at: value.position)
            }
        }
        if problems.isEmpty, isRequired || !roots.isEmpty {
            // Without the day of the facts, it isn't known when they are too old.
            if roots.isEmpty {
                problems.add("no pin has \"x-stores\": name a file such as pins/public-roots.jsonc", at: root.position)
            } else if checked == nil {
                problems.add("the file has no \"x-checked\": add the day of its facts", at: root.position)
            }
        }
    }

    private mutating func add(_ other: RootCalendar) {
        roots.merge(other.roots) { _, new in new }
        signed.merge(other.signed) { $0.merging($1, uniquingKeysWith: max) }
        // The oldest facts count.
        if let day = other.checked?.day, checked.map({ day < $0.day }) ?? true { checked = other.checked }
    }
}

// MARK: - Reading

extension RootCalendar {
    private static let stores = PolicyShape.object(
        Store.allCases.map { store in
            PolicyKey(
                store.rawValue,
                .object([
                    PolicyKey("since", .string), PolicyKey("pending", .boolean), PolicyKey("issuedUntil", .string),
                    PolicyKey("removed", .string), PolicyKey("absent", .boolean),
                    PolicyKey("source", .string, isRequired: true),
                ]))
        })

    private static let crossSigns = PolicyShape.array(
        of: .object([
            PolicyKey("by", .string, isRequired: true), PolicyKey("until", .string, isRequired: true),
            PolicyKey("source", .string, isRequired: true),
        ]))

    private mutating func read(_ pin: JSONValue.Member, _ problems: inout PolicyProblems) {
        guard let stores = pin.value["x-stores"] else { return }
        Self.stores.check(stores, "\"x-stores\"", &problems)
        if let value = pin.value["x-cross-signs"] { Self.crossSigns.check(value, "\"x-cross-signs\"", &problems) }
        guard let key = pin.value["pin"]?.string.flatMap({ SPKIFingerprint($0) }) else {
            return problems.add(
                "\(quoted(pin.key)) has \"x-stores\" but no \"pin\" with sha256/: add it", at: pin.keyPosition)
        }
        var trust: [Store: Trust] = [:]
        for store in Store.allCases {
            guard let value = stores[store.rawValue] else { continue }
            trust[store] = Trust(
                isAbsent: value["absent"]?.bool ?? false, since: value["since"]?.day(&problems),
                isPending: value["pending"]?.bool ?? false,
                issuedUntil: value["issuedUntil"]?.day(&problems),
                removed: value["removed"]?.day(&problems))
        }
        let bytes = Array(copying: key.bytes.span)
        for value in pin.value["x-cross-signs"]?.elements ?? [] {
            guard let issuer = value["by"]?.string, let until = value["until"]?.day(&problems) else { continue }
            signed[issuer, default: [:]].merge([bytes: until], uniquingKeysWith: max)
            guard signed[issuer]?.count ?? 0 > Self.successorLimit else { continue }
            problems.add(
                "\(quoted(issuer)) has signed more than \(Self.successorLimit) roots: "
                    + "name only those that it has signed", at: pin.keyPosition)
        }
        let root = Root(name: pin.key, trust: trust)
        if let known = roots.updateValue(root, forKey: bytes) {
            problems.add(
                "the key of \(quoted(pin.key)) is also that of \(quoted(known.name)): remove one",
                at: pin.keyPosition)
        }
    }
}

extension JSONValue {
    /// The day that a text states, such as `2026-11-20`. Another text is a problem.
    func day(_ problems: inout PolicyProblems) -> Date? {
        guard let text = string else { return nil }
        if let day = Date(rfc3339: text) { return day }
        problems.add("\(quoted(text)) isn't a day: write 2026-11-20", at: position)
        return nil
    }
}
