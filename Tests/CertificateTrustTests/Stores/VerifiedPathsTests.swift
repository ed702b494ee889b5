import FoundationEssentials
import TestPKI
import Testing

@testable import CertificateTrust

/// A path that a store remembers must be refused for every reason for which a new one is.
@Suite("Paths that were verified before")
struct VerifiedPathsTests {
    private let root: TestCertificate
    private let intermediate: TestCertificate
    private let leaf: TestCertificate
    private let store: TrustStore

    init() throws {
        root = try TestCertificate.root("Root")
        intermediate = try root.intermediate("Intermediate")
        leaf = try intermediate.leaf("api.example.test")
        store = TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)])
    }

    private func verdict(
        sent: [TestCertificate]? = nil, name: String = "api.example.test", at time: Int64 = 1_800_000_000,
        _ policy: TrustPolicy = .default
    ) throws -> String {
        let chain = try PresentedChain(derCertificates: (sent ?? [leaf, intermediate]).map(\.derBytes))
        let trust = ServerTrust(presented: chain, name: try ServerName(name), store: store, policy: policy)
        do {
            return try trust.evaluate(at: Date(timeIntervalSince1970: Double(time))).certificates.count == 3
                ? "accepted" : "another path"
        } catch {
            return error.rule.rawValue
        }
    }

    @Test("A path is kept once, and only if it is valid")
    func kept() throws {
        let stranger = try TestCertificate.root("Root").intermediate("Intermediate").leaf("api.example.test")
        #expect(try verdict(sent: [stranger, intermediate]) != "accepted")
        #expect(store.verifiedPaths.count == 0)
        for _ in 0..<3 { #expect(try verdict() == "accepted") }
        #expect(store.verifiedPaths.count == 1)
        #expect(try verdict(sent: [stranger, intermediate]) != "accepted")
    }

    @Test("A path that was verified is refused for another name, at another time, and for more strength or policies")
    func stillRefused() throws {
        #expect(try verdict() == "accepted")
        #expect(try verdict(name: "www.example.test") == TrustRule.nameMismatch.rawValue)
        #expect(try verdict(at: 4_000_000_000) == TrustRule.expired.rawValue)
        #expect(try verdict(at: 0) == TrustRule.notYetValid.rawValue)
        var strong = TrustPolicy.default
        strong.strength = .bits192
        #expect(try verdict(strong) == TrustRule.weakCryptography.rawValue)
        var policies = TrustPolicy.default
        policies.certificatePolicies.requireExplicit = true
        #expect(try verdict(policies) == TrustRule.certificatePolicies.rawValue)
        #expect(try verdict() == "accepted")
    }

    @Test("One byte of a certificate makes another path")
    func otherBytes() throws {
        #expect(try verdict() == "accepted")
        var forged = leaf.derBytes
        forged[forged.count - 1] ^= 1
        let chain = try PresentedChain(derCertificates: [forged, intermediate.derBytes])
        let trust = ServerTrust(presented: chain, name: try ServerName("api.example.test"), store: store)
        #expect(throws: TrustFinding.self) { try trust.evaluate(at: Date(timeIntervalSince1970: 1_800_000_000)) }
    }

    @Test("The number of paths is limited, and a forgotten path is verified again")
    func limit() throws {
        let memory = VerifiedPaths()
        let certificate = try X509Certificate(derBytes: root.derBytes)
        for count in 1...VerifiedPaths.limit + 1 {
            let path = [X509Certificate](repeating: certificate, count: count)
            memory.insert(.init(certificates: path, strength: .bits112, policies: nil))
        }
        #expect(memory.count == 1)
        #expect(!memory.contains(.init(certificates: [certificate], strength: .bits112, policies: nil)))
    }
}
