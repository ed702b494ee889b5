import PinctlTestPKI
import PinnedNetworking
import Testing

/// Follows no redirect.
private final class StayingDelegate: URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        nil
    }
}

@Suite(.timeLimit(.minutes(10)))
struct PinnedRequestTests {
    @Test("A GET succeeds if a pin matches on the path", arguments: [PinRole.leaf, .intermediate, .root])
    func served(role: PinRole) async throws {
        let site = try TestSite.pinned()
        let pinned = [PinRole.leaf: site.leaf, .intermediate: site.intermediate, .root: site.root][role]
        let policy = try PinningPolicy.pinning(try #require(pinned).key.pin, role: role)
        let response = LoopbackServer.Response(
            "201 Made", fields: ["Content-Type: Text/Plain; charset=utf-8", "X-A: 1", "x-a: 2"], body: "hello")
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            let session = try site.session(server, policy: policy)
            let (body, response) = try await session.get("https://pinned.test/a/b?c=d#e")
            #expect(body == "hello")
            #expect(response.statusCode == 201)
            #expect(response.url?.absoluteString == "https://pinned.test/a/b?c=d#e")
            #expect(response.mimeType == "text/plain")
            #expect(response.expectedContentLength == 5)
            #expect(response.value(forHTTPHeaderField: "x-A") == "1, 2")
            #expect(response.allHeaderFields["X-A"] as? String == "1, 2")

            await session.flush()
            let record = try #require(await server.ended().first)
            #expect(record.serverName == "pinned.test")
            #expect(record.requests.map(\.line) == ["GET /a/b?c=d HTTP/1.1"])
            #expect(record.requests.first?.values(of: "Host") == ["pinned.test"])
            #expect(record.requests.first?.values(of: "Connection") == [])
            #expect(record.requests.first?.values(of: "Accept-Encoding") == ["gzip, deflate"])
        }
    }

