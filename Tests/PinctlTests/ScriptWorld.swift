import FoundationEssentials
import PinctlCommands
import PinctlTLSTransport
import PinctlTestPKI

/// The environment of a script: minted certificates as files, servers on loopback, and variables for values that differ
/// between two runs.
final class ScriptWorld {
    private let site: PinctlSite
    private let certificates: [String: TestCertificate]
    private(set) var variables: [String: String] = [:]

    init() throws {
        site = try PinctlSite()
        let other = try site.intermediate.leaf("api.test")
        let otherRoot = try TestCertificate.root("Other Root")
        certificates = [
            "root": site.root, "intermediate": site.intermediate, "leaf": site.leaf, "other": other,
            "unrelated": try otherRoot.leaf("api.test"),
        ]
        let backup = try TestKey()
        for (name, certificate) in certificates {
            variables["\(name).pin"] = try certificate.key.pin
            variables["\(name).base64"] = String(try certificate.key.pin.dropFirst("sha256/".count))
            if name != "root" { _ = try site.directory.add(certificate.pemText, name: "\(name).pem") }
        }
        _ = try site.directory.add(otherRoot.pemText, name: "other-root.pem")
        variables["other-root.pin"] = try otherRoot.key.pin
        _ = try site.directory.add(site.leaf.derBytes, name: "leaf.der")
        _ = try site.directory.add(backup.publicKeyPEM, name: "backup.pub")
        _ = try site.directory.add(backup.privateKeyPEM, name: "backup.key")
        _ = try site.directory.add(
            TestSigningRequest("api.test", key: backup).pemText, name: "backup.csr")
        _ = try site.directory.add("", name: "empty")
        _ = try site.directory.add(
            site.leaf.pemText + site.leaf.pemText.replacing("MII", with: "!II"), name: "broken.pem")
        variables["backup.pin"] = try backup.pin
        let second = try TestKey(.ed25519)
        _ = try site.directory.add(second.privateKeyPEM, name: "second.key")
        for (name, key) in [("backup", backup), ("second", second), ("third", try TestKey())] {
            variables["\(name).pin"] = try key.pin
            variables["\(name).spki"] = Data(try key.publicKeyDER).base64EncodedString()
        }
        variables["unknown.pin"] = unknownPin
        // The servers are from the same OpenSSL, so they agree on the group that the client prefers.
        variables["group"] = try Transport.shared.keyExchangeGroups().first
        variables["directory"] = site.directory.path
        let closed = try LoopbackServer(chain: [site.leaf])
        closed.stop()
        add(closed, as: "closed")
    }

    private func add(_ server: LoopbackServer, as name: String) {
        variables[name] = server.target()
        variables["\(name).www"] = server.target("www.test")
        variables["\(name).address"] = "\(server.address):\(server.port)"
        variables["\(name).port"] = "\(server.port)"
    }

    /// Runs `body` with the servers that a script asks for. The chain `stall` is that of a server that sends nothing.
    func serving(_ servers: ArraySlice<(name: String, chain: [String])>, _ body: () async throws -> Void) async throws {
        guard let first = servers.first else { return try await body() }
        let isMute = first.chain == ["stall"]
        let chain = try (isMute ? ["leaf"] : first.chain).map { name in
            guard let certificate = certificates[name] else { throw ScriptError("no certificate is called \(name)") }
            return certificate
        }
        try await site.serve(chain, script: isMute ? .stall : .respond(.init(body: "hello"))) { server in
            add(server, as: first.name)
            try await serving(servers.dropFirst(), body)
        }
    }

    func write(_ lines: [String], to name: String) throws {
        _ = try site.directory.add(try lines.map { try expanded($0) + "\n" }.joined(), name: name)
    }

    /// A text with each variable replaced by its value.
    func expanded(_ text: String) throws -> String {
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "${") {
            result += rest[..<start.lowerBound]
            rest = rest[start.upperBound...]
            guard let end = rest.firstIndex(of: "}"), let value = variables[String(rest[..<end])] else {
                throw ScriptError("no such variable: \(text)")
            }
            result += value
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    /// A text with each value replaced by its variable, the longest first.
    func generalized(_ text: String) -> String {
        variables.sorted { ($0.value.count, $1.key) > ($1.value.count, $0.key) }
            .reduce(text) { $0.replacing($1.value, with: "${\($1.key)}") }
    }

    /// Runs a command line: words, some in single quotes, and a file for standard input after `<`. A flag such as
    /// `--json` can be added after the command's name.
    func run(_ command: String, with flag: String? = nil) async throws -> Run {
        var words = try Self.words(try expanded(command))
        var input: String?
        if let sign = words.firstIndex(of: "<"), sign + 2 == words.count {
            input = words[sign + 1]
            words.removeSubrange(sign...)
        }
        words.removeFirst()
        if let flag { words.insert(flag, at: min(1, words.count)) }
        guard let input else { return await pinctl(words) }
        return try await StandardInput.reading(input) { await pinctl(words) }
    }

    static func words(_ line: String) throws -> [String] {
        var words: [String] = []
        for (index, part) in line.split(separator: "'", omittingEmptySubsequences: false).enumerated() {
            if index % 2 == 1 {
                words.append(String(part))
            } else {
                words += part.split(separator: " ").map(String.init)
            }
        }
        return words
    }
}
