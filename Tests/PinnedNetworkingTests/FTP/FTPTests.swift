import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

/// FTP with the whole client, against scripted servers.
@Suite(.timeLimit(.minutes(10)))
struct FTPTests {
    /// Answers commands from a table by their first word, and any other command with 200.
    static func script(
        _ replies: [String: String], greeting: String = "220 hello\r\n", log: Collected<String> = Collected()
    ) -> LoopbackServer.Script {
        .handle { connection in
            try connection.write(Array(greeting.utf8))
            var text = ""
            while let bytes = try connection.read() {
                text += String(decoding: bytes, as: UTF8.self)
                while let end = text.range(of: "\r\n") {
                    let line = String(text[..<end.lowerBound])
                    text = String(text[end.upperBound...])
                    log.append(line)
                    let word = String(line.prefix { $0 != " " })
                    let reply = replies[line] ?? replies[word] ?? "200 ok"
                    try connection.write(Array((reply + "\r\n").utf8))
                }
            }
        }
    }

    static func file(_ text: String) -> LoopbackServer.Script {
        .handle { try $0.write(Array(text.utf8)) }
    }

    /// Runs a download; `isSecure` means implicit TLS on both connections.
    private func fetch(
        _ url: String = "ftp://pinned.test/a", file text: String = "hello", isSecure: Bool = false,
        replies: [String: String] = [:], greeting: String = "220 hello\r\n", policy: PinningPolicy? = nil,
        delegate: (any URLSessionDelegate)? = nil, log: Collected<String> = Collected(),
        fileChain: [TestCertificate]? = nil, storage: URLCredentialStorage = URLCredentialStorage(),
        clients: LoopbackServer.ClientAuthentication? = nil, fileHasCloseNotify: Bool = true,
        prepare: (URLSession) -> Void = { _ in }
    ) async throws -> (body: String, response: URLResponse) {
        let site = try TestSite.shared.get()
        let files =
            isSecure
            ? try LoopbackServer(chain: fileChain ?? site.chain, Self.file(text)) {
                $0.sendsCloseNotify = fileHasCloseNotify
            }
            : try LoopbackServer(plain: Self.file(text))
        return try await files.run { files in
            var all = [
                "USER": "331 password", "PASS": "230 in", "SIZE": "213 \(text.utf8.count)",
                "EPSV": "229 go (|||\(files.port)|)", "RETR": "150 coming\r\n226 done",
            ]
            all.merge(replies) { $1 }
            let script = Self.script(all, greeting: greeting, log: log)
            let control =
                isSecure
                ? try LoopbackServer(chain: site.chain, script) { $0.clientAuthentication = clients }
                : try LoopbackServer(plain: script)
            return try await control.run { control in
                let session = try site.session(control, policy: policy, delegate: delegate) {
                    $0.urlCredentialStorage = storage
                }
                prepare(session)
                let (data, response) = try await session.data(from: try #require(URL(string: url)))
                return (String(decoding: data, as: UTF8.self), response)
            }
        }
    }

    private func failure(_ body: () async throws -> (String, URLResponse)) async throws -> URLError {
        do {
            _ = try await body()
        } catch let error as URLError {
            return error
        }
        throw NoFailure()
    }

    private struct NoFailure: Error {}

    @Test("A file is downloaded anonymously, with its size")
    func anonymous() async throws {
        let log = Collected<String>()
        let (body, response) = try await fetch(log: log)
        #expect(body == "hello")
        #expect(response.expectedContentLength == 5)
        #expect(!(response is HTTPURLResponse))
        #expect(
            log.values.prefix(7) == [
                "USER anonymous", "PASS anonymous@", "TYPE I", "SIZE a", "EPSV", "RETR a", "QUIT",
            ])
    }

