import CertificateTrust
import Foundation
import PinctlTestPKI
import PinnedNetworking
import Testing

@testable import Security

/// Calls after which every evaluation must refuse the trust, and the status that they return.
private struct RefusedRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let call: @Sendable (SecTrust) -> OSStatus
    var status = errSecSuccess
    /// The code of the evaluation's error.
    let code: OSStatus
}

private let refusedRows = [
    RefusedRow(
        testDescription: "no policies", call: { SecTrustSetPolicies($0, [] as CFArray) }, status: errSecParam,
        code: errSecParam),
    RefusedRow(
        testDescription: "an unknown policy", call: { SecTrustSetPolicies($0, "policy") }, status: errSecParam,
        code: errSecParam),
    RefusedRow(
        testDescription: "an unknown policy in a list",
        call: { SecTrustSetPolicies($0, [SecPolicyCreateBasicX509(), 1] as CFArray) }, status: errSecParam,
        code: errSecParam),
    RefusedRow(
        testDescription: "a policy for clients", call: { SecTrustSetPolicies($0, SecPolicyCreateSSL(false, nil)) },
        code: errSecUnimplemented),
    RefusedRow(
        testDescription: "an empty host", call: { SecTrustSetPolicies($0, SecPolicyCreateSSL(true, "")) },
        code: errSecHostNameMismatch),
    RefusedRow(
        testDescription: "two hosts, one of them wrong",
        call: {
            SecTrustSetPolicies(
                $0, [SecPolicyCreateSSL(true, "localhost"), SecPolicyCreateSSL(true, "elsewhere.test")])
        }, code: errSecHostNameMismatch),
    RefusedRow(
        testDescription: "no anchors", call: { SecTrustSetAnchorCertificates($0, [] as CFArray) }, status: errSecParam,
        code: errSecParam),
    RefusedRow(
        testDescription: "no anchors, and the others count too",
        call: {
            let status = SecTrustSetAnchorCertificates($0, [] as CFArray)
            SecTrustSetAnchorCertificatesOnly($0, false)
            return status
        }, status: errSecParam, code: errSecParam),
    RefusedRow(
        testDescription: "an anchor that isn't a certificate",
        call: { SecTrustSetAnchorCertificates($0, $0.certificates as CFArray + ["root"]) }, status: errSecParam,
        code: errSecParam),
    RefusedRow(
        testDescription: "only the anchors that were set, without any",
        call: { SecTrustSetAnchorCertificatesOnly($0, true) }, code: errSecParam),
]

/// The functions that are deprecated, without the compiler's warning at each call.
private protocol OlderFunctions {
    func evaluate(_ trust: SecTrust, _ result: inout SecTrustResultType) -> OSStatus
    func certificate(_ trust: SecTrust, _ index: CFIndex) -> SecCertificate?
    func key(_ trust: SecTrust) -> SecKey?
}

private struct Deprecated: OlderFunctions {
    @available(*, deprecated)
    func evaluate(_ trust: SecTrust, _ result: inout SecTrustResultType) -> OSStatus {
        SecTrustEvaluate(trust, &result)
    }

    @available(*, deprecated)
    func certificate(_ trust: SecTrust, _ index: CFIndex) -> SecCertificate? {
        SecTrustGetCertificateAtIndex(trust, index)
    }

    @available(*, deprecated)
    func key(_ trust: SecTrust) -> SecKey? { SecTrustCopyPublicKey(trust) }
}

private let older: any OlderFunctions & Sendable = Deprecated()

@Suite(.timeLimit(.minutes(1)))
struct TrustTests {
    private static let site = Result<TestSite, any Error> { try TestSite("localhost", isValidNow: true) }
    private let site: TestSite

    init() throws { site = try Self.site.get() }

    /// The trust of a challenge.
    private func trust(_ certificates: [TestCertificate]? = nil, evidence: RevocationEvidence = .none) throws
        -> SecTrust
    {
        let chain = try PresentedChain(derCertificates: (certificates ?? site.chain).map(\.derBytes))
        return ServerTrust(
            presented: chain, name: try ServerName("localhost"),
            store: TrustStore(certificates: [try site.root.parsed]), revocation: evidence)
    }

    private func code(_ trust: SecTrust) -> OSStatus {
        var error: CFError?
        return SecTrustEvaluateWithError(trust, &error) ? errSecSuccess : OSStatus(error?.code ?? 1)
    }

