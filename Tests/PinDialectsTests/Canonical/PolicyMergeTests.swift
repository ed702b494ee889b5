import CertificatePinning
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("Merging policies")
struct PolicyMergeTests {
    /// The text of a key's pin.
    static func pin(_ key: UInt8) -> String {
        let bytes = [UInt8](repeating: key, count: 32)
        return "\"sha256/\(Base64.encode(bytes.span))\""
    }

    /// A policy file with these rules. `K1` in a rule is the pin of a key.
    private static func policy(_ rules: [String], _ more: String = "", path: String) throws -> CanonicalPolicy {
        let list = rules.map { "{ \($0) }" }.joined(separator: ",\n")
        var text = "{ \"version\": 1, \(more)\n\"domains\": [\n\(list)\n] }"
        for key in UInt8(1)...3 { text = text.replacing("K\(key)", with: pin(key)) }
        return try PinDialect.policy.read(Array(text.utf8), path: path).policy
    }

    struct Row: CustomTestStringConvertible {
        let title: String
        let a: [String]
        let b: [String]
        /// The changes, each with its direction and the line in the file whose meaning changes.
        let notes: [String]
        /// The keys of each rule.
        var rules: [String] = []

        var testDescription: String { title }
    }

    @Test(
        "The rules for a host become one, and the changes are noted for each file",
        arguments: [
            Row(
                title: "equal", a: [#""host": "a.test", "pins": [K1, K2]"#],
                b: [#""host": "a.test", "pins": [K2, K1]"#],
                notes: [], rules: ["a.test 1 2"]),
            Row(
                title: "other hosts", a: [#""host": "a.test", "pins": [K1]"#], b: [#""host": "b.test", "pins": [K2]"#],
                notes: [], rules: ["a.test 1", "b.test 2"]),
            Row(
                title: "pins", a: [#""host": "a.test", "pins": [K1, K2]"#], b: [#""host": "a.test", "pins": [K2, K3]"#],
                notes: ["a:2 combine-changed weaker", "b:2 combine-changed weaker"], rules: ["a.test 1 2 3"]),
            Row(
                title: "a subset", a: [#""host": "a.test", "pins": [K1, K2]"#], b: [#""host": "a.test", "pins": [K1]"#],
                notes: ["b:2 combine-changed weaker"], rules: ["a.test 1 2"]),
            Row(
                title: "roles", a: [#""host": "a.test", "pins": [{ "pin": K1, "role": "leaf" }]"#],
                b: [#""host": "a.test", "pins": [K1]"#], notes: ["a:2 combine-changed weaker"], rules: ["a.test 1"]),
            Row(
                title: "a requirement that changes nothing",
                a: [#""host": "a.test", "pins": [{ "pin": K1, "role": "ca" }], "require": ["ca"]"#],
                b: [#""host": "a.test", "pins": [{ "pin": K1, "role": "ca" }]"#], notes: [], rules: ["a.test 1"]),
            Row(
                title: "subdomains", a: [#""host": "a.test", "pins": [K1]"#],
                b: [#""host": "a.test", "subdomains": true, "pins": [K1]"#], notes: ["a:2 scope-widened stricter"],
                rules: ["*.a.test 1"]),
            Row(
                title: "subdomains below a parent",
                a: [#""host": "b.a.test", "pins": [K1]"#, #""host": "a.test", "subdomains": true, "pins": [K1]"#],
                b: [#""host": "b.a.test", "subdomains": true, "pins": [K1]"#], notes: ["a:2 scope-widened either"],
                rules: ["*.b.a.test 1", "*.a.test 1"]),
            Row(
                title: "an expiry and none",
                a: [
                    #""host": "a.test", "pins": [K1], "expires": "2027-01-01T00:00:00Z", "onExpiry": "stop-pinning""#
                ], b: [#""host": "a.test", "pins": [K1]"#], notes: ["a:2 expiry-lost stricter"], rules: ["a.test 1"]),
            Row(
                title: "two expiries",
                a: [
                    #""host": "a.test", "pins": [K1], "expires": "2027-01-01T00:00:00Z", "onExpiry": "stop-pinning""#
                ],
                b: [
                    #""host": "a.test", "pins": [K1], "expires": "2028-01-01T00:00:00Z", "onExpiry": "stop-pinning""#
                ], notes: ["a:2 expiry-zone stricter"], rules: ["a.test 1 2028-01-01T00:00:00Z (stop-pinning)"]),
            Row(
                title: "two expiries, the later first",
                a: [
                    #""host": "a.test", "pins": [K1], "expires": "2028-01-01T00:00:00Z", "onExpiry": "stop-pinning""#
                ],
                b: [
                    #""host": "a.test", "pins": [K1], "expires": "2027-01-01T00:00:00Z", "onExpiry": "stop-pinning""#
                ], notes: ["b:2 expiry-zone stricter"], rules: ["a.test 1 2028-01-01T00:00:00Z (stop-pinning)"]),
            Row(
                title: "a rule below that of a parent", a: [#""host": "a.test", "subdomains": true, "pins": [K1, K2]"#],
                b: [#""host": "b.a.test", "pins": [K1]"#], notes: ["a:2 combine-changed stricter"],
                rules: ["*.a.test 1 2", "b.a.test 1"]),
            Row(
                title: "a rule with more pins below that of a parent",
                a: [#""host": "a.test", "subdomains": true, "pins": [K1]"#],
                b: [#""host": "b.a.test", "pins": [K1, K2]"#],
                notes: ["a:2 combine-changed weaker"], rules: ["*.a.test 1", "b.a.test 1 2"]),
            Row(
                title: "an exclusion below the rule of a parent",
                a: [#""host": "a.test", "subdomains": true, "pins": [K1]"#],
                b: [
                    #""host": "b.a.test", "pins": [K1], "mode": "off""#,
                    #""host": "a.test", "subdomains": true, "pins": [K1]"#,
                ], notes: ["a:2 combine-changed either"], rules: ["*.a.test 1", "b.a.test 1 off"]),
            Row(
                title: "separate ports", a: [#""host": "a.test", "ports": [443], "pins": [K1]"#],
                b: [#""host": "a.test", "ports": [8443], "pins": [K2]"#], notes: [], rules: ["a.test 1", "a.test 2"]),
            Row(
                title: "report addresses",
                a: [#""host": "a.test", "pins": [K1], "reports": ["https://r.example/a"]"#],
                b: [#""host": "a.test", "pins": [K1], "reports": ["https://r.example/b"]"#],
                notes: ["a:2 reports-lost unchanged", "b:2 reports-lost unchanged"], rules: ["a.test 1"]),
        ])
    func merged(_ row: Row) throws {
        let merge = PolicyMerge([
            try Self.policy(row.a, path: "a"), try Self.policy(row.b, path: "b"),
        ])
        // The rules begin on the second line of the text.
        let notes = merge.notes.map { note in
            "\(note.location.map { "\($0.path):\($0.line - 1)" } ?? "") \(note.change.rawValue) "
                + "\(note.direction.rawValue)"
        }
        #expect(notes == row.notes)
        let rules = merge.policy.rules.map { rule in
            let keys = rule.pins.map { "\($0.value[0])" }.joined(separator: " ")
            return (rule.patterns[0].scope == .exact ? "" : "*.") + "\(rule.patterns[0].host) \(keys)"
                + (rule.expiry.map { " \($0.title)" } ?? "") + (rule.mode == .off ? " off" : "")
        }
        #expect(rules == row.rules)
        _ = try PolicyFile(bytes: PinDialect.policy.write(merge.policy), path: "merged.jsonc")
    }

    @Test(
        "Rules for a host that differ in a setting without an order aren't merged",
        arguments: [
            (#""mode": "report""#, "mode (report, not enforce)"),
            (#""ports": [443]"#, "ports (443, not all)"),
            (#""anchors": "system""#, "anchors (system, not not set)"),
            (#""certificateTransparency": "require""#, "certificateTransparency (require, not not set)"),
            (#""require": ["leaf", "ca"]"#, "require (leaf and ca, not any)"),
            (
                #""expires": "2027-01-01T00:00:00Z", "onExpiry": "fail""#,
                "expiry (2027-01-01T00:00:00Z (fail), not never)"
            ),
        ])
    func conflicts(_ setting: String, _ message: String) throws {
        let pins = #""pins": [{ "pin": K1, "role": "leaf" }, { "pin": K2, "role": "ca" }]"#
        let merge = PolicyMerge([
            try Self.policy([#""host": "a.test", \#(pins)"#], path: "a"),
            try Self.policy([#""host": "a.test", \#(pins), \#(setting)"#], path: "b"),
        ])
        let impossible = merge.notes.filter { $0.direction == .impossible }
        #expect(impossible.count == 1)
        #expect(impossible.first?.message.contains("the one at a:3:1 differ in \(message)") == true)
        #expect(impossible.first?.location?.path == "b")
    }

    @Test("Denied keys are united with a note, and different treatments of other hosts aren't merged")
    func wholeFile() throws {
        let rules = [#""host": "a.test", "pins": [K1]"#]
        let denied = PolicyMerge([
            try Self.policy(rules, #""deny": [K3],"#, path: "a"), try Self.policy(rules, path: "b"),
        ])
        #expect(denied.notes.map(\.direction) == [.stricter])
        #expect(denied.policy.denied.count == 1)
        let unlisted = PolicyMerge([
            try Self.policy(rules, #""unlisted": "refuse","#, path: "a"), try Self.policy(rules, path: "b"),
        ])
        #expect(unlisted.notes.map(\.direction) == [.impossible])
    }

    @Test("A key that is a backup in only one of the policies isn't a backup, and keeps the name that it has in one")
    func backups() throws {
        let named = #""pins": { "key": { "pin": K1, "backup": true } },"#
        let merge = PolicyMerge([
            try Self.policy([#""host": "a.test", "pins": [{ "pin": K2, "backup": true }, K1]"#], path: "a"),
            try Self.policy(
                [#""host": "a.test", "pins": [{ "pin": K2, "backup": true }, "key"]"#], named, path: "b"),
        ])
        #expect(merge.notes == [])
        #expect(merge.policy.rules.map { $0.pins.map(\.isBackup) } == [[true, false]])
        #expect(merge.policy.rules.map { $0.pins.map(\.name) } == [[nil, "key"]])
    }

    @Test("The note of each pin lists the files and lines that it comes from, and a shared name lists all")
    func origins() throws {
        let named = #""pins": { "key": K1 },"#
        var merge = PolicyMerge([
            try Self.policy(
                [#""host": "a.test", "pins": ["key", K2]"#, #""host": "b.test", "pins": ["key"]"#], named, path: "a"),
            try Self.policy([#""host": "a.test", "pins": [K2]"#], path: "b"),
        ])
        merge.noteOrigins()
        #expect(
            merge.policy.rules.map { $0.pins.map { $0.note ?? "" } } == [["from a:1", "from a:3, b:3"], ["from a:1"]])
    }

    @Test("Rules that are added to a policy leave out denied keys, and this is noted")
    func added() throws {
        let old = try Self.policy([#""host": "a.test", "subdomains": true, "pins": [K1]"#], path: "old")
        let new = try Self.policy(
            [#""host": "b.a.test", "pins": [K2]"#], #""deny": [K3], "unlisted": "refuse","#, path: "new")
        let merge = PolicyMerge(adding: new, to: old)
        #expect(
            merge.notes.map { "\($0.change.rawValue) \($0.direction.rawValue)" } == [
                "combine-changed either", "deny-lost weaker", "unlisted-lost weaker",
            ])
        #expect(old.duplicates(of: new).isEmpty)
        #expect(old.duplicates(of: try Self.policy([#""host": "a.test", "pins": [K2]"#], path: "new")).count == 1)
    }

    // MARK: - Every change is noted

    /// Returns the keys that a policy accepts for a host, or `nil` if it doesn't pin the host. This is a second
    /// implementation of the closest rule.
    private static func keys(for host: String, in policy: CanonicalPolicy) -> Set<UInt8>? {
        let rules = policy.rules.filter { rule in
            let pattern = rule.patterns[0]
            return pattern.host == host || pattern.scope == .exactAndBelow && host.hasSuffix("." + pattern.host)
        }
        return rules.max { $0.patterns[0].host.count < $1.patterns[0].host.count }
            .map { Set($0.pins.map { $0.value[0] }) }
    }

    @Test("A source for whose hosts the merged policy accepts or rejects other keys has a note")
    func generated() throws {
        var numbers = SeededGenerator(seed: 8)
        func one<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &numbers)] }
        let hosts = ["a.test", "b.a.test", "c.b.a.test", "d.test"]
        var changes = 0
        for _ in 0..<2_000 {
            let sources = (0..<one([2, 3])).map { index in
                let own = hosts.filter { _ in one([true, false]) }
                let rules = own.map { host in
                    var rule = CanonicalRule(
                        patterns: [HostPattern(host, one([.exact, .exactAndBelow]))],
                        pins: (UInt8(1)...3).filter { _ in one([true, false]) }
                            .map { CanonicalPin(.publicKey, .sha256, [UInt8](repeating: $0, count: 32)) })
                    rule.location = PolicyLocation(path: "\(index)")
                    return rule
                }
                return CanonicalPolicy(rules: rules.filter { !$0.pins.isEmpty }, combination: .closest)
            }
            let merge = PolicyMerge(sources)
            for (index, source) in sources.enumerated() {
                let directions = Set(merge.notes.filter { $0.location?.path == "\(index)" }.map(\.direction))
                for host in hosts + ["x.a.test", "x.b.a.test", "x.c.b.a.test"] {
                    guard let before = Self.keys(for: host, in: source) else { continue }
                    let after = Self.keys(for: host, in: merge.policy) ?? []
                    if !after.isSubset(of: before) {
                        changes += 1
                        #expect(!directions.isDisjoint(with: [.weaker, .either]), "\(host): \(sources) \(merge.notes)")
                    }
                    if !before.isSubset(of: after) {
                        changes += 1
                        #expect(!directions.isDisjoint(with: [.stricter, .either]), "\(host): \(sources)")
                    }
                }
            }
        }
        #expect(changes > 500)
    }
}
