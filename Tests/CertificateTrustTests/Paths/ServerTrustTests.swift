import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Server trust")
struct ServerTrustTests {
    let root: TestCertificate
    let intermediate: TestCertificate
    let leaf: TestCertificate

    init() throws {
        root = try TestCertificate.root("Root")
        intermediate = try root.intermediate("Intermediate")
        leaf = try intermediate.leaf("api.example.test")
    }

    @Test("A chain to an anchor is verified, leaf first, and the anchor doesn't have to be sent")
    func accepted() throws {
        let claim = Claim(leaf: leaf, presented: [intermediate], anchors: [root])
        #expect(try claim.evaluate() == [leaf, intermediate, root].map(\.derBytes))
    }

    @Test(
        "Signatures by every kind of key are verified",
        arguments: [.rsa2048, .p256, .p384, .p521, .ed25519] as [TestKey.Kind])
    func keys(_ kind: TestKey.Kind) throws {
        let root = try TestCertificate.root("Root", key: .shared(kind))
        let leaf = try root.leaf("api.example.test", key: TestKey(kind))
        #expect(try Claim(leaf: leaf, anchors: [root]).verdict() == "accepted")
    }

    @Test("CB5, CB6: order, duplicates and unrelated certificates don't matter, and the path has none of them")
    func disorder() throws {
        let second = try intermediate.intermediate("Second")
        let leaf = try second.leaf("api.example.test")
        let unrelated = try TestCertificate.root("Unrelated")
        let presented = [unrelated, root, second, intermediate] + Array(repeating: second, count: 50)
        let claim = Claim(leaf: leaf, presented: presented, anchors: [root])
        #expect(try claim.evaluate() == [leaf, second, intermediate, root].map(\.derBytes))
    }

    @Test("CB1, CB2, CB4, CB17: a chain without a path to an anchor is rejected")
    func unanchored() throws {
        let other = try TestCertificate.root("Other")
        let selfSigned = try TestCertificate.selfSigned(.server(["api.example.test"]))
        #expect(try Claim(leaf: selfSigned, anchors: [root]).verdict() == "unknown-issuer")
        #expect(try Claim(leaf: leaf, presented: [intermediate, root], anchors: [other]).verdict() == "unknown-issuer")
        #expect(try Claim(leaf: leaf, anchors: [root]).verdict() == "unknown-issuer")
        #expect(try Claim(leaf: leaf, presented: [intermediate], anchors: []).verdict() == "unknown-issuer")
    }

    @Test("CB3: a certificate is valid from its first second to its last", arguments: ["leaf", "intermediate", "root"])
    func validity(_ which: String) throws {
        let (start, end): (Int64, Int64) = (1_799_999_990, 1_800_000_010)
        func window(_ settings: inout TestCertificate.Settings) {
            settings.notBefore = start
            settings.notAfter = end
        }
        let root = try TestCertificate.root("Root") { if which == "root" { window(&$0) } }
        let intermediate = try root.intermediate("Intermediate") { if which == "intermediate" { window(&$0) } }
        let leaf = try intermediate.leaf("api.example.test") { if which == "leaf" { window(&$0) } }
        var claim = Claim(leaf: leaf, presented: [intermediate], anchors: [root])
        for (time, expected) in [
            (start - 1, "not-yet-valid"), (start, "accepted"), (end, "accepted"), (end + 1, "expired"),
        ] {
            claim.time = time
            #expect(try claim.verdict() == expected)
        }
    }

    @Test(
        "A time that isn't finite or is out of range is rejected without a trap",
        arguments: [Double.infinity, -.infinity, .nan, 1e300])
    func impossibleTime(_ seconds: Double) throws {
        let trust = try Claim(leaf: leaf, presented: [intermediate], anchors: [root]).trust()
        #expect(throws: TrustFinding.self) { try trust.evaluate(at: Date(timeIntervalSince1970: seconds)) }
    }

    @Test(
        "A time outside the years 0 to 9999 is rejected, and written in seconds",
        arguments: [(1e15, "expired"), (9.2e18, "expired"), (-1e15, "not-yet-valid"), (-9.2e18, "not-yet-valid")])
    func distantTime(_ seconds: Double, rule: String) throws {
        for mode in [RevocationMode.ignore, .require] {
            var claim = Claim(leaf: leaf, presented: [intermediate], anchors: [root])
            claim.time = Int64(seconds)
            claim.policy.revocation = mode
            let finding = try claim.finding()
            #expect(finding?.rule.rawValue == rule)
            #expect(finding?.detail.contains("current time \(claim.time) seconds after 1970-01-01)") == true)
        }
    }