    @Test("Settings that can't be honoured refuse the trust, also if the status is ignored", arguments: refusedRows)
    private func refused(row: RefusedRow) throws {
        let trust = try trust()
        #expect(code(trust) == errSecSuccess)
        #expect(row.call(trust) == row.status)
        #expect(code(trust) == row.code)
        #expect(!SecTrustEvaluateWithError(trust, nil))
        let isUntrusted = row.testDescription == "two hosts, one of them wrong"
        #expect((SecTrustCopyCertificateChain(trust) != nil) == isUntrusted)
        var result = SecTrustResultType.proceed
        #expect(older.evaluate(trust, &result) == (isUntrusted ? errSecSuccess : row.code))
        #expect(result == (isUntrusted ? .fatalTrustFailure : .otherError))
        // Usable settings take their place.
        #expect(SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, "localhost")) == errSecSuccess)
        // Anchors are restored by nil only.
        #expect(code(trust) == (row.testDescription.contains("anchor") ? row.code : errSecSuccess))
        #expect(SecTrustSetAnchorCertificates(trust, nil) == errSecSuccess)
        #expect(code(trust) == errSecSuccess)
        #expect(older.evaluate(trust, &result) == errSecSuccess && result == .unspecified)
    }

    @Test("A revocation policy needs a method, and unknown flags have none")
    func revocationFlags() {
        #expect(SecPolicyCreateRevocation(0) == nil)
        #expect(SecPolicyCreateRevocation(kSecRevocationRequirePositiveResponse) == nil)
        #expect(SecPolicyCreateRevocation(kSecRevocationUseAnyAvailableMethod | 1 << 5) == nil)
        #expect(SecPolicyCreateRevocation(kSecRevocationOCSPMethod | kSecRevocationNetworkAccessDisabled) != nil)
    }

