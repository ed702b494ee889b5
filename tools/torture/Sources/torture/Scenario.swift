import PinctlTestPKI

/// A run of a program that must end in one way when nothing fails.
struct Scenario: Sendable {
    let name: String
    let program: Program
    /// `PORT` stands for the server's port.
    let arguments: [String]
    /// The exit status when nothing fails.
    var status: Int32 = 0
    /// The files that the program writes, and their contents before, if they exist.
    var outputs: [String: String?] = [:]
    var server: Server?
    /// The requests that the server must never receive.
    var forbidden = Forbidden.nothing

    enum Program: String, Sendable {
        case pinctl, client
    }

    /// A server on loopback, started for each run.
    struct Server: Sendable {
        var site = KeyPath.trusted
        var script: LoopbackServer.Script
        var requestsCertificate = false

        enum KeyPath: Sendable {
            case trusted, unknown
        }
    }

    enum Forbidden: Sendable {
        case nothing
        /// Not one byte within TLS.
        case everything
        /// The request for `/second`.
        case second
    }
}

extension Scenario {
    static let all = commands + connections + client

    /// Commands that read and write files.
    private static let commands: [Scenario] = [
        .init(name: "hash", program: .pinctl, arguments: ["hash", "chain.pem", "server.key", "identity.pem"]),
        .init(name: "show", program: .pinctl, arguments: ["show", "chain.pem", "--ca-file", "root.pem"]),
        .init(name: "lint", program: .pinctl, arguments: ["lint", "pins.jsonc"]),
        .init(name: "export", program: .pinctl, arguments: ["export", "--to", "okhttp", "--lossy", "pins.jsonc"]),
        .init(
            name: "export-new", program: .pinctl,
            arguments: ["export", "--to", "android", "--lossy", "pins.jsonc", "-o", "new.xml"],
            outputs: ["new.xml": nil]),
        .init(
            name: "export-into", program: .pinctl,
            arguments: ["export", "--to", "apple", "pins.jsonc", "--into", "Info.plist"],
            outputs: ["Info.plist": World.propertyList]),
        .init(
            name: "export-check", program: .pinctl,
            arguments: ["export", "--to", "apple", "pins.jsonc", "--check", "--into", "Info.plist"], status: 1),
        .init(
            name: "import", program: .pinctl,
            arguments: ["import", "curl.txt", "--from", "curl", "--host", "api.test"]),
        .init(
            name: "import-new", program: .pinctl,
            arguments: ["import", "nsc.xml", "--lossy", "-o", "new.jsonc"], outputs: ["new.jsonc": nil]),
        .init(
            name: "plan", program: .pinctl,
            arguments: ["plan", "--new", "chain.pem", "--ca-file", "root.pem", "--against", "pins.jsonc"]),
        .init(
            name: "plan-breaks", program: .pinctl,
            arguments: ["plan", "--new", "chain.pem", "--ca-file", "root.pem", "--against", "other.jsonc"], status: 1),
        .init(
            name: "verify", program: .pinctl,
            arguments: [
                "verify", "chain.pem", "--host", "localhost", "--ca-file", "root.pem", "--policy", "pins.jsonc",
            ]),
        .init(
            name: "verify-name", program: .pinctl,
            arguments: ["verify", "chain.pem", "--host", "www.test", "--ca-file", "root.pem"], status: 4),
        .init(
            name: "verify-issuer", program: .pinctl,
            arguments: ["verify", "unknown.pem", "--host", "localhost", "--ca-file", "root.pem"], status: 4),
        .init(
            name: "verify-signature", program: .pinctl,
            arguments: ["verify", "forged.pem", "--host", "localhost", "--ca-file", "root.pem"], status: 4),
        .init(
            name: "verify-revoked", program: .pinctl,
            arguments: [
                "verify", "chain.pem", "--host", "localhost", "--ca-file", "root.pem", "--crl", "revoked.pem",
            ], status: 4),
        .init(
            name: "verify-pin", program: .pinctl,
            arguments: [
                "verify", "chain.pem", "--host", "localhost", "--ca-file", "root.pem", "--policy", "other.jsonc",
            ], status: 1),
        .init(
            name: "check-files", program: .pinctl,
            arguments: ["check", "--files", "--ca-file", "root.pem", "--policy", "pins.jsonc", "chain.pem"]),
    ]

    private static let hello = LoopbackServer.Script.respond(.init(body: "hello"))
    private static let closing = LoopbackServer.Script.respond(.init(body: "hello", closes: true))
    private static let check = ["check", "--first", "--ca-file", "root.pem", "--timeout", "3", "--policy"]

    /// Commands that connect to a server.
    private static let connections: [Scenario] = [
        .init(
            name: "check", program: .pinctl, arguments: check + ["pins.jsonc", "localhost:PORT"],
            server: Server(script: hello), forbidden: .everything),
        .init(
            name: "check-pin", program: .pinctl, arguments: check + ["other.jsonc", "localhost:PORT"], status: 1,
            server: Server(script: hello), forbidden: .everything),
        .init(
            name: "check-chain", program: .pinctl, arguments: check + ["pins.jsonc", "localhost:PORT"], status: 4,
            server: Server(site: .unknown, script: hello), forbidden: .everything),
        .init(
            name: "check-report", program: .pinctl,
            arguments: check + ["pins.jsonc", "--report", "sarif=report.sarif", "localhost:PORT@127.0.0.1"],
            outputs: ["report.sarif": "old"], server: Server(script: hello), forbidden: .everything),
        .init(
            name: "init", program: .pinctl,
            arguments: ["init", "--ca-file", "root.pem", "--timeout", "3", "-o", "new.jsonc", "localhost:PORT"],
            outputs: ["new.jsonc": nil], server: Server(script: hello), forbidden: .everything),
    ]

    /// Requests of the client.
    private static let client: [Scenario] = [
        request("get", hello),
        request("get-pin", action: "get-other", status: 4, hello, forbidden: .everything),
        request("get-chain", action: "get", status: 4, site: .unknown, hello, forbidden: .everything),
        request("reuse", action: "twice", hello), request("resumption", action: "twice", closing),
        request("replaced", status: 4, hello, forbidden: .second),
        request("replaced-resumption", action: "replaced", status: 4, closing, forbidden: .second),
        request("download", hello, outputs: ["downloaded": nil]), request("upload", hello),
        request("web-socket", WebSocketEcho.script),
        request("login", LoginServer.script, outputs: ["logins/credentials": nil]),
        request(
            "cookies", .respond(.init(fields: ["Set-Cookie: name=value; Max-Age=1000000"], body: "hello")),
            outputs: ["cookies/cookies": nil]),
        request("identity", hello, requestsCertificate: true),
    ]

    private static func request(
        _ name: String, action: String? = nil, status: Int32 = 0, site: Server.KeyPath = .trusted,
        _ script: LoopbackServer.Script, requestsCertificate: Bool = false, outputs: [String: String?] = [:],
        forbidden: Forbidden = .nothing
    ) -> Scenario {
        .init(
            name: name, program: .client, arguments: [action ?? name, "PORT"], status: status, outputs: outputs,
            server: Server(site: site, script: script, requestsCertificate: requestsCertificate), forbidden: forbidden)
    }
}
