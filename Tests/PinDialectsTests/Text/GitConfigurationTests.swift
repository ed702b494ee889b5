import CertificatePinning
import PinctlBasics
import PinctlFoundation
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("http.pinnedPubkey in git's configuration")
struct GitConfigurationTests {
    private static let keys = (UInt8(1)...4).map { "sha256//" + ReplacingTests.base64($0) }

    /// Returns the text with a pin for `K1` to `K4`.
    private static func text(_ text: String) -> String {
        keys.indices.reduce(text) { $0.replacing("K\($1 + 1)", with: keys[$1]) }
    }

    @Test(
        "The pins for a server are those that git hands to curl",
        arguments: [
            "[http]\n\tpinnedPubkey = K1\n",
            "[http]\n\tpinnedPubkey = \"K1;K2\"\n",
            "[user]\n\tname = A\n[http \"https://git.example.com\"]\n\tpinnedPubkey = \"K1;K2\" ; both\n",
            "[http \"https://git.example.com/\"]\npinnedpubkey=K1\n[http]\npinnedpubkey = K3\n",
            "[HTTP \"https://*.example.com\"]\r\n  PinnedPubKey = \"K1;\\\r\nK2\"\r\n[http]\n  sslVerify = true\n",
            "[http \"https://git.example.com:8443\"]\n\tpinnedPubkey = K2 # the other server\n",
            // One URL in three spellings.
            "[http \"https://git.example.com\"]\n\tpinnedPubkey = K1\n[http \"https://GIT.example.com:443/\"]\n"
                + "\tpinnedPubkey = K2\n[http \"HTTPS://git.example.com/\"]\n\tpinnedPubkey = K3\n",
            "# none\n[http \"https://git.example.com\"]\n\tproxy\n\tpinnedPubkey = K1\n\tpinnedPubkey = K4\n",
            "[remote \"origin\"]\n\turl = https://git.example.com\n\tpinnedPubkey = K1\n[http] pinnedPubkey = K2\n",
        ])
    func asGit(_ text: String) throws {
        let bytes = Array(Self.text(text).utf8)
        #expect(PinDialect.recognized(in: bytes) == .git)
        let policy = try PinDialect.git.read(bytes, path: "config").policy
        let directory = try TestDirectory()
        let file = try directory.add(Self.text(text), name: "config")
        for (host, port) in [
            ("git.example.com", 443), ("git.example.com", 8443), ("example.com", 443), ("b.test", 443),
        ] {
            let url = "https://\(host)\(port == 443 ? "" : ":\(port)")/project.git"
            let git = try TestCommand.run(
                ["git", "config", "--file", file, "--get-urlmatch", "http.pinnedPubkey", url],
                environment: ["LC_ALL=C", "HOME=\(directory.path)"])
            let expected = git.text.split(separator: ";").map { String($0.filter { !$0.isWhitespace }) }
            let rules = PinDialect.git.rules(for: host, port: port, in: policy)
            let found = rules.flatMap(\.pins).map { "sha256//" + Base64.encode($0.value.span) }
            #expect(found == expected, "\(url)")
        }
    }

    @Test(
        "Pins that git ignores, and settings for a part of a server, are errors",
        arguments: [
            ("[http]\n\tpinnedPubkey = K1;K2\n", "config:2:69: error: git takes this semicolon for"),
            ("[http \"https://a.test/group\"]\n\tpinnedPubkey = K1\n", "is a part of a server"),
            ("[http \"https://me@a.test\"]\n\tpinnedPubkey = K1\n", "counts for one user only"),
            ("[http \"http://a.test\"]\n\tpinnedPubkey = K1\n", "isn't the URL of a server with TLS"),
            ("[http \"https://a.test:x\"]\n\tpinnedPubkey = K1\n", "has a malformed port"),
            ("[http \"https://a_.test-\"]\n\tpinnedPubkey = K1\n", "has no valid host"),
            ("[http]\n\tpinnedPubkey = \"K1\n", "config:2:2: error: git can't read its configuration"),
            ("[http]\n\tpinnedPubkey = K1\n[core\n", "config:3:1: error: git can't read its configuration"),
            ("[http]\n\tpinnedPubkey = K1\\q\n", "config:2:2: error: git can't read its configuration"),
            ("[http]\n\tpinnedPubkey = /etc/key.pem\n", "as a file name"),
            ("[http]\n\tpinnedPubkey =\n", "there is no pin"),
            ("[https]\n\tpinnedPubkey = K1\n[http]\n", "no section [http] has pinnedPubkey"),
            ("[http \"https://a.test\" ]\n\tpinnedPubkey = K1\n", "config:1:1: error: git can't read"),
        ])
    func refused(_ text: String, _ message: String) {
        do throws(PolicyFileError) {
            let reading = try PinDialect.git.read(Array(Self.text(text).utf8), path: "config")
            Issue.record("\(reading.policy.rules)")
        } catch {
            #expect(error.problems.contains { $0.description.contains(message) }, "\(error)")
        }
    }

    @Test("Scripts and configurations of others aren't git's, and sections of any case are")
    func notGit() throws {
        for text in [
            "curl --pinnedpubkey \"K1\" https://a.test/ || echo \"[http error]\"\n",
            "curl --pinnedpubkey \"K1\" https://a.test/ || echo \"\n[http-error]\n\"",
        ] {
            let bytes = Array(Self.text(text).utf8)
            #expect(PinDialect.recognized(in: bytes) == .curl)
            let policy = try PinDialect.curl.read(bytes, path: "get.sh").policy
            #expect(policy.rules.map(\.pins.count) == [1])
        }
        for section in ["[Http]", "[hTTP \"https://a.test\"]", "  [http\t\"https://a.test\"]"] {
            let text = Self.text("\(section)\n\tpinnedpubkey = K1\n")
            let policy = try PinDialect.git.read(Array(text.utf8), path: "config").policy
            #expect(policy.rules[0].patterns[0].scope == (section.contains("a.test") ? .exact : .every))
        }
    }

