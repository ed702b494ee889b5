import FoundationEssentials
import OpenSSLBridge
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// A path whose signatures a store remembers must be refused for every reason for which a new one is.
@Suite("Signatures that were verified before")
struct VerifiedSignaturesTests {
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

    @Test("The signatures of a path are kept once, and only if all of them verify")
    func kept() throws {
        let unrelated = try TestCertificate.root("Root").intermediate("Intermediate").leaf("api.example.test")
        #expect(try verdict(sent: [unrelated, intermediate]) == TrustRule.badSignature.rawValue)
        #expect(store.verifiedSignatures.count == 0)
        for _ in 0..<3 { #expect(try verdict() == "accepted") }
        #expect(store.verifiedSignatures.count == 2)
        let path = try [leaf, intermediate, root].map { try X509Certificate(derBytes: $0.derBytes) }
        let verified = store.verifiedSignatures.known(of: path).verified
        #expect((0...3).map(verified.contains) == [true, true, false, false])
    }

    @Test("A known issuer vouches for no certificate that it didn't sign, and for another one only once it is verified")
    func otherLeaves() throws {
        #expect(try verdict() == "accepted")
        let unrelated = try TestCertificate.root("Root").intermediate("Intermediate").leaf("api.example.test")
        #expect(try verdict(sent: [unrelated, intermediate]) == TrustRule.badSignature.rawValue)
        #expect(store.verifiedSignatures.count == 2)
        let sibling = try intermediate.leaf("api.example.test")
        #expect(try verdict(sent: [sibling, intermediate]) == "accepted")
        #expect(store.verifiedSignatures.count == 3)
    }

    @Test("A known certificate isn't known below another issuer of the same name")
    func otherIssuer() throws {
        #expect(try verdict() == "accepted")
        let existing = try root.intermediate("Intermediate")
        let path = try [leaf, existing, root].map { try X509Certificate(derBytes: $0.derBytes) }
        #expect(!store.verifiedSignatures.known(of: path).verified.contains(0))
        #expect(try verdict(sent: [leaf, existing]) == TrustRule.badSignature.rawValue)
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

    @Test("Nothing is kept of a certificate over 8 KiB, nor below one")
    func sizes() throws {
        let names = (0..<500).map { "name-\($0).example.test" }
        let large = try root.leaf("api.example.test") { $0.alternativeNames += names.map { .dns($0) } }
        let (certificate, issuer) = (
            try X509Certificate(derBytes: large.derBytes), try X509Certificate(derBytes: root.derBytes)
        )
        #expect(large.derBytes.count > VerifiedSignatures.sizeLimit)
        let memory = VerifiedSignatures()
        memory.insert([certificate, issuer])
        memory.insert([issuer, certificate])
        #expect(memory.count == 0)
        #expect(try verdict(sent: [large]) == "another path")
        #expect(store.verifiedSignatures.count == 0)
    }

    @Test("The number of certificates is limited, and a forgotten one is verified again")
    func limit() throws {
        let memory = VerifiedSignatures()
        let issuer = try X509Certificate(derBytes: intermediate.derBytes)
        let certificates = try (0...VerifiedSignatures.limit).map { number in
            var bytes = leaf.derBytes
            bytes[bytes.count - 1] = UInt8(number % 256)
            bytes[bytes.count - 2] = UInt8(number / 256)
            return try X509Certificate(derBytes: bytes)
        }
        for certificate in certificates.dropLast() { memory.insert([certificate, issuer]) }
        #expect(memory.count == VerifiedSignatures.limit)
        #expect(memory.known(of: [certificates[0], issuer]).verified.contains(0))
        memory.insert([certificates[VerifiedSignatures.limit], issuer])
        #expect(memory.count == 1)
        #expect(!memory.known(of: [certificates[0], issuer]).verified.contains(0))
    }
}
