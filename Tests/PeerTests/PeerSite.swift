import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// The certificates of an origin and of a proxy below one root, their files, and sessions that trust the root.
///
/// The origin is `pinned.test`, which a session's route leads to, and `localhost`, where proxies find it. The proxy is
/// `127.0.0.1`.
struct PeerSite: Sendable {
    let directory: TestDirectory
    let origin: TestSite
    let proxy: TestCertificate

    /// User and password for every realm of every peer.
    static let (user, password) = ("reader", "open: \"sesämi\"")

    init() throws {
        directory = try TestDirectory()
        origin = try TestSite("pinned.test", authority: "Peer", isValidNow: true) {
            $0.alternativeNames = [.dns("pinned.test"), .dns("localhost")]
        }
        proxy = try origin.intermediate.leaf {
            $0.makeValidNow()
            $0.alternativeNames = [.ip([127, 0, 0, 1])]
        }
        for (name, leaf) in [("origin", origin.leaf), ("proxy", proxy)] {
            _ = try directory.add(leaf.pemText + origin.intermediate.pemText, name: name + ".pem")
            _ = try directory.add(leaf.key.privateKeyPEM, name: name + ".key")
        }
    }

    /// Lets servers that drop root privileges read and write in the directory.
    func share() throws { _ = try TestCommand.run(["chmod", "-R", "a+rwX", directory.path]) }

    /// A file of users as htpasswd makes it.
    static func basicUsers() throws -> String {
        user + ":" + (try openSSL(["passwd", "-apr1", "-stdin"], input: password))
    }

    /// A file of users as htdigest makes it.
    static func digestUsers(_ realms: [String]) throws -> String {
        try realms.map { realm in
            "\(user):\(realm):" + (try openSSL(["md5", "-r"], input: "\(user):\(realm):\(password)").prefix(32)) + "\n"
        }.joined()
    }

    private static func openSSL(_ arguments: [String], input: String) throws -> String {
        let result = try TestCommand.run(["openssl"] + arguments, input: input)
        try #require(result.status == 0, "\(result.text)")
        return result.text
    }

    /// A session that connects to `port` on loopback for any hostname, or follows the URL if there is no port.
    func session(
        to port: UInt16? = nil, delegate: (any URLSessionDelegate)? = nil,
        _ adjust: (URLSessionConfiguration) throws -> Void = { _ in }
    ) throws -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        if let port { configuration.route = (try ServerName("127.0.0.1"), port) }
        configuration.trustStore = TrustStore(certificates: [try X509Certificate(derBytes: origin.root.derBytes)])
        // Long enough that a machine busy with other tests doesn't reach it.
        configuration.timeoutIntervalForRequest = 600
        try adjust(configuration)
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }
}

extension URLSession {
    /// The body and status of a GET.
    func get(_ url: String) async throws -> (body: String, status: Int) {
        let (body, response) = try await data(from: try #require(URL(string: url)))
        return (String(decoding: body, as: UTF8.self), try #require(response as? HTTPURLResponse).statusCode)
    }

    /// The error that a GET ends with.
    func failure(_ url: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> URLError {
        let url = try #require(URL(string: url), sourceLocation: sourceLocation)
        let error = await #expect(throws: URLError.self, sourceLocation: sourceLocation) {
            try await data(from: url)
        }
        return try #require(error, sourceLocation: sourceLocation)
    }
}

extension PinningPolicy {
    /// One enforced rule with one pin.
    static func pinning(_ pin: String, host: String) throws -> PinningPolicy {
        try PinningPolicy(rules: [PinningRule(host: try ServerName(host), pins: [try Pin(pin, role: .any)])])
    }
}

extension TestCertificate {
    /// A client certificate issued by this one.
    var client: TestCertificate {
        get throws {
            try leaf("reader") {
                $0.makeValidNow()
                $0.extendedKeyUsages = [ExtendedKeyUsage.clientAuth]
            }
        }
    }

    /// An identity with only this certificate and its key.
    var identity: ClientIdentity {
        get throws { try ClientIdentity(pem: Array((pemText + key.privateKeyPEM).utf8)) }
    }
}
