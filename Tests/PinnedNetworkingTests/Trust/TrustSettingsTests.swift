import CertificatePinning
import CertificateTrust
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The trust settings of a session and their digest, under which connections are approved.
@Suite struct TrustSettingsTests {
    struct Row: Sendable, CustomTestStringConvertible {
        /// The property of ``TrustSettings``.
        let name: String
        /// Assigns another value than the default one.
        let change: @Sendable (inout TrustSettings) throws -> Void

        var testDescription: String { name }

        static let all = [
            Row(name: "pinning") { $0.pinning = try .pinning(unknownPin) },
            Row(name: "process") { $0.process = try .pinning(unknownPin) },
            Row(name: "store") { $0.store = TrustStore(certificates: [try root()]) },
            Row(name: "policy") { $0.policy = .strict },
            Row(name: "revocation") { $0.revocation = RevocationEvidence(certificates: [try root()]) },
            Row(name: "logs") { $0.logs = try TransparencyLogList(json: Array(logs.get().utf8)) },
        ]

        private static let logs = Result<String, any Error> { try TestLog.listJSON([TestLog("A")]) }
        private static let rootBytes = Result<[UInt8], any Error> { try TestCertificate.root("Other Root").derBytes }

        private static func root() throws -> X509Certificate { try X509Certificate(derBytes: rootBytes.get()) }
    }

    @Test("Settings that differ in one value have different digests (TC1–TC9)", arguments: Row.all)
    func changed(row: Row) throws {
        var settings = TrustSettings()
        try row.change(&settings)
        #expect(settings.digest != TrustSettings().digest)
    }

    // Otherwise a new setting could be forgotten in the digest, and connections would be used under other values of it.
    @Test("Every setting has a row in these tests")
    func complete() {
        let names = Mirror(reflecting: TrustSettings()).children.compactMap(\.label)
        #expect(names == Row.all.map(\.name) + ["digest"])
    }

    @Test("Every part of a trust policy counts, and a policy of the same parts is the same")
    func policy() {
        let changes: [(inout TrustPolicy) -> Void] = [
            { $0 = $0.without(.commonName) }, { $0.purpose = .any }, { $0.maximumIntermediates = 1 },
            { $0.strength = .bits128 }, { $0.revocation = .use }, { $0.certificateTransparency = .report },
            { $0.certificatePolicies.requireExplicit = true }, { $0.publicSuffixes = PublicSuffixes(list: []) },
            { $0.publicRoots = [] },
        ]
        #expect(Mirror(reflecting: TrustPolicy.default).children.count == changes.count)
        var settings = TrustSettings()
        settings.policy = .strict
        let digest = settings.digest
        for change in changes {
            settings.policy = .strict
            #expect(settings.digest == digest)
            change(&settings.policy)
            #expect(settings.digest != digest)
        }
    }

    @Test("Equal settings have the same digest, whatever they were before")
    func equal() throws {
        var (settings, reversed) = (TrustSettings(), TrustSettings())
        for row in Row.all { try row.change(&settings) }
        for row in Row.all.reversed() { try row.change(&reversed) }
        #expect(settings.digest == reversed.digest)
        settings.pinning = nil
        settings.process = nil
        settings.store = nil
        settings.policy = .default
        settings.revocation = .none
        settings.logs = nil
        #expect(settings.digest == TrustSettings().digest)
    }

    @Test("Replacing one setting of a session keeps what another thread replaces")
    func concurrent() async {
        let session = URLSession(configuration: .ephemeral)
        let stores = [TrustStore(certificates: []), TrustStore(certificates: [])]
        let count = 20_000
        async let lostStores = Self.detached {
            (0..<count).filter { index in
                session.trustStore = stores[index % 2]
                return session.trustStore !== stores[index % 2]
            }.count
        }
        async let lostPolicies = Self.detached {
            (0..<count).filter { index in
                session.trustPolicy = index % 2 == 0 ? .strict : .default
                return session.trustPolicy != (index % 2 == 0 ? .strict : .default)
            }.count
        }
        #expect(await lostStores == 0)
        #expect(await lostPolicies == 0)
    }

    /// Runs `body` on a thread of its own.
    private static func detached(_ body: @escaping @Sendable () -> Int) async -> Int {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }
}
