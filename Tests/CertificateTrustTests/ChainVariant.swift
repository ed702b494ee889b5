import PinctlTestPKI
import Testing

/// A chain with one unusual property.
struct ChainVariant: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let claim: @Sendable () throws -> Claim

    init(_ description: String, _ claim: @escaping @Sendable () throws -> Claim) {
        testDescription = description
        self.claim = claim
    }

    /// Returns a chain with this leaf under an ordinary intermediate and root, evaluated for `name`.
    static func leaf(
        _ description: String, key: TestKey.Kind = .p256, name: String? = "api.example.test",
        adjusting adjust: @escaping @Sendable (inout TestCertificate.Settings) -> Void = { _ in }
    ) -> ChainVariant {
        ChainVariant(description) {
            let root = try TestCertificate.root("Root")
            let intermediate = try root.intermediate("Intermediate")
            let leaf = try intermediate.leaf("api.example.test", key: .shared(key), adjusting: adjust)
            return Claim(leaf: leaf, presented: [intermediate], anchors: [root], name: name)
        }
    }

    /// Returns a chain with this intermediate between an ordinary root and leaf.
    static func intermediate(
        _ description: String, name: String = "api.example.test",
        adjusting adjust: @escaping @Sendable (inout TestCertificate.Settings) -> Void,
        leaf adjustLeaf: @escaping @Sendable (inout TestCertificate.Settings) -> Void = { _ in }
    ) -> ChainVariant {
        ChainVariant(description) {
            let root = try TestCertificate.root("Root")
            let intermediate = try root.intermediate("Intermediate", adjusting: adjust)
            let leaf = try intermediate.leaf("api.example.test", adjusting: adjustLeaf)
            return Claim(leaf: leaf, presented: [intermediate], anchors: [root], name: name)
        }
    }

    /// Returns a chain with this root over an ordinary intermediate and leaf.
    static func root(
        _ description: String, adjusting adjust: @escaping @Sendable (inout TestCertificate.Settings) -> Void
    ) -> ChainVariant {
        ChainVariant(description) {
            let root = try TestCertificate.root("Root", adjusting: adjust)
            let intermediate = try root.intermediate("Intermediate")
            let leaf = try intermediate.leaf("api.example.test")
            return Claim(leaf: leaf, presented: [intermediate], anchors: [root])
        }
    }
}
