import CertificatePinning
import CertificateTrust
import Foundation
import PinctlTestPKI
import PinnedNetworking
import Testing

/// Sessions with servers that have ML-DSA keys (RFC 9881).
@Suite(
    "A session with a server that has an ML-DSA key",
    .enabled(
        if: (try? TestKey(.postQuantum("ML-DSA-65"))) != nil, "OpenSSL 3.5 or later is needed for ML-DSA keys")
)
struct PostQuantumSessionTests {
    @Test(
        "The pinned key is accepted, and another key gets no request",
        arguments: ["ML-DSA-44", "ML-DSA-65", "ML-DSA-87"])
    func pinned(name: String) async throws {
        let root = try TestCertificate.root("Root", key: TestKey(.postQuantum(name))) { $0.makeValidNow() }
        let leaf = try root.leaf("pinned.test", key: TestKey(.postQuantum(name))) { $0.makeValidNow() }
        let store = TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)])
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: [leaf]).run { server in
            func session(_ pin: String) throws -> URLSession {
                try site.session(server, policy: try .pinning(pin, role: .leaf)) { $0.trustStore = store }
            }
            #expect(try await session(try leaf.key.pin).get().body == "hello")
            let error = try await session(try TestKey(.postQuantum(name)).pin).failure()
            #expect(error.pinningError != nil, "\(error)")
            #expect(await server.ended(2).last?.applicationBytes.isEmpty == true)
        }
    }
}
