import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// One of curl's tests of SOCKS: the bytes sent to the proxy, its replies, and the result.
private struct FlowRow: CustomTestStringConvertible, Sendable {
    enum Proxy: Sendable {
        /// Connects to the server, with this login if any.
        case relays(user: String? = nil, password: String = "")
        /// Sends these replies in order.
        case replies([[UInt8]])
        /// No proxy is listening.
        case dead
    }

    /// The number in curl's `tests/data`.
    let number: Int
    var version = 5
    var url = "http://127.0.0.1/"
    var user: String?
    var password = ""
    var proxy = Proxy.relays()
    /// The bytes that the proxy gets before the request; nil if there is no proxy.
    var asked: [UInt8]?
    /// Nil if the page is delivered.
    var error: URLError.Code?
    /// curl's different behavior, and the reason for the difference.
    var deviation: String?

    var testDescription: String { "curl's test \(number)" }
}

private let noLogin: [UInt8] = [5, 1, 0]
private let connect: [UInt8] = [5, 1, 0]
private let loopback: [UInt8] = [1, 127, 0, 0, 1]
private let http: [UInt8] = [0, 80]

private let rows = [
    FlowRow(
        number: 700, version: 4, asked: [4, 1, 0, 80, 127, 0, 0, 1, 0],
        deviation: "SOCKS 4; spoken here is 4a, which is the same for an address and leaves names to the proxy"),
    FlowRow(number: 701, asked: noLogin + connect + loopback + http),
    FlowRow(
        number: 702, version: 4, proxy: .replies([[0, 91, 0, 0, 0, 0, 0, 0]]), asked: [4, 1, 0, 80, 127, 0, 0, 1, 0],
        error: .cannotConnectToHost),
    FlowRow(
        number: 703, proxy: .replies([[5, 0], [5, 1, 0, 1, 0, 0, 0, 0, 0, 0]]),
        asked: noLogin + connect + loopback + http, error: .cannotConnectToHost),
    FlowRow(number: 704, version: 4, proxy: .dead, error: .cannotConnectToHost),
    FlowRow(number: 705, proxy: .dead, error: .cannotConnectToHost),
    FlowRow(
        number: 711, url: "ftp://127.0.0.1/711", asked: [], error: .unsupportedURL,
        deviation: "fetches the file; FTP through SOCKS would need a second way through the proxy, and is not spoken"),
    FlowRow(
        number: 716, user: String(repeating: "A", count: 256), password: "b", proxy: .replies([[5, 2]]), asked: [],
        error: .cannotConnectToHost),
    FlowRow(
        number: 717, url: "http://127.0.0.1:1/", user: "uz3r", password: "p4ssworm",
        proxy: .relays(user: "uz3r", password: "p4ssworm"),
        asked: [5, 2, 0, 2] + [1, 4] + "uz3r".utf8 + [8] + "p4ssworm".utf8 + connect + loopback + [0, 1]),
    FlowRow(
        number: 719, url: "http://[2200::33]/",
        asked: noLogin + connect + [4, 0x22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x33] + http),
    FlowRow(
        number: 720, url: "http://12.34.56.78/", asked: noLogin + connect + [1, 12, 34, 56, 78] + http),
    FlowRow(
        number: 721, url: "http://this.is.a.host.name/",
        asked: noLogin + connect + [3, 19] + "this.is.a.host.name".utf8 + http),
]

/// SOCKS with scripted proxies from curl's tests. Tests about how curl finds the proxy (708, 709, 710, 712) have no
/// rows: here only the configuration names a proxy, and environment variables don't.
@Suite(.timeLimit(.minutes(10)))
struct SOCKSFlowTests {
    private func end(_ row: FlowRow, _ port: UInt16) async throws -> (body: String?, error: URLError.Code?) {
        let host = try ServerName("127.0.0.1")
        var way =
            row.version == 5
            ? ProxyConfiguration(socksv5Proxy: host, port: port) : ProxyConfiguration(socksv4aProxy: host, port: port)
        if let user = row.user { way.applyCredential(username: user, password: row.password) }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.trustStore = try TestSite.shared.get().store
        configuration.timeoutIntervalForRequest = 600
        configuration.proxyConfigurations = [way]
        let url = try #require(URL(string: row.url))
        do {
            let (data, _) = try await URLSession(configuration: configuration).data(from: url)
            return (String(decoding: data, as: UTF8.self), nil)
        } catch let error as URLError {
            return (nil, error.code)
        }
    }

    @Test("A SOCKS proxy gets the expected bytes, and its reply gives the expected result", arguments: rows)
    private func flow(row: FlowRow) async throws {
        try await LoopbackServer(plain: .respond(.init(body: "page"))).run { server in
            let script: LoopbackServer.Script
            switch row.proxy {
            case .relays(let user, let password):
                script = .socks(
                    version: row.version, to: server.port, login: user.map { ($0, password) })
            case .replies(let replies):
                script = .handle { connection in
                    for reply in replies {
                        _ = try connection.read()
                        try connection.write(reply)
                    }
                    _ = try connection.read()
                }
            case .dead:
                #expect(try await end(row, DeadPort(.refusing).port).error == row.error)
                return
            }
            try await LoopbackServer(plain: script).run { proxy in
                let (body, error) = try await end(row, proxy.port)
                #expect(error == row.error)
                #expect(body == (row.error == nil ? "page" : nil))
                #expect(proxy.applicationBytes == row.asked)
            }
        }
    }
}
