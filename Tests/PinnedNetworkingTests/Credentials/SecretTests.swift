import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// CS2: secrets don't appear in any text that a program might print.
@Suite(.timeLimit(.minutes(10)))
struct SecretTests {
    private static let secret = "xyzzy-canary"
    /// `me:xyzzy-canary` in Base64, and the middle of it.
    private static let encoded = Data("me:\(secret)".utf8).base64EncodedString()

    /// The results of printing, interpolating, dumping and reflecting a value.
    private static func texts(of value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        var texts = ["\(value)", String(reflecting: value), String(describing: value), dumped]
        func reflect(_ mirror: Mirror, _ depth: Int) {
            guard depth > 0 else { return }
            for (_, child) in mirror.children {
                texts.append("\(child)")
                reflect(Mirror(reflecting: child), depth - 1)
            }
            if let parent = mirror.superclassMirror { reflect(parent, depth - 1) }
        }
        reflect(Mirror(reflecting: value), 8)
        if let error = value as? URLError {
            texts += [error.localizedDescription, "\(error.userInfo)", "\(error as NSError)"]
        }
        return texts
    }

    private static func expectNoSecret(
        in values: [Any], _ secrets: [String] = [secret, encoded],
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for value in values {
            let texts = texts(of: value)
            for secret in secrets {
                let text = texts.first { $0.contains(secret) }
                #expect(text == nil, "\(type(of: value)) shows it", sourceLocation: sourceLocation)
            }
        }
    }

    @Test("CS2: Passwords and Authorization don't appear in any text of a session's values")
    func values() async throws {
        let url = try #require(URL(string: "https://me:\(Self.secret)@pinned.test/"))
        var request = URLRequest(url: url)
        request.setValue("Basic \(Self.encoded)", forHTTPHeaderField: "Authorization")
        request.setValue("a=\(Self.secret)", forHTTPHeaderField: "Cookie")
        request.httpBody = Data(Self.secret.utf8)
        let credential = URLCredential(user: "me", password: Self.secret, persistence: .permanent)
        let space = URLProtectionSpace(
            host: "pinned.test", port: 443, protocol: "https", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let storage = URLCredentialStorage()
        storage.set(credential, for: space)
        var proxy = ProxyConfiguration(httpCONNECTProxy: try ServerName("127.0.0.1"), port: 1)
        proxy.applyCredential(username: "me", password: Self.secret)
        let configuration = URLSessionConfiguration.default
        configuration.urlCredentialStorage = storage
        configuration.proxyConfigurations = [proxy]
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer \(Self.secret)"]
        let session = URLSession(configuration: configuration)
        let task = session.dataTask(with: request)
        Self.expectNoSecret(in: [request, credential, space, storage, proxy, configuration, session, task])
        task.cancel()
    }

    @Test("CS2: Passwords don't appear in the challenge, the response and the errors of requests")
    func exchanges() async throws {
        let site = try TestSite.shared.get()
        let seen = Collected<URLAuthenticationChallenge>()
        let credential = URLCredential(user: "me", password: Self.secret, persistence: .forSession)
        let delegate = TaskHandlerDelegate { challenge in
            guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
            seen.append(challenge)
            return (.useCredential, credential)
        }
        let script = LoopbackServer.Script.answer { request in
            switch (request.target, request.values(of: "Authorization").first) {
            case ("/cut", _?): .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".utf8))
            case ("/garbage", _?): .raw(Array("nonsense \(Self.secret)\r\n\r\n".utf8))
            case (_, "Basic \(Self.encoded)"): .init(fields: ["Set-Cookie: a=\(Self.secret)"], body: "hello")
            default: .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "who?")
            }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = nil }
            let (_, response) = try await session.get(delegate: delegate)
            var errors = [try await session.failure("https://pinned.test/cut", delegate: delegate)]
            for url in ["https://me:\(Self.secret)@pinned.test/cut", "https://me:\(Self.secret)@pinned.test:99999/"] {
                errors.append(try await session.failure(url, delegate: delegate))
            }
            let strict = try site.session(server, policy: .pinning(unknownPin))
            errors.append(try await strict.failure("https://me:\(Self.secret)@pinned.test/"))
            let url = try #require(URL(string: "https://me:\(Self.secret)@pinned.test/"))
            let (bytes, _) = try await session.bytes(from: url, delegate: delegate)
            Self.expectNoSecret(in: [session, response, bytes, bytes.task] + seen.values + errors)
            Self.expectNoSecret(in: [bytes.makeAsyncIterator()])
            #expect(!seen.values.isEmpty)
        }
    }

    @Test("CS2: A private key doesn't appear in any text of an identity and its credential")
    func keys() throws {
        let client = try TestCertificate.root("Client Root").issue(.client("alice"))
        let identity = try client.identity
        let credential = URLCredential(identity: identity, certificates: nil, persistence: .permanent)
        let lines = try client.key.privateKeyPEM
        let key = try #require(lines.split(separator: "\n").dropFirst().first)
        Self.expectNoSecret(in: [identity, credential], [String(key), String(key.dropFirst(20).prefix(20))])
    }
}
