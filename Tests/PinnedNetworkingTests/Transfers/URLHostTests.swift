import PinctlTestPKI
import PinnedNetworking
import Testing

/// A URL, and its one host, or the error that rejects it.
private struct HostRow: CustomTestStringConvertible, Sendable {
    let url: String
    let expected: Result<String, URLError>

    var testDescription: String { url.debugDescription }

    init(_ url: String, is host: String) {
        self.url = url
        expected = .success(host)
    }

    init(_ url: String, _ code: URLError.Code) {
        self.url = url
        expected = .failure(URLError(code))
    }
}

private let hostRows = [
    HostRow("https://good.test/", is: "good.test"),
    HostRow("HTTPS://GOOD.test./", is: "good.test"),
    HostRow("https://good\u{AD}.test/", is: "good.test"),
    HostRow("https://ｇood.test/", is: "good.test"),
    HostRow("https://\u{212A}.test/", is: "k.test"),
    HostRow("https://b\u{FC}cher.test/", is: "xn--bcher-kva.test"),
    HostRow("https://a%2etest/", is: "a.test"),
    HostRow("https://good.test\\@evil.test/", .badURL),
    HostRow("https://good.test:443@evil.test/", is: "evil.test"),
    HostRow("https://127.0.0.1/", is: "127.0.0.1"),
    HostRow("https://[::1]/", is: "[::1]"),
    HostRow("https://[0:0::0:1]/", is: "[::1]"),
    HostRow("https://good.test%00.evil.test/", .badURL),
    HostRow("https://good.test%00/", .badURL),
    HostRow("https://a%2Ftest/", .badURL),
    HostRow("https://a%40test/", .badURL),
    HostRow("https://good.test%0d%0aX:y/", .badURL),
    HostRow("https://*.test/", .badURL),
    HostRow("https://good..test/", .badURL),
    HostRow("https://.test/", .badURL),
    HostRow("https://127.1/", .badURL),
    HostRow("https://0x7f.0.0.1/", .badURL),
    HostRow("https://2130706433/", .badURL),
    HostRow("https://0177.0.0.1/", .badURL),
    HostRow("https://[fe80::1%25lo]/", .badURL),
    HostRow("https://good.test:0/", .badURL),
    HostRow("https://good.test:65536/", .badURL),
    HostRow("https:///path", .badURL),
    HostRow("https:good.test", .badURL),
    HostRow("good.test", .unsupportedURL),
    HostRow("gopher://good.test/", .unsupportedURL),
    HostRow("file:///etc/passwd", .unsupportedURL),
]

@Suite(.timeLimit(.minutes(10)))
struct URLHostTests {
    @Test(
        "HM7: SNI, the verified hostname and the Host field are the same, or there is no connection",
        arguments: hostRows)
    private func oneName(row: HostRow) async throws {
        let names = ["good.test", "k.test", "a.test", "xn--bcher-kva.test", "evil.test"]
        let addresses: [[UInt8]] = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
        let site = try TestSite.pinned(names.map { .dns($0) } + addresses.map { .ip($0) })
        let verified = Collected<String>()
        let delegate = SessionHandlerDelegate {
            verified.append($0.protectionSpace.serverTrust?.name.description ?? "none")
            return (.performDefaultHandling, nil)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, delegate: delegate)
            switch row.expected {
            case .success(let host):
                #expect(try await session.get(row.url).body == "hello")
                await session.flush()
                let record = try #require(await server.ended().first)
                let isAddress = host.contains("127.0.0.1") || host.contains(":")
                // HM15: no SNI for addresses (RFC 6066, section 3).
                #expect(record.serverName == (isAddress ? nil : host))
                #expect(record.requests.first?.values(of: "Host") == [host])
                #expect(verified.values == [host.trimmingCharacters(in: ["[", "]"])])
            case .failure(let expected):
                // Foundation may already reject it as a URL.
                guard let url = URL(string: row.url) else { return }
                let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
                #expect(error?.code == expected.code)
                #expect(error?.localizedDescription.unicodeScalars.allSatisfy { $0.value >= 0x20 } == true)
                #expect(server.records.isEmpty)
            }
        }
    }

    @Test("HM16: A Host field set by the caller is rejected, and so are line breaks in a field (HA16)")
    func headerInjection() async throws {
        let session = URLSession(configuration: .ephemeral)
        let url = try #require(URL(string: "https://good.test/"))
        for (name, value) in [
            ("Host", "evil.test"), ("X", "a\r\nHost: evil.test"), ("X\r\nHost", "a"), ("X", "a\0b"),
        ] {
            var request = URLRequest(url: url)
            request.setValue(value, forHTTPHeaderField: name)
            let sent = request
            let error = await #expect(throws: URLError.self) { try await session.data(for: sent) }
            #expect(error?.code == .badURL)
        }
        for method in ["GET /\r\n", "GE T", "", "G\0T", "CONNECT"] {
            var request = URLRequest(url: url)
            request.httpMethod = method
            let sent = request
            let error = await #expect(throws: URLError.self) { try await session.data(for: sent) }
            #expect(error?.code == .badURL)
        }
    }
}