    @Test("The URL's login is used, and doesn't appear in the response")
    func ownLogin() async throws {
        let log = Collected<String>()
        let (_, response) = try await fetch("ftp://me:word@pinned.test/a", log: log)
        #expect(log.values.prefix(2) == ["USER me", "PASS word"])
        #expect(response.url?.absoluteString == "ftp://pinned.test/a")
    }

    @Test("A server that requires a login gives a challenge of the method Default, and another after a wrong one")
    func challenge() async throws {
        let seen = Collected<URLAuthenticationChallenge>()
        let delegate = TaskHandlerDelegate { challenge in
            seen.append(challenge)
            let password = challenge.previousFailureCount == 0 ? "wrong" : "word"
            return (.useCredential, URLCredential(user: "me", password: password, persistence: .none))
        }
        let log = Collected<String>()
        let replies = ["PASS": "530 no", "PASS word": "230 in"]
        #expect(try await fetch(replies: replies, delegate: delegate, log: log).body == "hello")
        #expect(seen.values.map(\.previousFailureCount) == [0, 1])
        let space = try #require(seen.values.first?.protectionSpace)
        #expect(space.authenticationMethod == NSURLAuthenticationMethodDefault)
        #expect((space.protocol, space.host, space.port) == (NSURLProtectionSpaceFTP, "pinned.test", 21))
        #expect(seen.values.last?.proposedCredential?.user == "me")
    }