    @Test("Another key is rejected before any byte of the request, and the error lists served and pinned keys")
    func mismatch() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, policy: .pinning(unknownPin))
            let error = try await session.failure()
            #expect(error.code == .serverCertificateUntrusted)
            let text = error.localizedDescription
            for line in [try site.leaf.key.pin, try site.intermediate.key.pin, try site.root.key.pin, unknownPin] {
                #expect(text.contains(line))
            }
            guard case .mismatch(let mismatch) = error.pinningError else {
                Issue.record("no decision: \(error.userInfo)")
                return
            }
            #expect(mismatch.path.certificates.count == 3)
            #expect(error.userInfo[URLError.pinningErrorKey] is PinningError)
            // The texts of the error and of its values are whole in one place each.
            #expect("\(mismatch)".contains(unknownPin))
            let summary =
                "pin mismatch for pinned.test port 443: no pin of the rule for pinned.test matches the verified path"
            let printed = "\(error)"
            #expect(printed.hasPrefix("Error Domain=NSURLErrorDomain Code=-1202 \"\(summary)\""), "\(printed)")
            #expect(printed.components(separatedBy: unknownPin).count == 2)
            #expect(printed.components(separatedBy: summary).count == 6)
            #expect((error as NSError).localizedFailureReason == summary)
            await expectNoRequest(server)
        }
    }

    // CVE-2016-2402: pins are matched only against the verified path, whatever else a server sends.
    @Test(
        "PE1: A pinned certificate appended to another trusted chain doesn't help",
        arguments: [PinRole.leaf, .intermediate, .root, .ca, .any])
    func appendedPinnedCertificate(role: PinRole) async throws {
        let victim = try TestSite.pinned()
        let attacker = try TestSite.pinned()
        let both = TrustStore(combining: [try victim.store, try attacker.store])
        let appended = attacker.chain + victim.chain + [victim.root]
        try await LoopbackServer(chain: appended).run { server in
            for pinned in [victim.leaf, victim.intermediate, victim.root] {
                let session = try attacker.session(server, policy: .pinning(pinned.key.pin, role: role)) {
                    $0.trustStore = both
                }
                #expect(try await session.failure().code == .serverCertificateUntrusted)
            }
            await expectNoRequest(server, connections: 3)
        }
    }

    @Test("PE7: A matching pin doesn't make an untrusted chain trusted")
    func untrustedButPinned() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin)) {
                $0.trustStore = TrustStore(certificates: [])
            }
            let error = try await session.failure()
            #expect(error.code == .serverCertificateHasUnknownRoot)
            guard case .untrusted(let finding) = error.pinningError else { throw error }
            #expect(finding.rule == .unknownIssuer)
            await expectNoRequest(server)
        }
    }

    struct UntrustedRow: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let adjust: @Sendable (inout TestCertificate.Settings) -> Void
        let code: URLError.Code
        let text: String
    }

    static let untrustedRows = [
        UntrustedRow(
            testDescription: "expired", adjust: { $0.notAfter = $0.notBefore + 1 },
            code: .serverCertificateHasBadDate, text: "certificate has expired"),
        UntrustedRow(
            testDescription: "not yet valid", adjust: { $0.notBefore = $0.notAfter - 1 },
            code: .serverCertificateNotYetValid, text: "certificate is not yet valid"),
        UntrustedRow(
            testDescription: "another name", adjust: { $0.alternativeNames = [.dns("other.test")] },
            code: .serverCertificateUntrusted,
            text: "hostname mismatch (certificate is valid for other.test, not pinned.test)"),
        UntrustedRow(
            testDescription: "not for servers",
            adjust: { $0.extendedKeyUsages = [TestCertificate.ExtendedKeyUsage.clientAuth] },
            code: .serverCertificateUntrusted, text: "reissue"),
    ]

    @Test("An untrusted chain gives the matching URLError, with the reason", arguments: untrustedRows)
    func untrusted(row: UntrustedRow) async throws {
        let site = try TestSite.pinned()
        let leaf = try site.intermediate.server([.dns("pinned.test")], row.adjust)
        try await LoopbackServer(chain: [leaf, site.intermediate]).run { server in
            let error = try await site.session(server).failure()
            #expect(error.code == row.code)
            #expect(error.localizedDescription.contains(row.text))
            await expectNoRequest(server)
        }
    }

    @Test("Report mode allows a mismatch but not an untrusted chain, and off mode ignores pins")
    func modes() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            for mode in [PinningMode.report, .off] {
                let policy = try PinningPolicy.pinning(unknownPin, mode: mode)
                #expect(try await site.session(server, policy: policy).get().body == "hello")
                let untrusting = try site.session(server, policy: policy) {
                    $0.trustStore = TrustStore(certificates: [])
                }
                #expect(try await untrusting.failure().code == .serverCertificateHasUnknownRoot)
            }
            #expect(await server.ended(4).map(\.applicationBytes.isEmpty) == [false, true, false, true])
        }
    }

    @Test("A host that the policy doesn't list is verified, or rejected if the policy says so")
    func unlisted() async throws {
        let site = try TestSite.pinned([.dns("other.test")])
        try await LoopbackServer(chain: site.chain).run { server in
            let trusting = try site.session(server, policy: .pinning(unknownPin, unlisted: .trust))
            #expect(try await trusting.get("https://other.test/").body == "hello")
            let refusing = try site.session(server, policy: .pinning(unknownPin, unlisted: .refuse))
            let error = try await refusing.failure("https://other.test/")
            #expect(error.code == .serverCertificateUntrusted)
            guard case .unlisted? = error.pinningError else {
                Issue.record("no decision: \(error.userInfo)")
                return
            }
            await trusting.flush()
            #expect(await server.ended(2)[1].applicationBytes.isEmpty)
        }
    }

    @Test("A rule's own anchors are used for its host, by the session and in the challenge")
    func ruleAnchors() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let anchors = try site.store
            let policy = try PinningPolicy.pinning(site.leaf.key.pin, anchors: anchors)
            let seen = Collected<TrustStore?>()
            let delegate = SessionHandlerDelegate { challenge in
                seen.append(challenge.protectionSpace.serverTrust?.store)
                return (.performDefaultHandling, nil)
            }
            let session = try site.session(server, policy: policy, delegate: delegate) {
                $0.trustStore = TrustStore(certificates: [])
            }
            #expect(try await session.get().body == "hello")
            #expect(seen.values.map { $0 === anchors } == [true])
        }
    }

    @Test("PE16: A pin for one port applies to that port, and plain http is rejected without a connection")
    func portsAndSchemes() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, policy: .pinning(unknownPin, ports: [8443]))
            #expect(try await session.failure("https://pinned.test:8443/").code == .serverCertificateUntrusted)
            #expect(try await session.get("https://pinned.test/").body == "hello")
            #expect(
                try await session.failure("http://pinned.test/").code == .appTransportSecurityRequiresSecureConnection)
            await session.flush()
            #expect(await server.ended(2).map(\.applicationBytes.isEmpty) == [true, false])
        }
    }

    @Test(
        "Plain http, also with a login, is sent only to hosts without an enforced rule",
        arguments: [
            (PinningMode.enforce, UnlistedHosts.trust, "pinned.test", false), (.report, .trust, "pinned.test", true),
            (.off, .trust, "pinned.test", true), (.enforce, .trust, "other.test", true),
            (.enforce, .refuse, "other.test", false),
        ])
    func cleartext(mode: PinningMode, unlisted: UnlistedHosts, host: String, isSent: Bool) async throws {
        let site = try TestSite.pinned()
        let script = LoopbackServer.Script.answer { request in
            request.values(of: "Authorization") == ["Basic bWU6c2VjcmV0"]
                ? .init(body: "hello") : .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""])
        }
        try await LoopbackServer(plain: script).run { server in
            let session = try site.session(server, policy: .pinning(unknownPin, mode: mode, unlisted: unlisted))
            let url = "http://me:secret@\(host)/"
            if isSent {
                #expect(try await session.get(url).body == "hello")
            } else {
                #expect(try await session.failure(url).code == .appTransportSecurityRequiresSecureConnection)
                #expect(server.records.isEmpty)
            }
        }
    }

    @Test("PE20: Concurrent sessions with different policies for one host each follow their own")
    func parallelPolicies() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let right = try site.session(server, policy: .pinning(site.leaf.key.pin))
            let wrong = try site.session(server, policy: .pinning(unknownPin))
            let url = try #require(URL(string: "https://pinned.test/"))
            let verdicts = await withTaskGroup(of: Bool.self) { group in
                for index in 0..<200 {
                    group.addTask {
                        let served = (try? await (index % 2 == 0 ? right : wrong).data(from: url)) != nil
                        return served == (index % 2 == 0)
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(verdicts.count == 200)
            #expect(!verdicts.contains(false))
            await right.flush()
            let records = await server.ended(server.records.count)
            #expect(records.reduce(0) { $0 + $1.requests.count } == 100)
            #expect(records.count { $0.applicationBytes.isEmpty && !$0.alerts.isEmpty } >= 100)
        }
    }

    @Test("A session keeps the configuration it was created with")
    func configurationCopy() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let configuration = try site.session(server, policy: .pinning(unknownPin)).configuration
            let session = URLSession(configuration: configuration)
            configuration.pinning = nil
            session.configuration.pinning = nil
            #expect(try await session.failure().code == .serverCertificateUntrusted)
            #expect(try await URLSession(configuration: configuration).get().body == "hello")
        }
    }

    @Test("Fields that the client writes itself are ignored, and a Host of another server is an error (HM16)")
    func reservedFields() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain, .respond(.init(body: "ok"))).run { server in
            let session = try site.session(server)
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            request.httpMethod = "POST"
            request.httpBody = Data("hello".utf8)
            for (name, value) in [
                ("Content-Length", "99"), ("Connection", "close, X"), ("Transfer-Encoding", "chunked"),
                ("Expect", "100-continue"), ("Upgrade", "h2c"), ("Host", "PINNED.test:443"),
            ] {
                request.setValue(value, forHTTPHeaderField: name)
            }
            let (body, _) = try await session.data(for: request)
            #expect(String(decoding: body, as: UTF8.self) == "ok")
            let sent = try #require(server.records.first?.requests.first)
            #expect(sent.values(of: "Host") == ["pinned.test"])
            #expect(sent.values(of: "Content-Length") == ["5"])
            #expect(sent.values(of: "Content-Type") == ["application/x-www-form-urlencoded"])
            for name in ["Connection", "Transfer-Encoding", "Expect", "Upgrade"] {
                #expect(sent.values(of: name) == [], "\(name)")
            }
            request.setValue("other.test", forHTTPHeaderField: "Host")
            let failing = request
            let error = await #expect(throws: URLError.self) { try await session.data(for: failing) }
            #expect(error?.code == .badURL)
            #expect(error?.localizedDescription.contains("other.test") == true)
            #expect(server.records.flatMap(\.requests).count == 1)
        }
    }

    @Test("HEAD has fields and no body, and a redirect that the delegate stops is the response")
    func headAndRedirect() async throws {
        let site = try TestSite.pinned()
        let response = LoopbackServer.Response.raw(
            Array("HTTP/1.1 302 There\r\nLocation: https://evil.test/\r\nContent-Length: 9\r\n\r\n".utf8))
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            request.httpMethod = "HEAD"
            let (body, answer) = try await site.session(server).data(for: request, delegate: StayingDelegate())
            let head = try #require(answer as? HTTPURLResponse)
            #expect(body.isEmpty)
            #expect(head.statusCode == 302)
            #expect(head.expectedContentLength == 9)
            #expect(head.value(forHTTPHeaderField: "Location") == "https://evil.test/")
        }
    }

    /// Checks the server's log of rejected connections: no application byte, and an alert.
    private func expectNoRequest(
        _ server: LoopbackServer, connections: Int = 1, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let records = await server.ended(connections)
        #expect(records.count == connections, sourceLocation: sourceLocation)
        #expect(records.allSatisfy { $0.applicationBytes.isEmpty }, sourceLocation: sourceLocation)
        #expect(records.allSatisfy { !$0.alerts.isEmpty }, sourceLocation: sourceLocation)
    }
}
