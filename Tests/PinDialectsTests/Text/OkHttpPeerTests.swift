import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

/// Debian's OkHttp, called through a small Java program.
private enum OkHttpPeer {
    static let libraries = "/usr/share/java"
    static let isThere =
        FileManager.default.isReadableFile(atPath: "\(libraries)/okhttp.jar")
        && TestCommand.isPresent("javac", "-version")
}

@Suite(
    "OkHttp and this project agree",
    .enabled(if: OkHttpPeer.isThere, "javac or libokhttp-java is not installed: run tools/test --peers"))
struct OkHttpPeerTests {
    private struct Row {
        var pattern = "a.example"
        var pins: [String]
        var host = "a.example"
        var chain: [TestCertificate] = []
    }

    private static let pin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private func answers(_ rows: [Row]) throws -> [String] {
        let program = Repository.root + "/Tests/PinDialectsTests/Peers/PinnerAnswers.java"
        let input = rows.map { row in
            let chain = row.chain.map { Base64.encode($0.derBytes.span) }
            return [row.pattern, row.pins.joined(separator: ","), row.host, chain.joined(separator: ",")]
                .joined(separator: "\t") + "\n"
        }
        let result = try TestCommand.run(
            ["java", "-cp", "\(OkHttpPeer.libraries)/okhttp.jar:\(OkHttpPeer.libraries)/okio.jar", program],
            input: input.joined(),
            environment: ["LC_ALL=C.UTF-8", "JAVA_TOOL_OPTIONS=-Dfile.encoding=UTF-8"])
        try #require(result.status == 0, "\(result.text)")
        let answers = String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
        try #require(answers.count == rows.count)
        return answers
    }

    /// This project's answer for a row: invalid, unpinned, accepted or refused.
    private func ours(_ row: Row) throws -> String {
        let text = ([row.pattern] + row.pins).joined(separator: " ")
        guard let policy = try? OkHttpReader.read(Array(text.utf8), path: "row").policy else { return "invalid" }
        let rules = PinDialect.okhttp.rules(for: row.host, in: policy)
        let path = try row.chain.map { try X509Certificate(derBytes: $0.derBytes) }
        let decision = policy.decide(path, by: rules, under: DecisionCircumstances(at: Date()))
        switch decision.verdict {
        case .unpinned: return "unpinned"
        default: return decision.isAccepted ? "accepted" : "refused"
        }
    }

    @Test("Patterns match the same hosts as in OkHttp")
    func hosts() throws {
        var rows: [Row] = []
        let hosts = [
            "example.com", "www.example.com", "a.b.example.com", "example.com.", "WWW.Example.COM", "notexample.com",
            ".example.com", "..example.com", "a..example.com", "example.com..", "com", "", "xn--khttp-fde.com",
        ]
        // Debian's version doesn't support `**.` yet.
        for pattern in [
            "example.com", "*.example.com", "EXAMPLE.com", "*.Example.Com", "σkhttp.com", "*.com", "127.0.0.1",
        ] {
            rows += hosts.map { Row(pattern: pattern, pins: [Self.pin], host: $0) }
        }
        let peers = PeerCases.all?.host_match.okhttp.cases.elements ?? []
        rows += peers.compactMap { row in
            guard let pattern = row.pattern.string, let host = row.host.string, !pattern.hasPrefix("**.") else {
                return nil
            }
            return Row(pattern: pattern, pins: [Self.pin], host: host)
        }
        for (row, answer) in zip(rows, try answers(rows)) where row.pattern.lowercased() != "*." + row.host {
            #expect(answer.hasPrefix(try ours(row)), "\(row.pattern) \(row.host)")
        }
    }

    @Test("Pins and patterns are valid exactly where OkHttp accepts them")
    func validity() throws {
        let pins = [
            Self.pin, "md5/AAAA", "sha512/AAAA", "sha256/AAAA", "sha256/A", "sha256/AB", "sha256/AAA*", "sha1/AAAA====",
            "SHA256/AAAA", "sha256/", "sha256/-_-_", "AAAA", "sha1/DmxUShsZuNiqPQsX2Oi9uv2sCnw",
        ]
        var rows = pins.map { Row(pins: [$0]) }
        rows += ["a/b", "a?b", "http://a.example", "a#b", "a b", "[::1", "a:x"].map {
            Row(pattern: $0, pins: [Self.pin])
        }
        // Debian's version reads a pattern as part of a URL, and cuts off what isn't the host. This project follows
        // later versions.
        let cutOff: Set<String> = ["a/b", "a?b", "a#b", "http://a.example"]
        for (row, answer) in zip(rows, try answers(rows)) where !cutOff.contains(row.pattern) {
            let (theirs, ours) = (answer == "invalid", try ours(row) == "invalid")
            #expect(theirs == ours, "\(row.pattern) \(row.pins) \(answer)")
        }
    }

    @Test("The same chains are accepted as by OkHttp, and its exception can be read")
    func chains() throws {
        let root = try TestCertificate.root("Root")
        let intermediate = try root.intermediate("Intermediate")
        let leaf = try intermediate.leaf("a.example")
        let chain = [leaf, intermediate, root]
        let keys = try chain.map { try X509Certificate(derBytes: $0.derBytes).spkiFingerprint.description }
        var rows = keys.map { Row(pins: [Self.pin, $0], chain: chain) }
        rows += [Row(pins: [keys[2]], chain: [leaf, intermediate]), Row(pins: [Self.pin, keys[1]], chain: [leaf])]
        for (row, answer) in zip(rows, try answers(rows)) {
            #expect(answer.hasPrefix(try ours(row)))
            guard answer.hasPrefix("refused ") else { continue }
            let message = try #require(Base64.decodeCanonical(Array(answer.utf8.dropFirst("refused ".utf8.count))))
            let failure = try #require(PinningFailureText(String(decoding: message, as: UTF8.self)))
            #expect(failure.host == "a.example")
            #expect(failure.served.map(\.pin.description) == Array(keys.prefix(row.chain.count)))
            #expect(failure.pinned.map(\.description) == row.pins)
            #expect(failure.served.first?.subject.isEmpty == false)
        }
    }
}
