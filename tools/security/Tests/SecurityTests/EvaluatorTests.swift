import Foundation
import PinctlTestPKI
import PinnedNetworking
import Security
import Testing

/// The certificates of the tests.
private struct Scene: Sendable {
    let site: TestSite
    /// A site with the same host and another CA.
    let other: TestSite
    let wrongHost: TestCertificate
    let expired: TestCertificate

    static let shared = Result<Scene, any Error> {
        let site = try TestSite("localhost", isValidNow: true)
        return Scene(
            site: site, other: try TestSite("localhost", authority: "Other", isValidNow: true),
            wrongHost: try site.intermediate.leaf("elsewhere.test") { $0.makeValidNow() },
            expired: try site.intermediate.leaf("localhost") {
                $0.makeValidNow()
                $0.notAfter -= 86_401
            })
    }

    var leaf: SecCertificate { get throws { try site.leaf.parsed } }
    var root: SecCertificate { get throws { try site.root.parsed } }
    var otherRoot: SecCertificate { get throws { try other.root.parsed } }
    var otherLeaf: SecCertificate { get throws { try other.leaf.parsed } }

    /// Lists of the CAs, which are valid now.
    func lists(revoking revoked: TestCertificate? = nil) throws -> RevocationEvidence {
        let lists = try [(site.root, nil), (site.intermediate, revoked)].map { issuer, revoked in
            var list = TestRevocationList(issuer: issuer.subject)
            list.entries = revoked.map { [TestRevocationList.Entry($0)] } ?? []
            (list.thisUpdate, list.nextUpdate) = (site.leaf.settings.notBefore, site.leaf.settings.notAfter)
            return try CertificateRevocationList(derBytes: list.signed(by: issuer.key))
        }
        return RevocationEvidence(lists: lists)
    }
}

extension TestCertificate {
    /// The certificate as a program reads it.
    var parsed: SecCertificate {
        get throws { try #require(SecCertificateCreateWithData(kCFAllocatorDefault, Data(derBytes) as CFData)) }
    }
}

/// A server, the session's settings, and the verdict of an evaluator.
private struct Row: CustomTestStringConvertible, Sendable {
    enum Verdict: Sendable, Equatable {
        case accepted
        /// Refused with this code of the trust's error.
        case refused(OSStatus)
        case mismatch
        /// The evaluator accepts, but the session refuses.
        case refusedBySession
    }

