import PinctlCommands
import TestPKI

/// A test authority, a server below it, and the files that name them.
final class Site: Sendable {
    let folder: TestFolder
    let root: TestCertificate
    let intermediate: TestCertificate
    let leaf: TestCertificate
    /// The root as a file for `--ca-file`.
    let anchors: String
    /// Leaf and intermediate.
    let chain: String

    init() throws {
        folder = try TestFolder()
        root = try TestCertificate.root("Test Root")
        intermediate = try root.intermediate("Test Intermediate")
        leaf = try intermediate.leaf("api.test")
        anchors = try folder.add(root.pemText, name: "root.pem")
        chain = try folder.add(leaf.pemText + intermediate.pemText, name: "chain.pem")
    }

    /// A policy file with one rule for `api.test`, on lines 3 and following.
    func policy(_ pins: String, rule: String = "", host: String = "api.test") throws -> String {
        try folder.add(
            """
            { "version": 1, "domains": [
            // the one host
            { "host": "\(host)",\(rule)
              "pins": [\(pins)] },
            ] }
            """)
    }

    /// Runs `body` beside a server with this chain, or another one.
    func serve(
        _ chain: [TestCertificate]? = nil, script: LoopbackServer.Script = .respond(.init(body: "hello")),
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer(chain: chain ?? [leaf, intermediate], script).run(body)
    }
}

extension LoopbackServer {
    /// The target that reaches this server under a name.
    func target(_ name: String = "api.test") -> String { "\(name):\(port)@\(address)" }
}

/// A pin that nothing has.
let strangePin = "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
