import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

/// curl and openssl, which read the written policies and connect to a server on loopback.
@Suite("curl and openssl agree with this project")
struct TLSPeerTests {
    private static let host = "a.example"
    private let chain: [TestCertificate]
    private let directory: TestDirectory
    private let roots: String

    init() throws {
        let root = try TestCertificate.root("Root")
        let intermediate = try root.intermediate("Intermediate")
        chain = [try intermediate.leaf(Self.host), intermediate, root]
        directory = try TestDirectory()
        roots = try directory.add(root.pemText, name: "root.pem")
    }

    private func rule(_ pins: [CanonicalPin], _ scope: HostPattern.Scope, ports: Set<Int>? = nil) -> CanonicalPolicy {
        let pattern = HostPattern(scope == .every ? "" : Self.host, scope)
        return CanonicalPolicy(
            rules: [CanonicalRule(patterns: [pattern], ports: ports, pins: pins)], combination: .union)
    }

    private func isAccepted(_ policy: CanonicalPolicy, by dialect: PinDialect, port: Int) throws -> Bool {
        let path = try chain.map { try X509Certificate(derBytes: $0.derBytes) }
        let rules = dialect.rules(for: Self.host, port: port, in: policy)
        return policy.decide(path, by: rules, under: DecisionCircumstances(at: Date())).isAccepted
    }

    @Test(
        "curl accepts the keys in its argument, and no others",
        .enabled(if: TestCommand.isPresent("curl", "--version"), "curl is not installed"))
    func curl() async throws {
        let keys = try chain.map { certificate in
            let fingerprint = try X509Certificate(derBytes: certificate.derBytes).spkiFingerprint
            return CanonicalPin(.publicKey, .sha256, Array(copying: fingerprint.bytes.span), role: .leaf)
        }
        let other = CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 1, count: 32), role: .leaf)
        try await LoopbackServer(chain: Array(chain.prefix(2))).run { server in
            for pins in [[keys[0]], [other], [other, keys[0]], [keys[0], other], [keys[1]], [keys[2], other]] {
                let policy = rule(pins, .every)
                let result = try TestCommand.run([
                    "curl", "--silent", "--output", "/dev/null", "--cacert", roots, "--pinnedpubkey",
                    try CurlPins.write(policy), "--resolve", "\(Self.host):\(server.port):127.0.0.1",
                    "https://\(Self.host):\(server.port)/",
                ])
                let expected = try isAccepted(policy, by: .curl, port: Int(server.port))
                // 90 is CURLE_SSL_PINNEDPUBKEYNOTMATCH.
                #expect(result.status == (expected ? 0 : 90), "\(pins)")
            }
        }
    }

    @Test("openssl gives every kind of record the same meaning")
    func openSSL() async throws {
        try await LoopbackServer(chain: chain).run { server in
            let port = Int(server.port)
            for usage in UInt8(0)...3 {
                for selector in UInt8(0)...1 {
                    for matchingType in UInt8(0)...2 {
                        for certificate in chain.prefix(2) {
                            let record = try record(usage, selector, matchingType, of: certificate)
                            let policy = rule([try #require(record.pin)], .exact, ports: [port])
                            let line = try TLSAZone.write(policy)
                            let data = line.split(separator: " ").dropFirst(3).joined(separator: " ")
                            let result = try TestCommand.run([
                                "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", roots,
                                "-dane_tlsa_domain", Self.host, "-dane_tlsa_rrdata", String(data.dropLast()),
                                "-verify_return_error",
                            ])
                            let expected = try isAccepted(policy, by: .tlsa, port: port)
                            #expect((result.status == 0) == expected, "\(record): \(result.text)")
                        }
                    }
                }
            }
        }
    }

    private func record(
        _ usage: UInt8, _ selector: UInt8, _ matchingType: UInt8, of certificate: TestCertificate
    ) throws -> TLSARecord {
        let parsed = try X509Certificate(derBytes: certificate.derBytes)
        let bytes = selector == 0 ? parsed.derBytes : parsed.subjectPublicKeyInfo.derBytes
        let data: [UInt8]
        switch matchingType {
        case 0: data = bytes
        case 1: data = sha256Digest(bytes.span)
        default: data = try #require(digest("SHA2-512", of: bytes))
        }
        return TLSARecord(usage: usage, selector: selector, matchingType: matchingType, data: data)
    }
}