    let testDescription: String
    /// The chain of the server.
    var chain: @Sendable (Scene) throws -> [TestCertificate] = { $0.site.chain }
    /// The anchors of the session.
    var anchors: @Sendable (Scene) throws -> [SecCertificate] = { [try $0.root] }
    var adjust: @Sendable (URLSessionConfiguration, Scene) throws -> Void = { _, _ in }
    let evaluator: @Sendable (Scene) throws -> Evaluator
    let verdict: Verdict
}

private let wrongHost: @Sendable (Scene) throws -> [TestCertificate] = { [$0.wrongHost, $0.site.intermediate] }
private let expired: @Sendable (Scene) throws -> [TestCertificate] = { [$0.expired, $0.site.intermediate] }
private let unknown: @Sendable (Scene) throws -> [TestCertificate] = { $0.other.chain }
/// A chain of another CA that the session trusts, with the pinned certificates appended.
private let appended: @Sendable (Scene) throws -> [TestCertificate] = {
    $0.other.chain + $0.site.chain + [$0.site.root]
}
private let bothRoots: @Sendable (Scene) throws -> [SecCertificate] = { [try $0.root, try $0.otherRoot] }
private let noRoot: @Sendable (Scene) throws -> [SecCertificate] = { _ in [] }
private let positive = kSecRevocationRequirePositiveResponse

private let rows = [
    Row(testDescription: "default", evaluator: { _ in .system() }, verdict: .accepted),
    Row(
        testDescription: "default, wrong host", chain: wrongHost, evaluator: { _ in .system() },
        verdict: .refused(errSecHostNameMismatch)),
    Row(
        testDescription: "default, expired", chain: expired, evaluator: { _ in .system() },
        verdict: .refused(errSecCertificateExpired)),
    Row(
        testDescription: "default, unknown CA", chain: unknown, evaluator: { _ in .system() },
        verdict: .refused(errSecCreateChainFailed)),
    Row(
        testDescription: "without host, wrong host", chain: wrongHost,
        evaluator: { _ in .system(checksHost: false) }, verdict: .accepted),
    Row(
        testDescription: "without host, expired", chain: expired,
        evaluator: { _ in .system(checksHost: false) }, verdict: .refused(errSecCertificateExpired)),
    Row(
        testDescription: "without host, unknown CA", chain: unknown,
        evaluator: { _ in .system(checksHost: false) }, verdict: .refused(errSecCreateChainFailed)),

    Row(testDescription: "pinned leaf", evaluator: { .certificates([try $0.leaf]) }, verdict: .accepted),
    Row(testDescription: "pinned root, not sent", evaluator: { .certificates([try $0.root]) }, verdict: .accepted),
    Row(
        testDescription: "pinned certificate of another site",
        evaluator: { .certificates([try $0.otherLeaf]) }, verdict: .mismatch),
    Row(
        testDescription: "pinned certificates appended to another chain (PE1)", chain: appended, anchors: bothRoots,
        evaluator: { .certificates([try $0.leaf, try $0.root]) }, verdict: .mismatch),
    Row(
        testDescription: "pinned leaf, expired", chain: expired,
        evaluator: { .certificates([try $0.expired.parsed]) }, verdict: .refused(errSecCertificateExpired)),
    Row(
        testDescription: "pinned root as anchor", anchors: noRoot,
        evaluator: { .certificates([try $0.root], areAnchors: true) }, verdict: .accepted),
    Row(
        testDescription: "pinned leaf as anchor", anchors: noRoot,
        evaluator: { .certificates([try $0.leaf], areAnchors: true) }, verdict: .accepted),
    Row(
        testDescription: "pinned root of another site as anchor",
        evaluator: { .certificates([try $0.otherRoot], areAnchors: true) },
        verdict: .refused(errSecCreateChainFailed)),

    Row(
        testDescription: "pinned key of the leaf",
        evaluator: { .keys([try $0.leaf.subjectPublicKeyInfo]) }, verdict: .accepted),
    Row(
        testDescription: "pinned key of the root",
        evaluator: { .keys([try $0.root.subjectPublicKeyInfo]) }, verdict: .accepted),
    Row(
        testDescription: "pinned key of another site",
        evaluator: { .keys([try $0.otherLeaf.subjectPublicKeyInfo]) }, verdict: .mismatch),
    Row(
        testDescription: "pinned key appended to another chain (PE1)", chain: appended, anchors: bothRoots,
        evaluator: { .keys([try $0.leaf.subjectPublicKeyInfo, try $0.root.subjectPublicKeyInfo]) }, verdict: .mismatch),
    Row(
        testDescription: "pinned key, wrong host", chain: wrongHost,
        evaluator: { .keys([try $0.wrongHost.parsed.subjectPublicKeyInfo]) },
        verdict: .refused(errSecHostNameMismatch)),
    Row(
        testDescription: "pinned key alone, expired and unknown CA", chain: expired, anchors: noRoot,
        evaluator: { .keys([try $0.site.intermediate.parsed.subjectPublicKeyInfo], isAlone: true) },
        verdict: .accepted),
    Row(
        testDescription: "pinned key alone, appended (PE1)", chain: appended, anchors: noRoot,
        evaluator: { .keys([try $0.leaf.subjectPublicKeyInfo, try $0.root.subjectPublicKeyInfo], isAlone: true) },
        verdict: .mismatch),

    Row(
        testDescription: "own anchor", anchors: noRoot, evaluator: { .anchors([try $0.root], only: true) },
        verdict: .accepted),
    Row(
        testDescription: "another anchor only", evaluator: { .anchors([try $0.otherRoot], only: true) },
        verdict: .refused(errSecCreateChainFailed)),
    Row(
        testDescription: "another anchor besides the session's",
        evaluator: { .anchors([try $0.otherRoot], only: false) }, verdict: .accepted),
    Row(
        testDescription: "own anchor, wrong host", chain: wrongHost, anchors: noRoot,
        evaluator: { .anchors([try $0.root], only: true) }, verdict: .refused(errSecHostNameMismatch)),

    Row(testDescription: "disabled, unknown CA", chain: unknown, evaluator: { _ in .none }, verdict: .accepted),
    Row(
        testDescription: "disabled, but the session has pins (P3)", chain: unknown,
        adjust: { configuration, scene in
            configuration.pinning = try PinningPolicy(rules: [
                PinningRule(
                    host: try ServerName("localhost"),
                    pins: [try Pin("\(scene.otherLeaf.spkiFingerprint)", role: .leaf)])
            ])
        }, evaluator: { _ in .none }, verdict: .refusedBySession),

    Row(
        testDescription: "composite", evaluator: { .all([.system(), .certificates([try $0.leaf])]) },
        verdict: .accepted),
    Row(
        testDescription: "composite, one refuses",
        evaluator: { .all([.system(), .certificates([try $0.otherLeaf])]) }, verdict: .mismatch),

    Row(
        testDescription: "revocation without evidence",
        evaluator: { _ in .revocation(kSecRevocationUseAnyAvailableMethod) }, verdict: .accepted),
    Row(
        testDescription: "revocation, good", adjust: { $0.revocationEvidence = try $1.lists() },
        evaluator: { _ in .revocation(kSecRevocationUseAnyAvailableMethod | positive) }, verdict: .accepted),
    Row(
        testDescription: "revocation, revoked",
        adjust: { $0.revocationEvidence = try $1.lists(revoking: $1.site.leaf) },
        evaluator: { _ in .revocation(kSecRevocationUseAnyAvailableMethod) },
        verdict: .refused(errSecCertificateRevoked)),
    Row(
        testDescription: "revocation required, without evidence",
        evaluator: { _ in .revocation(kSecRevocationUseAnyAvailableMethod | positive) },
        verdict: .refused(errSecIncompleteCertRevocationCheck)),
    Row(
        testDescription: "revocation by lists required", adjust: { $0.revocationEvidence = try $1.lists() },
        evaluator: { _ in .revocation(kSecRevocationCRLMethod | positive) }, verdict: .accepted),
    Row(
        testDescription: "revocation by OCSP required, but there are only lists",
        adjust: { $0.revocationEvidence = try $1.lists() },
        evaluator: { _ in .revocation(kSecRevocationOCSPMethod | positive) },
        verdict: .refused(errSecIncompleteCertRevocationCheck)),
    Row(
        testDescription: "revocation by OCSP, but a list revokes",
        adjust: { $0.revocationEvidence = try $1.lists(revoking: $1.site.leaf) },
        evaluator: { _ in .revocation(kSecRevocationOCSPMethod) }, verdict: .refused(errSecCertificateRevoked)),
]

@Suite(.timeLimit(.minutes(2)))
struct EvaluatorTests {
    @Test("An evaluator written for Apple's functions accepts and refuses the same servers", arguments: rows)
    private func verdict(row: Row) async throws {
        let scene = try Scene.shared.get()
        let delegate = EvaluatingDelegate(try row.evaluator(scene))
        try await LoopbackServer(chain: try row.chain(scene)).run { server in
            let configuration = URLSessionConfiguration.default
            configuration.trustStore = TrustStore(certificates: try row.anchors(scene))
            configuration.timeoutIntervalForRequest = 600
            try row.adjust(configuration, scene)
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            let url = try #require(URL(string: "https://localhost:\(server.port)/"))
            let verdict: Row.Verdict
            do {
                let (body, _) = try await session.data(from: url)
                #expect(body == Data("hello".utf8))
                verdict = .accepted
            } catch let error as URLError {
                verdict =
                    switch delegate.error {
                    case nil: .refusedBySession
                    case is PinError: .mismatch
                    case let status as OSError: .refused(status.status)
                    case let refusal?: .refused(OSStatus((refusal as NSError).code))
                    }
                #expect(error.code == (delegate.error == nil ? .serverCertificateHasUnknownRoot : .cancelled))
            }
            #expect(verdict == row.verdict, "\(String(describing: delegate.error))")
            session.invalidateAndCancel()
            #expect(await server.ended()[0].applicationBytes.isEmpty == (verdict != .accepted))
        }
    }

    @Test("The settings of one task's delegate don't apply to the next task on the same connection")
    func reusedConnection() async throws {
        let scene = try Scene.shared.get()
        try await LoopbackServer(chain: scene.site.chain).run { server in
            let configuration = URLSessionConfiguration.default
            configuration.trustStore = TrustStore(certificates: [try scene.root])
            let session = URLSession(configuration: configuration)
            let url = try #require(URL(string: "https://localhost:\(server.port)/"))
            let anchored = EvaluatingDelegate(.anchors([try scene.root], only: true))
            // Refused without anchors of its own.
            let unanchored = EvaluatingDelegate(.ownAnchorsOnly)
            for _ in 1...2 { _ = try await session.data(from: url, delegate: anchored) }
            await #expect(throws: URLError.self) { try await session.data(from: url, delegate: unanchored) }
            #expect((unanchored.error as? NSError)?.code == Int(errSecParam))
            session.invalidateAndCancel()
            #expect(await server.ended().map(\.requests.count) == [2])
        }
    }
}