    @Test("Over TLS the protection spaces of login, server trust and client certificate have the protocol ftps")
    func secureSpaces() async throws {
        let seen = Collected<URLProtectionSpace>()
        let delegate = TaskHandlerDelegate { challenge in
            seen.append(challenge.protectionSpace)
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodDefault else {
                return (.performDefaultHandling, nil)
            }
            return (.useCredential, URLCredential(user: "me", password: "word", persistence: .none))
        }
        let replies = ["PASS": "530 no", "PASS word": "230 in"]
        _ = try await fetch(
            "ftps://pinned.test/a", isSecure: true, replies: replies, delegate: delegate, clients: .init())
        #expect(
            seen.values.map(\.authenticationMethod) == [
                NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
                NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodServerTrust,
            ])
        for space in seen.values {
            #expect((space.protocol, space.port) == ("ftps", 990))
            #expect(space.receivesCredentialSecurely)
        }
    }

    @Test("A password stored for FTP over TLS isn't sent without TLS, even on the same port")
    func storedForTLS() async throws {
        for (isSecure, user) in [(true, "me"), (false, "anonymous")] {
            let storage = URLCredentialStorage()
            storage.set(
                URLCredential(user: "me", password: "word", persistence: .forSession),
                for: URLProtectionSpace(
                    host: "pinned.test", port: 2121, protocol: "ftps", realm: nil, authenticationMethod: nil))
            let log = Collected<String>()
            let url = isSecure ? "ftps://pinned.test:2121/a" : "ftp://pinned.test:2121/a"
            #expect(try await fetch(url, isSecure: isSecure, log: log, storage: storage).body == "hello")
            #expect(log.values.first == "USER \(user)")
        }
    }

    @Test("A download has the metrics of its control connection", arguments: [false, true])
    func metrics(isSecure: Bool) async throws {
        let witness = Witness()
        let url = isSecure ? "ftps://pinned.test/a" : "ftp://pinned.test/a"
        let (_, response) = try await fetch(url, isSecure: isSecure, delegate: witness)
        let all = try #require(witness.metrics.values.first)
        let one = try #require(all.transactionMetrics.first)
        #expect(witness.metrics.values.count == 1 && all.transactionMetrics.count == 1 && all.redirectCount == 0)
        #expect(one.networkProtocolName == "ftp")
        #expect(one.request.url?.absoluteString == url && one.response === response)
        let dates = [
            one.fetchStartDate, one.connectStartDate, one.secureConnectionStartDate, one.connectEndDate,
            one.requestStartDate, one.requestEndDate, one.responseStartDate, one.responseEndDate,
        ]
        #expect(dates.compactMap(\.self).count == (isSecure ? 8 : 7))
        #expect(dates.compactMap(\.self) == dates.compactMap(\.self).sorted())
        #expect(one.secureConnectionEndDate == (isSecure ? one.connectEndDate : nil))
        #expect(one.negotiatedTLSProtocolVersion == (isSecure ? .TLSv13 : nil))
        #expect((one.negotiatedTLSCipherSuiteName != nil) == isSecure)
        #expect((one.trustEvaluationDuration ?? 0 > 0) == isSecure)
        #expect(!one.isReusedConnection && !one.isProxyConnection && !one.isResumedSession)
        #expect(one.remoteAddress == "127.0.0.1" && one.remotePort ?? 0 > 0)
        #expect(one.countOfResponseBodyBytesReceived == 5 && one.countOfRequestBodyBytesSent == 0)
        #expect(one.countOfRequestHeaderBytesSent > 40)
    }

    @Test("A rejected login without another answer is an error, and so is a cancelled one")
    func refusedLogin() async throws {
        let replies = ["PASS": "530 no"]
        #expect(try await failure { try await fetch(replies: replies) }.code == .userAuthenticationRequired)
        let delegate = TaskHandlerDelegate { _ in (.cancelAuthenticationChallenge, nil) }
        #expect(try await failure { try await fetch(replies: replies, delegate: delegate) }.code == .cancelled)
        let stubborn = TaskHandlerDelegate { _ in
            (.useCredential, URLCredential(user: "me", password: "wrong", persistence: .none))
        }
        #expect(
            try await failure { try await fetch(replies: replies, delegate: stubborn) }.code
                == .userAuthenticationRequired)
    }

    @Test(
        "Each error reply of a server gives the matching URLError",
        arguments: [
            (["SIZE": "550 none"], URLError.Code.fileDoesNotExist), (["RETR": "550 none"], .fileDoesNotExist),
            (["RETR": "150 coming\r\n426 broke"], .networkConnectionLost), (["SIZE": "213 6"], .networkConnectionLost),
            (["SIZE": "213 4"], .networkConnectionLost), (["TYPE": "what do you want"], .badServerResponse),
            (["EPSV": "229 nowhere"], .badServerResponse), (["USER": "421 full"], .badServerResponse),
            (["TYPE": String(repeating: "200-more\r\n", count: 300) + "200 ok"], .badServerResponse),
            (["TYPE": String(repeating: "x", count: 100_000)], .badServerResponse),
        ])
    func refusals(row: (replies: [String: String], code: URLError.Code)) async throws {
        #expect(try await failure { try await fetch(replies: row.replies) }.code == row.code)
    }

    @Test(
        "HA18: The file comes from the same server; a reply that names another host is rejected (CVE-2020-8284)",
        arguments: [("127,0,0,1", true), ("192,0,2,7", false), ("127,0,0,2", false), ("0,0,0,0", false)])
    func otherAddress(address: String, isItsOwn: Bool) async throws {
        let site = try TestSite.shared.get()
        let log = Collected<String>()
        try await LoopbackServer(plain: Self.file("hello")).run { files in
            let passive = "227 go (\(address),\(files.port >> 8),\(files.port & 255))"
            let replies = [
                "USER": "230 in", "SIZE": "213 5", "EPSV": "500 no", "PASV": passive,
                "RETR": "150 coming\r\n226 done",
            ]
            try await LoopbackServer(plain: Self.script(replies, log: log)).run { control in
                let url = try #require(URL(string: "ftp://pinned.test/a"))
                let session = try site.session(control)
                guard !isItsOwn else {
                    let (data, _) = try await session.data(from: url)
                    return #expect(data == Data("hello".utf8))
                }
                let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
                #expect(error?.code == .badServerResponse)
                #expect(error?.localizedDescription.contains("EPSV") == true)
                #expect(files.records.isEmpty)
                #expect(log.values.last == "PASV")
            }
        }
    }

    @Test("Over TLS both connections are verified, and pins apply")
    func secure() async throws {
        let site = try TestSite.shared.get()
        let log = Collected<String>()
        let pins = try PinningPolicy.pinning(site.leaf.key.pin)
        #expect(try await fetch("ftps://pinned.test/a", isSecure: true, policy: pins, log: log).body == "hello")
        #expect(log.values.contains("PBSZ 0") && log.values.contains("PROT P"))
        let others = try PinningPolicy.pinning(unknownPin)
        let silent = Collected<String>()
        let error = try await failure {
            try await fetch("ftps://pinned.test/a", isSecure: true, policy: others, log: silent)
        }
        #expect(error.code == .serverCertificateUntrusted)
        #expect(silent.values.isEmpty)
    }

    @Test("PE21: Pins that replace those of the control connection's handshake apply before the login is sent")
    func replacedPins() async throws {
        let site = try TestSite.shared.get()
        let log = Collected<String>()
        let next = try PinningPolicy.pinning(unknownPin)
        let delegate = SessionReplacingDelegate(next)
        let error = try await failure {
            try await fetch(
                "ftps://pinned.test/a", isSecure: true, policy: .pinning(site.leaf.key.pin), delegate: delegate,
                log: log)
        }
        #expect(error.code == .serverCertificateUntrusted)
        #expect(log.values.isEmpty)
    }

    @Test(
        "PE21: After the pins are replaced while the login is asked for, a server that they refuse gets no command",
        arguments: ["ftps", "ftp"], [true, false])
    func replacedDuringLogin(scheme: String, isAccepted: Bool) async throws {
        let site = try TestSite.shared.get()
        let log = Collected<String>()
        let isSecure = scheme == "ftps"
        // Without TLS, only a policy without a rule for the host accepts the server.
        let next = try PinningPolicy.pinning(
            isAccepted ? site.intermediate.key.pin : unknownPin,
            host: isAccepted && !isSecure ? "a.test" : "pinned.test")
        let current = Locked<URLSession?>(nil)
        let delegate = SessionAsyncDelegate { challenge in
            guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
            current.withLock { $0?.pinning = next }
            return (.useCredential, URLCredential(user: "open", password: "sesame", persistence: .none))
        }
        func fetched() async throws -> (body: String, response: URLResponse) {
            try await fetch(
                "\(scheme)://open@pinned.test/a", isSecure: isSecure,
                policy: isSecure ? .pinning(site.leaf.key.pin) : nil, delegate: delegate, log: log
            ) { session in current.withLock { $0 = session } }
        }
        if isAccepted {
            #expect(try await fetched().body == "hello")
            #expect(log.values.first == "USER open")
        } else {
            let error = try await failure(fetched)
            #expect(
                error.code == (isSecure ? .serverCertificateUntrusted : .appTransportSecurityRequiresSecureConnection))
            #expect(log.values.isEmpty)
        }
    }

    @Test(
        "TC16: Over TLS a file without close_notify is complete only if it has the size from SIZE",
        arguments: [
            (true, "213 5", true), (true, "500 what", true), (true, "213 6", false), (true, "213 4", false),
            (false, "213 5", true), (false, "500 what", false), (false, "213 6", false), (false, "213 4", false),
        ])
    func cutFile(hasCloseNotify: Bool, size: String, isWhole: Bool) async throws {
        func fetched() async throws -> (body: String, response: URLResponse) {
            try await fetch(
                "ftps://pinned.test/a", isSecure: true, replies: ["SIZE": size], fileHasCloseNotify: hasCloseNotify)
        }
        if isWhole {
            #expect(try await fetched().body == "hello")
        } else {
            #expect(try await failure(fetched).code == .networkConnectionLost)
        }
    }

    @Test("A data connection with another certificate is verified again, including pins and hostname")
    func otherFileServer() async throws {
        let site = try TestSite.shared.get()
        let same = [try site.intermediate.server([.dns("pinned.test")]), site.intermediate]
        let unknown = [try site.intermediate.server([.dns("other.test")]), site.intermediate]
        #expect(try await fetch("ftps://pinned.test/a", isSecure: true, fileChain: same).body == "hello")
        let pins = try PinningPolicy.pinning(site.leaf.key.pin)
        let mismatch = try await failure {
            try await fetch("ftps://pinned.test/a", isSecure: true, policy: pins, fileChain: same)
        }
        #expect(mismatch.code == .serverCertificateUntrusted)
        let name = try await failure { try await fetch("ftps://pinned.test/a", isSecure: true, fileChain: unknown) }
        #expect(name.code == .serverCertificateUntrusted)
    }

    @Test("A server that doesn't encrypt the data connection gets no RETR")
    func unprotected() async throws {
        let log = Collected<String>()
        let error = try await failure {
            try await fetch("ftps://pinned.test/a", isSecure: true, replies: ["PROT": "536 no"], log: log)
        }
        #expect(error.code == .secureConnectionFailed)
        #expect(!log.values.contains { $0.hasPrefix("RETR") })
    }

    @Test(
        "HA18: A stripped AUTH TLS, or one with injected replies, is rejected (CVE-2021-22946, CVE-2021-22947)",
        arguments: ["500 what", "234 go\r\n230 you are in", "200 fine"])
    func stripped(answer: String) async throws {
        let log = Collected<String>()
        let error = try await failure {
            try await fetch("ftpes://pinned.test/a", replies: ["AUTH": answer], log: log)
        }
        #expect([.secureConnectionFailed, .networkConnectionLost, .cannotConnectToHost].contains(error.code))
        #expect(!log.values.contains { $0.hasPrefix("USER") || $0.hasPrefix("PASS") })
    }

    @Test("Plain ftp to a host with enforced pins is rejected before anything is sent, as with http")
    func pinnedCleartext() async throws {
        let site = try TestSite.shared.get()
        let log = Collected<String>()
        let pins = try PinningPolicy.pinning(site.leaf.key.pin)
        let error = try await failure { try await fetch(policy: pins, log: log) }
        #expect(error.code == .appTransportSecurityRequiresSecureConnection)
        #expect(log.values.isEmpty)
    }

    @Test("HA18: A line break in a path is rejected before anything is sent")
    func lineBreak() async throws {
        let log = Collected<String>()
        let error = try await failure { try await fetch("ftp://pinned.test/a%0D%0ADELE%20a", log: log) }
        #expect(error.code == .badURL)
        #expect(log.values.isEmpty)
    }

    @Test("Through an HTTP proxy a file is a GET with the whole URL, and other proxies are rejected")
    func proxies() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(plain: .answer { .init(body: $0.line) }).run { proxy in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = 600
            configuration.trustStore = try site.store
            let host = try ServerName(proxy.address)
            configuration.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: host, port: proxy.port)]
            let session = URLSession(configuration: configuration)
            let url = try #require(URL(string: "ftp://files.test/a/b"))
            let (data, response) = try await session.data(from: url)
            #expect(String(decoding: data, as: UTF8.self) == "GET ftp://files.test/a/b HTTP/1.1")
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
            #expect(try await session.failure("ftps://files.test/a").code == .unsupportedURL)
            configuration.proxyConfigurations = [ProxyConfiguration(socksv5Proxy: host, port: proxy.port)]
            #expect(
                try await URLSession(configuration: configuration).failure("ftp://files.test/a").code
                    == .unsupportedURL)
        }
    }

    @Test("A redirect from HTTP to FTP isn't followed")
    func redirect() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.respond(.init("302 Found", fields: ["Location: ftp://pinned.test/a"]))
        try await LoopbackServer(chain: site.chain, script).run { server in
            let error = try await site.session(server).failure()
            #expect(error.code == .unsupportedURL || error.code == .appTransportSecurityRequiresSecureConnection)
        }
    }
}
