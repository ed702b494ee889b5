import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

extension TestSite {
    /// A site for tests that need only `pinned.test` and `start.test`.
    static let shared = Result<TestSite, any Error> { try pinned([.dns("pinned.test"), .dns("start.test")]) }

    /// Returns a new site that is valid now, for `pinned.test` or for other names.
    static func pinned(_ names: [TestCertificate.GeneralName] = [.dns("pinned.test")]) throws -> TestSite {
        try TestSite("pinned.test", isValidNow: true) { $0.alternativeNames = names }
    }

    /// A new trust store with the root.
    var store: TrustStore {
        get throws { TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)]) }
    }

    /// A new server trust over the site's chain.
    var trust: ServerTrust {
        get throws {
            ServerTrust(
                presented: try PresentedChain(derCertificates: chain.map(\.derBytes)), name: try ServerName(host),
                store: try store)
        }
    }

    /// The site's leaf as a client identity.
    var identity: ClientIdentity {
        get throws {
            let pem = try leaf.pemText + intermediate.pemText + leaf.key.privateKeyPEM
            return try ClientIdentity(pem: Array(pem.utf8))
        }
    }

    /// The chain of a proxy at `localhost`.
    func proxyChain() throws -> [TestCertificate] { [try intermediate.server([.dns("localhost")]), intermediate] }

    /// A session for this server; see ``configuration(_:policy:_:)``.
    func session(
        _ server: LoopbackServer, policy: PinningPolicy? = nil, delegate: (any URLSessionDelegate)? = nil,
        _ adjust: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> URLSession {
        let configuration = try configuration(server, policy: policy, adjust)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    /// A configuration that reaches this server under any hostname.
    func configuration(
        _ server: LoopbackServer, policy: PinningPolicy? = nil, _ adjust: (URLSessionConfiguration) -> Void = { _ in }
    ) throws -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.route = (try ServerName(server.address), server.port)
        configuration.trustStore = try store
        configuration.pinning = policy
        // Long enough that a machine busy with other tests doesn't reach it.
        configuration.timeoutIntervalForRequest = 600
        adjust(configuration)
        return configuration
    }
}

extension TestCertificate {
    /// A leaf under this certificate that is valid now.
    func server(_ names: [GeneralName], _ adjust: (inout Settings) -> Void = { _ in }) throws -> TestCertificate {
        try leaf("server") { settings in
            settings.makeValidNow()
            settings.alternativeNames = names
            adjust(&settings)
        }
    }

    /// This certificate with its key.
    var identity: ClientIdentity {
        get throws { try ClientIdentity(pem: Array((pemText + key.privateKeyPEM).utf8)) }
    }
}

extension LoopbackServer {
    /// The configuration for this proxy.
    func configuration(usesTLS: Bool = false) throws -> ProxyConfiguration {
        usesTLS
            ? ProxyConfiguration(tlsCONNECTProxy: try ServerName("localhost"), port: port)
            : ProxyConfiguration(httpCONNECTProxy: try ServerName(address), port: port)
    }
}

extension URLProtectionSpace {
    /// The space of a server that requests a client certificate.
    static func clientCertificate(host: String = "pinned.test") -> URLProtectionSpace {
        URLProtectionSpace(
            host: host, port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: nil,
            authenticationMethod: NSURLAuthenticationMethodClientCertificate)
    }
}

extension PinningPolicy {
    /// One rule for `pinned.test`, or another host.
    static func pinning(
        _ pin: String, role: PinRole = .any, host: String = "pinned.test", ports: Set<Int>? = nil,
        mode: PinningMode = .enforce, expiry: PinningExpiry? = nil, unlisted: UnlistedHosts = .trust,
        anchors: TrustStore? = nil, deny: [String] = []
    ) throws -> PinningPolicy {
        let rule = PinningRule(
            host: try ServerName(host), ports: ports, pins: [try Pin(pin, role: role)], mode: mode, expiry: expiry,
            anchors: anchors)
        return try PinningPolicy(rules: [rule], unlisted: unlisted, deny: try deny.map { try Pin($0) })
    }
}

extension URLSession {
    /// The error that a GET ends with. Records an issue if it succeeds.
    func failure(
        _ url: String = "https://pinned.test/", delegate: (any URLSessionTaskDelegate)? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> URLError {
        let url = try #require(URL(string: url), sourceLocation: sourceLocation)
        let error = await #expect(throws: URLError.self, sourceLocation: sourceLocation) {
            try await data(from: url, delegate: delegate)
        }
        return try #require(error, sourceLocation: sourceLocation)
    }

    /// The body and response of a GET.
    func get(
        _ url: String = "https://pinned.test/", delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (body: String, response: HTTPURLResponse) {
        let (body, response) = try await data(from: try #require(URL(string: url)), delegate: delegate)
        return (String(decoding: body, as: UTF8.self), try #require(response as? HTTPURLResponse))
    }
}

/// Collects values from any thread.
final class Collected<Value: Sendable>: Sendable {
    private let state = Locked<[Value]>([])

    var values: [Value] { state.withLock { $0 } }

    func append(_ value: Value) { state.withLock { $0.append(value) } }
}
