import CertificateTrust
import PinctlTestPKI
import Testing

@testable import PinctlTLSTransport

@Suite("The exceptions of no_proxy")
struct ProxyEnvironmentTests {
    struct Row: Sendable, CustomTestStringConvertible {
        /// The value of `no_proxy`, in which `PORT` means the server's port.
        let list: String
        let host: String
        let isDirect: Bool
        /// Whether curl ignores the entry.
        var isOwn = false
        var testDescription: String { "\"\(list)\" for \(host)" }
    }

    static let rows: [Row] = [
        Row(list: "api.test", host: "api.test", isDirect: true),
        Row(list: "API.Test", host: "api.test", isDirect: true),
        Row(list: "test", host: "api.test", isDirect: true), Row(list: ".test", host: "api.test", isDirect: true),
        Row(list: ".api.test", host: "api.test", isDirect: true), Row(list: "test.", host: "api.test", isDirect: true),
        Row(list: "pi.test", host: "api.test", isDirect: false), Row(list: "", host: "api.test", isDirect: false),
        Row(list: ",", host: "api.test", isDirect: false), Row(list: "*", host: "api.test", isDirect: true),
        Row(list: "a.example, .test", host: "api.test", isDirect: true),
        Row(list: "a.example,,\ttest", host: "api.test", isDirect: true),
        Row(list: "127.0.0.1", host: "127.0.0.1", isDirect: true),
        Row(list: "127.0.0.0/8", host: "127.0.0.1", isDirect: true),
        Row(list: "126.0.0.0/8", host: "127.0.0.1", isDirect: false),
        Row(list: "127.0.0.1/32", host: "127.0.0.1", isDirect: true),
        Row(list: "127.0.0.2", host: "127.0.0.1", isDirect: false),
        Row(list: "fd00::/8,::1", host: "[::1]", isDirect: true),
        Row(list: "fd00::/8", host: "[::1]", isDirect: false), Row(list: "::1", host: "127.0.0.1", isDirect: false),
        Row(list: "api.test:PORT", host: "api.test", isDirect: true, isOwn: true),
        Row(list: ".test:PORT", host: "api.test", isDirect: true, isOwn: true),
        Row(list: "127.0.0.1:PORT", host: "127.0.0.1", isDirect: true, isOwn: true),
        Row(list: "[::1]:PORT", host: "[::1]", isDirect: true, isOwn: true),
        Row(list: "api.test:1, 127.0.0.1:1", host: "api.test", isDirect: false),
        Row(list: "127.0.0.1:1", host: "127.0.0.1", isDirect: false),
        Row(list: "[::1]", host: "[::1]", isDirect: true, isOwn: true),
        Row(list: "0:0:0:0:0:0:0:1", host: "[::1]", isDirect: true, isOwn: true),
        Row(list: "*.test", host: "api.test", isDirect: true, isOwn: true),
        Row(list: "0.0.0.0/0", host: "127.0.0.1", isDirect: true, isOwn: true),
        Row(list: " * ", host: "api.test", isDirect: true, isOwn: true),
    ]

    @Test("A host is reached directly if an entry contains it, and a port limits the entry", arguments: rows)
    func entries(row: Row) throws {
        let variables = ["https_proxy": "p.test:3128", "no_proxy": row.list.replacing("PORT", with: "8443")]
        let server = Endpoint(name: try ServerName(row.host), port: 8_443)
        let proxy = try ProxyEnvironment(variables, onlyForTLS: true).proxy(forTLSTo: server)
        #expect((proxy == nil) == row.isDirect)
    }

    @Test(
        "curl decides alike about every entry that it doesn't ignore",
        .enabled(if: TestCommand.isPresent("curl", "--version"), "curl is not installed"), arguments: rows)
    func curl(row: Row) throws {
        let (proxy, server) = (try DeadPort(.refusing), try DeadPort(.refusing))
        let run = try TestCommand.run(
            [
                "curl", "--silent", "--show-error", "--disable", "--resolve", "api.test:\(server.port):127.0.0.1",
                "https://\(row.host):\(server.port)/",
            ],
            environment: [
                "https_proxy=http://127.0.0.1:\(proxy.port)",
                "no_proxy=\(row.list.replacing("PORT", with: "\(server.port)"))",
            ])
        let isDirect = run.text.contains("port \(server.port)")
        #expect(isDirect != run.text.contains("port \(proxy.port)"), "\(run.text)")
        #expect(isDirect == (row.isDirect && !row.isOwn), "\(run.text)")
    }
}
