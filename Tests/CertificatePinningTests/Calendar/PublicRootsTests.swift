import Foundation
import PinctlBasics
import PinctlTestPKI
import Testing

/// The facts in `pins/public-roots.jsonc` and their sources.
@Suite("The calendar of public roots")
struct PublicRootsTests {
    private let root: JSONValue

    init() throws {
        let bytes = try Data(contentsOf: URL(filePath: Repository.root + "/pins/public-roots.jsonc"))
        root = try #require(JSONCReader.read(Array(bytes), dialect: .jsonc).root)
    }

    /// The source that has a fact of a store: what is in the store today, and its days.
    private static let evidence: [String: [String: String]] = [
        "android": ["": "android"], "apple": ["": "apple", "issuedUntil": "apple-changes"],
        "chrome": ["": "chrome", "issuedUntil": "chrome"], "microsoft": ["": "microsoft"],
        "mozilla": ["": "nss", "since": "nss-git", "issuedUntil": "nss", "removed": "lifecycles"],
    ]

    @Test("Each dated fact names the source that has it, and each source is explained")
    func sources() throws {
        let explained = Set(try #require(root["x-sources"]?.members).map(\.key))
        var (used, dated): (Set<String>, Int) = ([], 0)
        for pin in try #require(root["pins"]?.members) {
            let stores = try #require(pin.value["x-stores"]?.members, "\(pin.key)")
            #expect(stores.map(\.key) == Self.evidence.keys.sorted(), "\(pin.key)")
            for (store, facts) in stores.map({ ($0.key, $0.value) }) {
                let named = (facts["source"]?.string ?? "").components(separatedBy: ", ")
                used.formUnion(named)
                // A root that is about to enter a store isn't in the store's own list.
                guard facts["pending"] == nil else {
                    #expect(named == ["letsencrypt"], "\(pin.key) \(store)")
                    continue
                }
                let evidence = try #require(Self.evidence[store])
                for key in ["", "since", "issuedUntil", "removed"] where key.isEmpty || facts[key] != nil {
                    let source = try #require(evidence[key], "\(pin.key) \(store) \(key)")
                    #expect(named.contains(source), "\(pin.key) \(store) \(key)")
                    if !key.isEmpty {
                        #expect(Date(rfc3339: facts[key]?.string ?? "") != nil)
                        dated += 1
                    }
                }
            }
            for sign in pin.value["x-cross-signs"]?.elements ?? [] {
                let source = try #require(sign["source"]?.string, "\(pin.key)")
                #expect(["ccadb", "letsencrypt"].contains(source))
                #expect(Date(rfc3339: sign["until"]?.string ?? "") != nil)
                used.insert(source)
                dated += 1
            }
        }
        #expect(used == explained)
        #expect(dated > 250)
        #expect(root["x-checked"]?.string.flatMap { Date(rfc3339: $0) } != nil)
    }

    @Test("Let's Encrypt's new roots and their cross-signatures are in it")
    func generationY() throws {
        for (name, issuer) in [("root-ye", "isrg-root-x2"), ("root-yr", "isrg-root-x1")] {
            let signs = root["pins"]?[name]?["x-cross-signs"]?.elements ?? []
            #expect(signs.contains { $0["by"]?.string == issuer && $0["until"]?.string == "2032-09-02" })
        }
    }
}