    @Test("Each policy for a host must be satisfied")
    func severalHosts() throws {
        let leaf = try site.intermediate.leaf("a.test", "b.test") { $0.makeValidNow() }
        let trust = try trust([leaf, site.intermediate])
        SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, "a.test"), SecPolicyCreateSSL(true, "b.test")])
        #expect(code(trust) == errSecSuccess)
        #expect(trust.certificates.count == 3)
        SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, "a.test"), SecPolicyCreateSSL(true, "c.test")])
        #expect(code(trust) == errSecHostNameMismatch)
    }

    @Test("A revoked path doesn't count for one policy while another path counts for the others")
    func onePath() throws {
        // The path through the second CA is for servers, and revoked; the one through the first isn't for servers.
        let root = site.root
        let clientsOnly = try root.intermediate("CA") {
            $0.makeValidNow()
            $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth]
        }
        let revoked = try root.intermediate("CA", key: clientsOnly.key) { $0.makeValidNow() }
        let leaf = try revoked.leaf("localhost") { $0.makeValidNow() }
        let list = try root.revocationList(.init(revoked)) {
            ($0.thisUpdate, $0.nextUpdate) = (leaf.settings.notBefore, leaf.settings.notAfter)
        }
        let evidence = RevocationEvidence(lists: [try CertificateRevocationList(derBytes: list)])
        let trust = try trust([leaf, clientsOnly, revoked], evidence: evidence)
        let revocation = try #require(SecPolicyCreateRevocation(kSecRevocationCRLMethod))
        #expect(code(trust) == errSecSuccess)
        SecTrustSetPolicies(trust, revocation)
        #expect(code(trust) == errSecSuccess)
        SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, "localhost"), revocation])
        #expect(code(trust) == errSecCertificateRevoked)
    }

    @Test("The session's own policy stays in force")
    func sessionPolicy() throws {
        let chain = try PresentedChain(derCertificates: site.chain.map(\.derBytes))
        var policy = TrustPolicy.default
        policy.revocation = .require
        let trust = ServerTrust(
            presented: chain, name: try ServerName("localhost"),
            store: TrustStore(certificates: [try site.root.parsed]), policy: policy)
        SecTrustSetPolicies(trust, try #require(SecPolicyCreateRevocation(kSecRevocationUseAnyAvailableMethod)))
        #expect(code(trust) == errSecIncompleteCertRevocationCheck)
    }

    @Test("A refusal's error has a code of Apple's, the reason and the finding")
    func error() throws {
        let trust = try trust()
        SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, "elsewhere.test" as CFString))
        var error: CFError?
        #expect(!SecTrustEvaluateWithError(trust, &error))
        let refusal = try #require(error)
        #expect(refusal.domain == "NSOSStatusErrorDomain")
        #expect(refusal.code == Int(errSecHostNameMismatch))
        #expect(refusal.localizedDescription.contains("hostname mismatch"))
        #expect((refusal.userInfo[NSUnderlyingErrorKey] as? TrustFinding)?.rule == .nameMismatch)
        SecTrustSetPolicies(trust, SecPolicyCreateSSL(true, "localhost"))
        #expect(SecTrustEvaluateWithError(trust, &error))
        #expect(error == nil)
    }

    @Test("A trust can be created from certificates, and trusts the operating system's anchors only")
    func created() throws {
        let chain = try site.chain.map { try $0.parsed }
        var trust: SecTrust?
        #expect(SecTrustCreateWithCertificates(chain as CFArray, nil, &trust) == errSecSuccess)
        let created = try #require(trust)
        #expect(code(created) == errSecCreateChainFailed || code(created) == errSecNotAvailable)
        // Without this module, nothing evaluates it.
        #expect(throws: TrustFinding.self) { try created.evaluate(at: Date()) }
        // A chain that was found isn't kept when the settings change.
        #expect(SecTrustGetCertificateCount(created) == 2)
        SecTrustSetAnchorCertificates(created, [try site.root.parsed] as CFArray)
        #expect(code(created) == errSecSuccess)
        #expect(SecTrustGetCertificateCount(created) == 3)
        #expect(older.certificate(created, 2) == (try site.root.parsed))
        #expect(older.certificate(created, 3) == nil)
        #expect(older.certificate(created, -1) == nil)
        #expect(SecTrustCopyKey(created) == chain[0].subjectPublicKeyInfo)
        #expect(older.key(created) == chain[0].subjectPublicKeyInfo)
        #expect(throws: TrustFinding.self) { try created.evaluate(at: Date()) }

        for invalid: CFTypeRef in [[] as CFArray, "leaf", [chain[0], 1] as CFArray] {
            #expect(SecTrustCreateWithCertificates(invalid, nil, &trust) == errSecParam)
            #expect(trust == nil)
        }
        #expect(SecTrustCreateWithCertificates(chain[0], "policy", &trust) == errSecParam)
        #expect(SecTrustCreateWithCertificates(chain[0], [] as CFArray, &trust) == errSecParam)
    }

    @Test("A certificate is DER that fills the data")
    func certificates() throws {
        let der = site.leaf.derBytes
        let certificate = try #require(SecCertificateCreateWithData(nil, Data(der)))
        #expect(SecCertificateCopyData(certificate) as Data == Data(der))
        #expect(SecCertificateCreateWithData(nil, Data(der + [0])) == nil)
        #expect(SecCertificateCreateWithData(nil, Data(site.leaf.pemText.utf8)) == nil)
        #expect(SecCertificateCreateWithData(nil, Data()) == nil)
    }

    @Test("The chain of an untrusted server ends before a certificate that didn't sign it")
    func untrustedChain() throws {
        let unrelated = try TestSite("localhost", authority: "Other", isValidNow: true)
        // The root of another CA with the intermediate's issuer name, but another key.
        let namesake = try TestCertificate.root("Other Root") { $0.makeValidNow() }
        for (chain, expected) in [
            (unrelated.chain + [unrelated.root], 3), (unrelated.chain, 2), ([unrelated.leaf, site.root], 1),
            ([unrelated.leaf, unrelated.intermediate, namesake], 2), ([unrelated.leaf], 1),
        ] {
            let trust = try trust(chain)
            #expect(code(trust) == errSecCreateChainFailed || code(trust) == errSecNotTrusted)
            #expect(trust.certificates == (try chain.prefix(expected).map { try $0.parsed }))
        }
        // A leaf that signs another one isn't a CA.
        let below = try site.leaf.leaf("localhost") { $0.makeValidNow() }
        #expect(try trust([below] + site.chain).certificates == [try below.parsed])
    }

    @Test("The chain after an evaluation is the evaluated path, and none that was found before it")
    func evaluatedChain() throws {
        // Before the leaf is valid, the longest chain ends at a CA that once signed the root and isn't trusted.
        let foreign = try TestCertificate.root("Foreign Root") { $0.makeValidNow() }
        let crossSigned = try foreign.crossSign(site.root)
        let begin = site.leaf.settings.notBefore + 1000
        let leaf = try site.intermediate.leaf("localhost") {
            $0.makeValidNow()
            $0.notBefore = begin
        }
        let trust = try trust([leaf, site.intermediate, crossSigned, foreign])
        let time = Date(timeIntervalSince1970: TimeInterval(begin))
        let foreignRoot = try foreign.parsed
        #expect(TrustSettings.chain(of: trust, at: time - 0.4)?.last == foreignRoot)
        #expect(throws: TrustRefusal.self) { try TrustSettings.evaluate(trust, at: time - 0.3) }
        #expect(TrustSettings.chain(of: trust, at: time - 0.2)?.last == foreignRoot)
        let path = try TrustSettings.evaluate(trust, at: time + 0.1)
        #expect(path.last == (try site.root.parsed))
        #expect(TrustSettings.chain(of: trust, at: time + 0.2) == path)
    }

    @Test("The settings of a trust are released with it")
    func memory() throws {
        weak var anchors: TrustStore?
        do {
            let own = TrustStore(certificates: [try site.root.parsed])
            anchors = own
            let trust = try trust()
            TrustSettings.change(trust) { $0.anchors = .set(own) }
            #expect(code(trust) == errSecSuccess)
        }
        #expect(anchors == nil)
    }

    @Test("Anchors that are set take the place of the session's")
    func anchors() throws {
        let other = try TestSite("localhost", authority: "Other", isValidNow: true)
        let trust = try trust()
        SecTrustSetAnchorCertificates(trust, [try other.root.parsed] as CFArray)
        #expect(code(trust) == errSecCreateChainFailed)
        SecTrustSetAnchorCertificatesOnly(trust, false)
        #expect(code(trust) == errSecSuccess)
        SecTrustSetAnchorCertificates(trust, [try other.root.parsed] as CFArray)
        #expect(code(trust) == errSecCreateChainFailed)
    }

    @Test("The path of several policies satisfies each of them")
    func commonPath() throws {
        // The same CA below two roots, and a list from only one of them.
        let roots = try ["A", "B"].map { try TestCertificate.root($0) { $0.makeValidNow() } }
        let first = try roots[0].intermediate("CA") { $0.makeValidNow() }
        let second = try roots[1].crossSign(first)
        let leaf = try first.leaf("localhost") { $0.makeValidNow() }
        let store = TrustStore(certificates: try roots.map { try $0.parsed })
        for (listed, cas) in [
            (0, [second, first]), (0, [first, second]), (1, [second, first]), (1, [first, second]),
        ] {
            let lists = try [roots[listed], first].map { issuer in
                try CertificateRevocationList(
                    derBytes: try issuer.revocationList {
                        ($0.thisUpdate, $0.nextUpdate) = (leaf.settings.notBefore, leaf.settings.notAfter)
                    })
            }
            let chain = try PresentedChain(derCertificates: ([leaf] + cas).map(\.derBytes))
            let trust = ServerTrust(
                presented: chain, name: try ServerName("localhost"), store: store,
                revocation: RevocationEvidence(lists: lists))
            let revocation = SecPolicyCreateRevocation(
                kSecRevocationCRLMethod | kSecRevocationRequirePositiveResponse)
            SecTrustSetPolicies(trust, [SecPolicyCreateSSL(true, "localhost"), try #require(revocation)])
            #expect(trust.certificates.last == (try roots[listed].parsed))
        }
    }

    @Test("A trust that was created has the operating system's anchors")
    func systemAnchors() throws {
        let roots = try CertificateFile.read("/etc/ssl/certs/ca-certificates.crt")
        // Some are expired, or signed with SHA-1, which counts for a certificate that is also the leaf.
        var policy = TrustPolicy.default
        policy.purpose = .any
        let root = try #require(
            roots.first {
                let trust = ChainTrust(
                    presented: PresentedChain(leaf: $0), store: TrustStore(certificates: [$0]), policy: policy)
                return (try? trust.evaluate(at: Date())) != nil
            })
        var trust: SecTrust?
        SecTrustCreateWithCertificates(root, SecPolicyCreateBasicX509(), &trust)
        #expect(SecTrustEvaluateWithError(try #require(trust), nil))
        SecTrustSetAnchorCertificates(try #require(trust), [try site.root.parsed] as CFArray)
        #expect(!SecTrustEvaluateWithError(try #require(trust), nil))
    }

    @Test("Trusts can be changed and evaluated on several threads")
    func threads() async throws {
        let root = try site.root.parsed
        let shared = try trust()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let own = try trust()
                        let isRefused = number % 2 == 0
                        SecTrustSetAnchorCertificates(own, isRefused ? [] : [root])
                        SecTrustSetAnchorCertificates(shared, [root])
                        SecTrustSetPolicies(shared, SecPolicyCreateSSL(true, "localhost"))
                        #expect(SecTrustEvaluateWithError(own, nil) == !isRefused)
                        #expect(SecTrustEvaluateWithError(shared, nil))
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
