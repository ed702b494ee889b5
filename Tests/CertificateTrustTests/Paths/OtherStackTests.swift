@_spi(Attachments) import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

/// A certificate in the form that another stack provides: SwiftNIO's `NIOSSLCertificate` has this method.
private struct ForeignCertificate {
    var bytes: [UInt8]

    func toDERBytes() throws -> [UInt8] { bytes }
}

@Suite("Other network stacks")
struct OtherStackTests {
    /// The callback of the article "Verifying in another network stack", with the verdict as its result.
    private func verify(_ certificates: [ForeignCertificate], name: ServerName, store: TrustStore) -> Bool {
        do {
            let presented = try PresentedChain(derCertificates: certificates.map { try $0.toDERBytes() })
            let trust = ServerTrust(presented: presented, name: name, store: store)
            _ = try trust.evaluate(at: Date(timeIntervalSince1970: 1_800_000_000))
            return true
        } catch {
            return false
        }
    }

    @Test("A verification callback needs DER, a name and a store, and every error rejects the chain")
    func callback() throws {
        let root = try TestCertificate.root("Root")
        let intermediate = try root.intermediate("Intermediate")
        let leaf = try intermediate.leaf("api.example.test")
        let chain = [leaf, intermediate].map { ForeignCertificate(bytes: $0.derBytes) }
        let store = TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)])
        let name = try ServerName("api.example.test")
        #expect(verify(chain, name: name, store: store))
        #expect(!verify(chain, name: try ServerName("other.example.test"), store: store))
        #expect(!verify([chain[0]], name: name, store: store))
        #expect(!verify([], name: name, store: store))
        #expect(!verify([ForeignCertificate(bytes: [0x30])], name: name, store: store))
    }

    @Test("The paths beside a known one are those of a whole search, also if names allow no other path")
    func pathsBesideOne() throws {
        let roots = try (1...2).map { try TestCertificate.root("Root \($0)") }
        let authority = try roots[0].intermediate("Authority")
        let crossed = try roots[1].crossSign(authority)
        let leaf = try authority.leaf("api.example.test")
        let time = Date(timeIntervalSince1970: 1_800_000_000)
        for (presented, anchors, count) in [
            ([authority], [roots[0]], 1), ([authority, crossed], roots, 2), ([authority, crossed], [roots[0]], 1),
        ] {
            let trust = try Claim(leaf: leaf, presented: presented, anchors: anchors).trust()
            let path = try trust.evaluate(at: time)
            let beside = try trust.allPaths(beside: path, at: time, limit: 10)
            #expect(try beside == trust.allPaths(at: time, limit: 10))
            #expect(beside.count == count)
            // With another path, the search is a whole one, which fails where nothing is valid.
            let later = time + 1e9
            if count == 2 {
                #expect(throws: TrustFinding.self) { try trust.allPaths(beside: path, at: later, limit: 10) }
            }
        }
    }

    @Test("A value attached to a claim stays with it, and changes no evaluation")
    func attachment() throws {
        let root = try TestCertificate.root("Root")
        let leaf = try root.leaf("api.example.test")
        let time = Date(timeIntervalSince1970: 1_800_000_000)
        for (anchors, isTrusted) in [([root], true), ([], false)] {
            let trust = try Claim(leaf: leaf, anchors: anchors).trust()
            #expect(trust.withAttachment { $0 == nil })
            trust.withAttachment { $0 = "trusted" }
            #expect(trust.withAttachment { $0 as? String } == "trusted")
            #expect(((try? trust.evaluate(at: time)) != nil) == isTrusted)
        }
    }

    @Test("All paths are found, up to a limit")
    func allPaths() throws {
        let roots = try (1...3).map { try TestCertificate.root("Root \($0)") }
        let authority = try roots[0].intermediate("Authority")
        let crossed = try roots.dropFirst().map { try $0.crossSign(authority) }
        let leaf = try authority.leaf("api.example.test")
        let presented = try PresentedChain(
            derCertificates: [leaf, authority].map(\.derBytes) + crossed.map(\.derBytes))
        let store = TrustStore(certificates: try roots.map { try X509Certificate(derBytes: $0.derBytes) })
        let trust = ServerTrust(presented: presented, name: try ServerName("api.example.test"), store: store)
        let time = Date(timeIntervalSince1970: 1_800_000_000)
        let anchors = try trust.allPaths(at: time, limit: 10).map(\.anchor.derBytes)
        #expect(Set(anchors) == Set(roots.map(\.derBytes)))
        #expect(anchors.count == 3)
        #expect(try trust.allPaths(at: time, limit: 2).count == 2)
        #expect(try trust.allPaths(at: time, limit: 0).isEmpty)
        let chain = ChainTrust(presented: presented, store: store, policy: .default)
        let paths = try chain.allPaths(at: time, limit: 10)
        #expect(Set(paths.map(\.anchor.derBytes)) == Set(anchors))
        #expect(paths.map(\.description).contains("CN=api.example.test -> CN=Authority -> CN=Root 1"))
        let unrelated = TrustStore(certificates: [])
        #expect(throws: TrustFinding.self) {
            try ChainTrust(presented: presented, store: unrelated, policy: .default).allPaths(at: time, limit: 10)
        }
        let untrusted = ServerTrust(presented: presented, name: trust.name, store: unrelated)
        #expect(throws: TrustFinding.self) { try untrusted.allPaths(at: time, limit: 10) }
    }
}
