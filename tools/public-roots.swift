// Prints the pins of pins/public-roots.jsonc: public-roots.swift FACTS < ROOTS
//
// ROOTS has a line for each root of the package: name, pin and note, separated by tabs. FACTS is
// tools/public-roots.json, which has what the package doesn't say: the roots that aren't in it yet, the stores, and the
// cross-signatures.
import Foundation

struct Facts: Decodable {
    struct Root: Decodable {
        let pin: String
        let key: String
        let notAfter: String
    }

    /// The roots of a store that aren't simply in it, by what is different. Days are keys.
    struct Store: Decodable {
        let source: String
        let absent: [String]
        let since: [String: [String]]?
        let sinceSource: String?
        let issuedUntil: [String: [String]]?
        let issuedUntilSource: String?
        let removed: [String: [String]]?
        let removedSource: String?
    }

    struct Pending: Decodable {
        let roots: [String]
        let stores: [String]
        let source: String
    }

    struct CrossSign: Decodable {
        let root: String
        let by: String
        let until: String
        let source: String
    }

    let date: String
    let sources: [String: String]
    let roots: [String: Root]
    let stores: [String: Store]
    let pending: Pending
    let crossSigns: [CrossSign]
}

func text(_ members: [(String, String)]) -> String {
    "{ " + members.map { "\"\($0)\": \($1)" }.joined(separator: ", ") + " }"
}

let facts = try JSONDecoder().decode(
    Facts.self, from: Data(contentsOf: URL(filePath: CommandLine.arguments[1])))
var roots: [(name: String, pin: String, note: String)] = []
while let line = readLine() {
    let parts = line.split(separator: "\t").map(String.init)
    guard parts.count == 3 else { fatalError("not name, pin and note: \(line)") }
    roots.append((parts[0], parts[1], parts[2]))
}
let inPackage = Set(roots.map(\.name))
for (name, root) in facts.roots.sorted(by: { $0.key < $1.key }) where !inPackage.contains(name) {
    roots.append((name, root.pin, "\(root.key), valid to \(root.notAfter)"))
}

/// Returns the entry of `x-stores` for a root.
func entry(_ name: String, in store: Facts.Store) -> String {
    func day(_ days: [String: [String]]?) -> String? { days?.filter { $0.value.contains(name) }.keys.min() }
    var members: [(String, String)] = []
    var sources = [store.source]
    func add(_ key: String, _ days: [String: [String]]?, _ source: String?) {
        guard let day = day(days) else { return }
        members.append((key, "\"\(day)\""))
        if let source, !sources.contains(source) { sources.append(source) }
    }
    if store.absent.contains(name) { members.append(("absent", "true")) }
    add("since", store.since, store.sinceSource)
    add("issuedUntil", store.issuedUntil, store.issuedUntilSource)
    add("removed", store.removed, store.removedSource)
    return text(members + [("source", "\"\(sources.joined(separator: ", "))\"")])
}

print("  \"x-checked\": \"\(facts.date)\",")
print("  \"x-sources\": {")
for (name, source) in facts.sources.sorted(by: { $0.key < $1.key }) { print("    \"\(name)\": \"\(source)\",") }
print("  },\n  \"pins\": {")
let pending = facts.pending
for root in roots {
    let stores = facts.stores.sorted { $0.key < $1.key }.map { store, facts in
        let isPending = pending.roots.contains(root.name) && pending.stores.contains(store)
        return (
            store,
            isPending
                ? text([("pending", "true"), ("source", "\"\(pending.source)\"")])
                : entry(root.name, in: facts)
        )
    }
    var signs: [String] = []
    for sign in facts.crossSigns where sign.root == root.name {
        let line = text([("by", "\"\(sign.by)\""), ("until", "\"\(sign.until)\""), ("source", "\"\(sign.source)\"")])
        // Several certificates of one issuer can end on the same day.
        if !signs.contains(line) { signs.append(line) }
    }
    print("    \"\(root.name)\": {")
    print("      \"pin\": \"\(root.pin)\", \"role\": \"ca\", \"note\": \"\(root.note)\",")
    print("      \"x-stores\": {")
    for (store, entry) in stores { print("        \"\(store)\": \(entry),") }
    print("      },")
    if !signs.isEmpty {
        print("      \"x-cross-signs\": [")
        for sign in signs { print("        \(sign),") }
        print("      ],")
    }
    print("    },")
}
print("  },")