    @Test("CB7: among issuers with the same name and key, the one that leads to a valid anchor is used")
    func crossSigned() throws {
        let old = try TestCertificate.root("Old Root") { $0.notAfter = 1_790_000_000 }
        let cross = try old.crossSign(root)
        let claim = Claim(leaf: leaf, presented: [intermediate, cross], anchors: [old, root])
        #expect(try claim.evaluate() == [leaf, intermediate, root].map(\.derBytes))
        let expiredOnly = Claim(leaf: leaf, presented: [intermediate, cross], anchors: [old])
        #expect(try expiredOnly.verdict() == "expired")
    }

    @Test("After a rejected path, the next one is tried, and the result is nil if all are rejected")
    func accepting() throws {
        let other = try TestCertificate.root("Other Root")
        let cross = try other.crossSign(root)
        let claim = Claim(leaf: leaf, presented: [intermediate, cross], anchors: [root, other])
        let long = try claim.evaluate { $0.anchor.derBytes == other.derBytes }
        #expect(long == [leaf, intermediate, cross, other].map(\.derBytes))
        var asked: [Int] = []
        let path = try claim.evaluate {
            asked.append($0.certificates.count)
            return false
        }
        #expect(path == nil)
        #expect(asked == [3, 4])
    }

    @Test("PE7, P3: the accepting closure is never called with an invalid path")
    func onlyNarrows() throws {
        var claim = Claim(leaf: leaf, presented: [intermediate], anchors: [root])
        claim.name = "other.example.test"
        #expect(throws: TrustFinding.self) {
            try claim.evaluate { _ in
                Issue.record("asked about an invalid path")
                return true
            }
        }
    }

    @Test("CB8, CB9, CB10: a certificate that may not issue others is rejected as an issuer")
    func authorities() throws {
        let plain = try root.intermediate("Plain") { $0.isAuthority = false }
        let noSigning = try root.intermediate("No Signing") { $0.keyUsage = .digitalSignature }
        let short = try root.intermediate("Short") { $0.pathLength = 0 }
        let below = try short.intermediate("Below")
        let old = try root.intermediate("Version 1") { $0.version = 1 }
        for (chain, rule) in [
            ([plain], "not-an-authority"), ([noSigning], "not-an-authority"), ([below, short], "path-length"),
            ([old], "not-an-authority"), ([leaf, intermediate], "not-an-authority"),
        ] {
            let server = try chain[0].leaf("api.example.test")
            #expect(try Claim(leaf: server, presented: chain, anchors: [root]).verdict() == rule)
        }
    }

    @Test("CB8: a path with more intermediates than the policy allows is rejected, and self-issued ones don't count")
    func depth() throws {
        let second = try intermediate.intermediate("Second")
        let rolled = try second.intermediate("Second")
        let leaf = try rolled.leaf("api.example.test")
        var claim = Claim(leaf: leaf, presented: [rolled, second, intermediate], anchors: [root])
        for (limit, expected) in [(0, "path-length"), (1, "path-length"), (2, "accepted")] {
            claim.policy.maximumIntermediates = limit
            #expect(try claim.verdict() == expected)
        }
    }

    @Test("CB21: a certificate with an extension that OpenSSL can't parse is rejected, although it isn't critical")
    func malformedExtension() throws {
        // nsCertType, which only OpenSSL reads, has to be a bit string.
        let leaf = try intermediate.leaf("api.example.test") {
            $0.extensions = [.init("2.16.840.1.113730.1.1", [0x05, 0x00])]
        }
        #expect(try Claim(leaf: leaf, presented: [intermediate], anchors: [root]).verdict() == "malformed")
    }

    @Test("CB11: a DNS name that violates a CA's name constraints is rejected")
    func nameConstraints() throws {
        let permitted = try root.intermediate("Permitted") { $0.permittedSubtrees = [.dns("example.org")] }
        let excluded = try root.intermediate("Excluded") { $0.excludedSubtrees = [.dns("EXAMPLE.test")] }
        let inside = try root.intermediate("Inside") { $0.permittedSubtrees = [.dns("example.test")] }
        let partOfLabel = try root.intermediate("Part") {
            $0.excludedSubtrees = [.dns("ple.test"), .dns("i.example.test")]
        }
        for (authority, expected) in [
            (permitted, "name-constraints"), (excluded, "name-constraints"), (inside, "accepted"),
            (partOfLabel, "accepted"),
        ] {
            let leaf = try authority.leaf("api.example.test")
            #expect(try Claim(leaf: leaf, presented: [authority], anchors: [root]).verdict() == expected)
        }
    }

    @Test("CB11: a wildcard that covers an excluded name is rejected, even if another name is requested")
    func excludedWildcard() throws {
        let excluded = try root.intermediate("Excluded") { $0.excludedSubtrees = [.dns("WWW.example.test")] }
        for (entry, expected) in [
            ("*.example.test", "name-constraints"), ("*.Example.Test", "name-constraints"),
            ("api.example.test", "accepted"), ("*.www.example.test", "name-constraints"), ("*.example.org", "accepted"),
        ] {
            let leaf = try excluded.leaf("api.example.test", entry)
            #expect(try Claim(leaf: leaf, presented: [excluded], anchors: [root]).verdict() == expected)
        }
    }

    @Test("CB12, CB13, CB14: purpose, critical extensions and cryptographic strength are checked")
    func leafProperties() throws {
        let unknown = TestCertificate.Extension("1.2.3.4.5", critical: true, TestDER.boolean(true))
        let rows: [(TestCertificate, String)] = [
            (
                try root.leaf("api.example.test") {
                    $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth]
                }, "purpose"
            ),
            (try root.leaf("api.example.test") { $0.extensions = [unknown] }, "critical-extension"),
            (try root.leaf("api.example.test", key: .shared(.rsa(bits: 1024))), "weak-cryptography"),
            (try root.leaf("api.example.test") { $0.digest = .sha1 }, "weak-cryptography"),
            (try root.leaf("api.example.test") { $0.extendedKeyUsages = [] }, "accepted"),
        ]
        for (leaf, expected) in rows { #expect(try Claim(leaf: leaf, anchors: [root]).verdict() == expected) }
        let rsaRoot = try TestCertificate.root("RSA Root", key: .shared(.rsa2048))
        let leaf = try rsaRoot.leaf("api.example.test") { $0.digest = .md5 }
        #expect(try Claim(leaf: leaf, anchors: [rsaRoot]).verdict() == "weak-cryptography")
    }

    @Test("A broken signature on the leaf is rejected")
    func brokenSignature() throws {
        let chain = try PresentedChain(derCertificates: [leaf.derBytesWithBrokenSignature, intermediate.derBytes])
        let store = TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)])
        let trust = ServerTrust(presented: chain, name: try ServerName("api.example.test"), store: store)
        let finding = #expect(throws: TrustFinding.self) {
            try trust.evaluate(at: Date(timeIntervalSince1970: 1_800_000_000))
        }
        #expect(finding?.rule == .badSignature)
        #expect(finding?.depth == 0)
    }

    @Test("HM11: a common name is never a server's name, and the error lists the names that are valid")
    func names() throws {
        let noNames = try root.issue(
            {
                var settings = TestCertificate.Settings.server(["api.example.test"])
                settings.alternativeNames = []
                return settings
            }())
        #expect(try Claim(leaf: noNames, anchors: [root]).verdict() == "name-mismatch")
        let unnamed = #expect(throws: TrustFinding.self) { try Claim(leaf: noNames, anchors: [root]).evaluate() }
        #expect(
            unnamed?.description
                == "leaf (CN=api.example.test): hostname mismatch (api.example.test is only in the common name, which "
                + "is ignored): reissue it with subjectAltName DNS:api.example.test")
        var claim = Claim(leaf: leaf, presented: [intermediate], anchors: [root])
        claim.name = "www.example.test"
        let error = #expect(throws: TrustFinding.self) { try claim.evaluate() }
        #expect(
            error?.description
                == "leaf (CN=api.example.test): hostname mismatch (certificate is valid for api.example.test, not "
                + "www.example.test): connect to one of its names, or serve a certificate for www.example.test")
    }

    @Test("HM12: the last of 10,000 names counts")
    func manyNames() throws {
        let names = (0..<10_000).map { "host\($0).example.test" }
        let leaf = try root.leaf("first.example.test") { $0.alternativeNames = names.map { .dns($0) } }
        var claim = Claim(leaf: leaf, anchors: [root])
        claim.name = "host9999.example.test"
        #expect(try claim.verdict() == "accepted")
        claim.name = "host10000.example.test"
        #expect(try claim.verdict() == "name-mismatch")
    }

    @Test("CB26: alternative names other than DNS names and addresses don't match or crash")
    func allKinds() throws {
        let leaf = try root.leaf("api.example.test") {
            $0.alternativeNames = [
                .raw(
                    TestDER.constructed(
                        0,
                        TestDER.objectIdentifier("1.2.3")
                            + TestDER.constructed(0, TestDER.utf8String("api.example.test")))),
                .email("a@api.example.test"), .directory("api.example.test"), .uri("https://api.example.test/"),
                .registeredID("1.2.3"), .raw(TestDER.constructed(3, [])), .raw(TestDER.constructed(5, [])),
            ]
        }
        #expect(try Claim(leaf: leaf, anchors: [root]).verdict() == "name-mismatch")
    }

    @Test("CB16: an intermediate or a leaf can be configured as the anchor")
    func otherAnchors() throws {
        #expect(try Claim(leaf: leaf, anchors: [intermediate]).evaluate() == [leaf, intermediate].map(\.derBytes))
        #expect(try Claim(leaf: leaf, anchors: [leaf]).evaluate() == [leaf.derBytes])
        let selfSigned = try TestCertificate.selfSigned(.server(["api.example.test"]))
        #expect(try Claim(leaf: selfSigned, anchors: [selfSigned]).verdict() == "accepted")
    }

    @Test("CB18: the evaluation of a web of cross-signed CAs ends within the budget")
    func cycles() throws {
        let keys = try (0..<8).map { _ in try TestKey() }
        let authorities = try keys.map { try TestCertificate.root("Loop", key: $0) }
        let web = try authorities.flatMap { issuer in try authorities.map { try issuer.crossSign($0) } }
        let leaf = try authorities[0].leaf("api.example.test")
        let claim = Claim(leaf: leaf, presented: web, anchors: [root])
        let verdict = try claim.verdict()
        #expect(["budget", "unknown-issuer"].contains(verdict))
    }

    @Test("CB18: reissues of one CA that form loops are reported as an unknown issuer")
    func reissues() throws {
        let authority = try TestCertificate.root("Reissued")
        let reissues = try (0..<40).map { number in
            try authority.crossSign(authority) { $0.serial = [0x40, UInt8(number)] }
        }
        let leaf = try authority.leaf("api.example.test")
        #expect(try Claim(leaf: leaf, presented: reissues, anchors: [root]).verdict() == "unknown-issuer")
    }

    @Test("CB18: the signature budget limits how many long paths are verified")
    func signatures() throws {
        var presented: [TestCertificate] = []
        var above = root
        for level in 0..<10 {
            let authority = try above.intermediate("Level \(level)")
            presented += [authority, try above.crossSign(authority) { $0.serial = [1] }]
            above = authority
        }
        var asked = 0
        let claim = Claim(leaf: try above.leaf("api.example.test"), presented: presented, anchors: [root])
        let path = try claim.evaluate { _ in
            asked += 1
            return false
        }
        #expect(path == nil)
        #expect(asked == TrustBudget.maximumSignatures / 11)
    }

    @Test("CB28: a trust store without anchors is an error")
    func emptyStore() throws {
        let directory = try TestDirectory()
        let empty = try directory.add("")
        #expect(throws: TrustStoreError.self) { try TrustStore(files: [empty]) }
        #expect(throws: TrustStoreError.self) { try TrustStore(files: []) }
        #expect(throws: TrustStoreError.self) { try TrustStore(directory: directory.path + "/none") }
        #expect(throws: TrustStoreError.self) { try TrustStore.system(environment: ["SSL_CERT_FILE": empty]) }
        #expect(throws: TrustStoreError.self) { try TrustStore.system(environment: ["SSL_CERT_DIR": "/none"]) }
    }

    @Test("A directory of anchors is read whole, or by subject hash")
    func directories() throws {
        let plain = try TestDirectory()
        _ = try plain.add(root.pemText, name: "root.pem")
        _ = try plain.add("not a certificate", name: "README")
        let store = try TrustStore(directory: plain.path)
        #expect(store.contains(try X509Certificate(derBytes: root.derBytes)))
        #expect(!store.contains(try X509Certificate(derBytes: leaf.derBytes)))
        guard TestCommand.isPresent("openssl", "version") else { return }
        #expect(try TestCommand.run(["openssl", "rehash", plain.path]).status == 0)
        let hashed = try TrustStore.system(environment: ["SSL_CERT_DIR": plain.path])
        #expect(hashed.contains(try X509Certificate(derBytes: root.derBytes)))
    }
}

/// An error for a result that a test doesn't expect.
private struct TestFailure: Error {
    let found: String
    init(_ found: Any?) { self.found = "\(String(describing: found))" }
}
