import PinctlCommands
import TestPKI

/// A test CA, certificates below it, and files that contain them.
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

    /// Runs `body` with a server that serves this chain, or the site's own.
    func serve(
        _ chain: [TestCertificate]? = nil, script: LoopbackServer.Script = .respond(.init(body: "hello")),
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer(chain: chain ?? [leaf, intermediate], script).run(body)
    }
}

extension LoopbackServer {
    /// The target that reaches this server under a hostname.
    func target(_ name: String = "api.test") -> String { "\(name):\(port)@\(address)" }
}

/// A pin that no key has.
let strangePin = "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
