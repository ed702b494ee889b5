import CertificateTrust
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite(
    "No false alarms: real chains from other projects' tests",
    .enabled(if: RealCertificates.all != nil, RealCertificates.skipped))
struct FalseAlarmPeerTests {
    /// Names of certificates in the file, leaf first and root last, and a time at which all of them are valid.
    struct RealChain: Sendable, CustomTestStringConvertible {
        var name: String
        var certificates: [String]
        var time: Int64

        init(_ name: String, _ time: Int64, _ certificates: String...) {
            (self.name, self.time, self.certificates) = (name, time, certificates)
        }

        var testDescription: String { name }
    }

    static let chains = [
        RealChain(
            "test.alamofire.org", 1_500_000_000, "af-leafWildcard", "af-intermediateCA1", "af-rootCA"),
        RealChain(
            "blog.alamofire.org", 1_500_000_000, "af-leafMultipleDNSNames", "af-intermediateCA1", "af-rootCA"),
        RealChain("test.alamofire.org", 1_500_000_000, "af-leafSignedByCA1", "af-intermediateCA1", "af-rootCA"),
        RealChain("test.alamofire.org", 1_500_000_000, "af-leafDNSNameAndURI", "af-intermediateCA1", "af-rootCA"),
        RealChain("test.alamofire.org", 1_500_000_000, "af-leafSignedByCA2", "af-intermediateCA2", "af-rootCA"),
        RealChain("test.alamofire.org", 1_500_000_000, "af-leafValidDNSName", "af-intermediateCA2", "af-rootCA"),
        RealChain(
            "init.ess.apple.com", 1_610_000_000, "apple-ids-leaf", "apple-test-server-auth-ca", "apple-test-root"),
        RealChain("www.good.com", 1_500_000_000, "tk-good-leaf", "tk-good-root"),
        RealChain(
            "www.badssl.com", 1_428_710_400, "badssl-expired-leaf", "badssl-expired-intermediate-ca-2",
            "badssl-expired-intermediate-ca-1", "badssl-expired-root-ca"),
        RealChain("example.com", 1_500_000_000, "dane-bedc04764c", "dane-0daa76425a", "dane-fe7c8e0111"),
        RealChain("example.org", 1_500_000_000, "dane-6af79364e7", "dane-0d49d9885f", "dane-01988f6834"),
        RealChain(
            "server.example", 1_700_000_000, "dane-74ec8e62b1", "dane-572c8fc062", "dane-234e28818b",
            "dane-32a5ab8f59"),
    ]

    @Test("Real chains are valid at their time", arguments: chains)
    func verified(_ chain: RealChain) throws {
        let certificates = try chain.certificates.map { try #require(RealCertificates.all?[$0], "\($0)") }
        let path = try evaluate(chain, certificates.dropLast(), TrustStore(certificates: certificates.suffix(1)))
        #expect(path.certificates == certificates)
    }

    @Test("A real chain is valid with the system roots")
    func systemRoots() throws {
        let chain = try #require(Self.chains.first { $0.name == "www.badssl.com" })
        let certificates = try chain.certificates.map { try #require(RealCertificates.all?[$0], "\($0)") }
        let path = try evaluate(chain, certificates[...], .system())
        #expect(path.certificates.count == 3)
    }

    /// Chains without a server's name: CA certificates under current roots, and a leaf from before subject alternative
    /// names.
    static let nameless: [(time: Int64, certificates: [String])] = [
        (1_700_000_000, ["tk-csc-rsa3072"]),
        (1_500_000_000, ["tk-globalsign-dv"]),
        (1_700_000_000, ["badssl-expired-intermediate-ca-2"]),
        (1_500_000_000, ["tk-anchor-fake.yahoo.com", "tk-anchor-intermediate", "tk-anchor-ca"]),
    ].filter { $0.certificates.count > 1 || hasSystemRoot($0.certificates[0]) }

    /// Whether the issuer is a root of this system. Releases remove roots, as Debian did with GlobalSign's first one.
    private static func hasSystemRoot(_ name: String) -> Bool {
        guard let certificate = RealCertificates.all?[name] else { return false }
        return (try? TrustStore.system().issuers(of: certificate).isEmpty) == false
    }

    @Test("Real chains without a name are valid under the system roots or under their own", arguments: nameless)
    func chain(_ time: Int64, _ names: [String]) throws {
        let certificates = try names.map { try #require(RealCertificates.all?[$0], "\($0)") }
        let store =
            certificates.count > 1 ? TrustStore(certificates: certificates.suffix(1)) : try TrustStore.system()
        var policy = TrustPolicy.default
        policy.purpose = .any
        let presented = PresentedChain(leaf: certificates[0], intermediates: Array(certificates.dropFirst()))
        let chain = try ChainTrust(presented: presented, store: store, policy: policy)
            .evaluate(at: Date(timeIntervalSince1970: Double(time)))
        #expect(chain.certificates.count == max(2, names.count))
    }

    private func evaluate(
        _ chain: RealChain, _ certificates: ArraySlice<X509Certificate>, _ store: TrustStore
    ) throws -> VerifiedPath {
        let presented = PresentedChain(
            leaf: try #require(certificates.first), intermediates: Array(certificates.dropFirst()))
        let trust = ServerTrust(presented: presented, name: try ServerName(chain.name), store: store)
        return try trust.evaluate(at: Date(timeIntervalSince1970: Double(chain.time)))
    }
}

/// Certificates from other projects' tests. They aren't part of this repository, and tests that need them are skipped
/// where they are missing.
enum RealCertificates {
    static let directory = ProcessInfo.processInfo.environment["PINCTL_CONFORMANCE"] ?? "../shared/conformance"
    static let skipped = Comment("no \(directory)/peer-cases.json: name its directory in PINCTL_CONFORMANCE")

    static let all: [String: X509Certificate]? = {
        guard let json = FileManager.default.contents(atPath: directory + "/peer-cases.json"),
            let cases = try? JSONDecoder().decode(Cases.self, from: json)
        else { return nil }
        return cases.certs.compactMapValues { certificate in
            let body = certificate.pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            return Data(base64Encoded: body).flatMap { try? X509Certificate(derBytes: Array($0)) }
        }
    }()

    private struct Cases: Decodable {
        struct Certificate: Decodable { var pem: String }
        var certs: [String: Certificate]
    }
}