    /// Rules as they are converted to git.
    private static func policy(_ pins: [UInt8]...) -> CanonicalPolicy {
        let patterns: [(HostPattern, Int)] = [
            (HostPattern("git.example.com", .exact), 443), (HostPattern("example.com", .oneLabelBelow), 443),
            (HostPattern("git.example.com", .exact), 8443),
        ]
        return CanonicalPolicy(
            rules: zip(patterns, pins).map { pattern, pins in
                CanonicalRule(
                    patterns: [pattern.0], ports: [pattern.1], pins: pins.map { ReplacingTests.pin($0, .leaf) })
            }, combination: .closest)
    }

    /// Returns what git hands to curl for these URLs.
    private static func values(_ text: [UInt8]) throws -> [String] {
        let directory = try TestDirectory()
        let file = try directory.add(String(decoding: text, as: UTF8.self), name: "config")
        return try ["git.example.com", "other.example.com", "git.example.com:8443", "a.b.example.com"].map { host in
            try TestCommand.run(
                ["git", "config", "--file", file, "--get-urlmatch", "http.pinnedPubkey", "https://\(host)/a.git"],
                environment: ["LC_ALL=C", "HOME=\(directory.path)"]
            ).text.filter { $0 != "\n" }
        }
    }

    @Test("git reads the sections that are written, which keep their pins in quotes")
    func written() throws {
        let text = try PinDialect.git.write(Self.policy([1, 2], [3], [4]))
        #expect(
            String(decoding: text, as: UTF8.self).hasPrefix("[http \"https://git.example.com/\"]\n\tpinnedPubkey = \"s")
        )
        #expect(try Self.values(text) == [Self.keys[0] + ";" + Self.keys[1], Self.keys[2], Self.keys[3], ""])
        #expect(try PinDialect.git.replacing([], path: "config", with: Self.policy([1, 2], [3], [4])) == text)
    }

    @Test("Only the values that differ are replaced, and servers without pins get a section at the end")
    func replaced() throws {
        let old = Self.text(
            "[user]\r\n\tname = A ; me\r\n[http \"https://GIT.example.com:443\"]\n\tsslVerify = true\n"
                + "\tpinnedPubkey = K4 # old\r\n"
                + "[http \"https://*.example.com/\"]\r\n pinnedpubkey=\"K3\" ; kept\r\n[core]\r\n\tx"
        )
        let result = try PinDialect.git.replacing(
            Array(old.utf8), path: "config", with: Self.policy([1, 2], [3], [4]))
        let new = Self.text(
            "[user]\r\n\tname = A ; me\r\n[http \"https://GIT.example.com:443\"]\n\tsslVerify = true\n"
                + "\tpinnedPubkey = \"K1;K2\" # old\r\n"
                + "[http \"https://*.example.com/\"]\r\n pinnedpubkey=\"K3\" ; kept\r\n[core]\r\n\tx"
                + "\r\n[http \"https://git.example.com:8443/\"]\r\n\tpinnedPubkey = \"K4\"\r\n")
        #expect(Array(result) == Array(new.utf8), "\(String(decoding: result, as: UTF8.self))")
        #expect(try Self.values(result) == [Self.keys[0] + ";" + Self.keys[1], Self.keys[2], Self.keys[3], ""])
    }

    @Test(
        "A configuration with pins of other servers, or one that git can't read, isn't changed",
        arguments: [
            (
                "[http \"https://b.test\"]\n\tpinnedPubkey = K1\n",
                "config:2:17: no rule of the policy pins https://b.test"
            ),
            ("[http]\n\tpinnedPubkey = K1\n", "no rule of the policy pins the other servers"),
            ("[http \"https://git.example.com:8443\"]\n\tpinnedPubkey = K1\n", "no rule of the policy pins"),
            ("[core\n", "git can't read its configuration"),
        ])
    func refusedChanges(_ text: String, _ message: String) {
        do throws(DialectWriteError) {
            let result = try PinDialect.git.replacing(
                Array(Self.text(text).utf8), path: "config", with: Self.policy([1, 2]))
            Issue.record("became \(String(decoding: result, as: UTF8.self))")
        } catch {
            #expect(error.description.contains(message), "\(error)")
        }
    }

    @Test("A rule for every port is one for port 443 in git, which has to be accepted")
    func ports() {
        let rule = CanonicalRule(
            patterns: [HostPattern("git.example.com", .exact)], pins: [ReplacingTests.pin(1, .leaf)])
        let (policy, notes) = CanonicalPolicy(rules: [rule], combination: .closest).converted(to: .git, at: .now)
        #expect(policy.rules.map(\.ports) == [[443]])
        #expect(notes.map(\.change) == [.portsLost] && notes.map(\.direction) == [.weaker])
    }

    @Test("A value that a later one replaces is noted")
    func notes() throws {
        let text =
            "[http]\n\tpinnedPubkey = K1\n[http \"https://a.test\"]\n\tpinnedPubkey = K2\n[http]\n\tpinnedPubkey = K3\n"
        let reading = try PinDialect.git.read(Array(Self.text(text).utf8), path: "config")
        #expect(reading.notes.map(\.location?.line) == [2])
        #expect(reading.notes.first?.message.contains("git uses only the last pinnedPubkey") == true)
        #expect(reading.policy.rules.map(\.pins.count) == [1, 1])
    }
}
