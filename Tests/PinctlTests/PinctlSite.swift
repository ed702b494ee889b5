import PinctlCommands
import PinctlTestPKI

/// A site, for `api.test` unless another host is given, and a directory with its files. The members of ``certificates``
/// are the site's own too.
@dynamicMemberLookup struct PinctlSite: Sendable {
    let directory: TestDirectory
    let certificates: TestSite
    /// The root as a file for `--ca-file`.
    let rootFile: String
    /// Leaf and intermediate in one file.
    let chainFile: String

    init(host: String = "api.test") throws {
        directory = try TestDirectory()
        certificates = try TestSite(host)
        rootFile = try directory.add(certificates.root.pemText, name: "root.pem")
        chainFile = try directory.add(certificates.chain.map(\.pemText).joined(), name: "chain.pem")
    }

    subscript<Value>(dynamicMember member: KeyPath<TestSite, Value>) -> Value { certificates[keyPath: member] }

    /// A policy file with one rule for `api.test`, on lines 3 and following.
    func policy(_ pins: String, rule: String = "", host: String = "api.test") throws -> String {
        try directory.add(
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
        try await LoopbackServer(chain: chain ?? certificates.chain, script).run(body)
    }
}

extension LoopbackServer {
    /// The target that reaches this server under a hostname.
    func target(_ name: String = "api.test") -> String { "\(name):\(port)@\(address)" }
}
