import PinnedNetworking

/// Further ways of a dependency past the policy, and requests that begin before the program adopts it.
enum Attacks {
    /// Sends the URL with its host written in other ways, with a delegate that accepts every server.
    static func spellings(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        let hosts = [
            "LOCALHOST", "localhost.", "LocalHost.", "%6cocalhost", "localhost%2E", "user@localhost",
            "user:@LOCALHOST.", "\u{FF4C}ocalhost", "loc\u{AD}alhost", "localhost%00", "\u{4C}ocal\u{200B}host",
        ]
        let session = Dependency.session(.default, Dependency.Careless())
        for host in hosts {
            await Main.send("spelling") {
                guard let url = URL(string: "https://\(host):\(url.port ?? 0)/") else { throw URLError(.badURL) }
                return Dependency.text(try await session.data(from: url, delegate: Dependency.Careless()))
            }
        }
    }

    /// Sends the URL in schemes without TLS, directly and through a proxy, whose port is the last argument.
    static func cleartext(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        let port = url.port ?? 0
        let configuration = URLSessionConfiguration.default
        configuration.proxyConfigurations = [
            ProxyConfiguration(httpCONNECTProxy: try ServerName("127.0.0.1"), port: UInt16(Main.files[0]) ?? 0)
        ]
        for session in [URLSession(configuration: .default), URLSession(configuration: configuration)] {
            for text in ["http://localhost:\(port)/", "ftp://localhost:\(port)/a"] {
                await refusal(text) { url in _ = try await session.data(from: url) }
            }
            await refusal("ws://localhost:\(port)/") { url in
                let task = session.webSocketTask(with: url)
                task.resume()
                defer { task.cancel() }
                _ = try await task.receive()
            }
        }
        // From a host without a rule.
        await refusal("http://127.0.0.1:\(Main.files[1])/") { _ = try await URLSession.shared.data(from: $0) }
    }

    private static func refusal(_ text: String, _ send: (URL) async throws -> Void) async {
        guard let url = URL(string: text) else { return print("no URL") }
        do {
            try await send(url)
            print("sent")
        } catch {
            let text = error.localizedDescription.lowercased()
            let isRefused = text.contains("pins of the process") || text.contains("policy of the process")
            print(isRefused ? "process" : text)
        }
    }

    /// The dependency chooses other roots for the operating system's.
    static func roots(_ url: URL) async throws {
        try ProcessPinning.adoptFromEnvironment()
        setenv("SSL_CERT_FILE", Main.files[0], 1)
        await Main.get("other roots", .shared, url)
    }

    /// An upload and a WebSocket begin, then the program adopts a policy, and then they go on.
    static func begun(_ url: URL) async throws {
        let session = URLSession(configuration: .default)
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.scheme = "wss"
        guard let socketURL = components?.url else { return }
        let socket = session.webSocketTask(with: socketURL)
        socket.resume()
        if case .string(let text) = try await socket.receive() { print("WebSocket before: \(text)") }
        let path = NSTemporaryDirectory() + "/\(UUID())"
        mkfifo(path, 0o600)
        defer { unlink(path) }
        guard let output = FileHandle(forUpdatingAtPath: path) else { return }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(fileAtPath: path)
        output.write(Data("before".utf8))
        let upload = Task { [request] in
            await Main.send("upload") { Dependency.text(try await session.data(for: request)) }
        }
        try await Task.sleep(for: .seconds(1))
        try ProcessPinning.adopt(Main.policy(0))
        output.write(Data("after".utf8))
        try output.close()
        await upload.value
        await Main.send("WebSocket") {
            try await socket.send(.string("after"))
            return "sent"
        }
    }
}
