import PinctlCommands
import PinctlTestPKI
import Testing

/// The complete text that the on-call engineer reads: verdict, facts, cause and remedy, word for word.
@Suite("The screens of check")
struct ScreenTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    /// A policy whose pins have names, with the rule on line 4.
    private func policy(_ pins: String, _ names: String) throws -> String {
        try site.directory.add(
            """
            { "version": 1,
              "pins": { \(pins) },
              "domains": [
                { "host": "api.test", "pins": [\(names)] } ] }
            """)
    }

    private func screen(
        _ policy: String, by chain: [TestCertificate]? = nil, _ words: [String]? = nil,
        variables: [String: String] = [:], columns: Int? = nil
    ) async throws -> (run: Run, subject: String) {
        var result: (Run, String)?
        try await site.serve(chain) { server in
            let roots = words ?? ["--ca-file", site.rootFile]
            let run = await pinctl(
                ["check", "--color", "never", "--policy", policy] + roots + [server.target()], variables: variables,
                terminal: Terminal(columns: columns))
            result = (run, "api.test:\(server.port) via 127.0.0.1:\(server.port)")
        }
        return try #require(result)
    }

    private static let since = "valid from 2026-01-01 until 2036-01-01 (3329 d)"

    @Test("A replaced CA is shown with its cause and remedy")
    func rotatedAuthority() async throws {
        let (old, backup) = (try TestKey(), try TestKey())
        let policy = try policy(
            """
            "le-ye1": { "pin": "\(old.pin)", "role": "root" },
            "backup-27": { "pin": "\(backup.pin)", "role": "leaf", "backup": true }
            """, "\"le-ye1\", \"backup-27\"")
        let (run, subject) = try await screen(policy)
        let (leaf, intermediate, root) = (try site.leaf.key.pin, try site.intermediate.key.pin, try site.root.key.pin)
        #expect(
            run.lines == [
                "FAIL  \(subject)  pin mismatch: 0 of 2 pins match (policy \(policy):5:5)",
                "  verified path                                                      pinned",
                "  leaf          \(leaf)  \(try old.pin)  root          le-ye1     not served",
                "  intermediate  \(intermediate)  \(try backup.pin)  leaf          backup-27  backup, not served",
                "  root          \(root)",
                "  leaf          CN=api.test, \(Self.since), served",
                "  intermediate  CN=Test Intermediate, \(Self.since), served",
                "  root          CN=Test Root, \(Self.since), store",
                "  cause: the CA changed from le-ye1 to CN=Test Root",
                "  do: \(ifYours), have the certificate issued by a "
                    + "pinned CA or for a backup key, then ship the pin of its new root, \(root)\(ifNotYours)",
                "1 checked: 1 failed",
            ])
        #expect(run.status == 1)
    }

    @Test(
        "On a terminal where they don't fit beside them, the pinned keys are below the served ones",
        arguments: [80, 100, 119, 120, 140])
    func narrow(columns: Int) async throws {
        let (old, backup) = (try TestKey(), try TestKey())
        let policy = try policy(
            """
            "le-ye1": { "pin": "\(old.pin)", "role": "root" },
            "backup-27": { "pin": "\(backup.pin)", "role": "leaf", "backup": true }
            """, "\"le-ye1\", \"backup-27\"")
        let (run, _) = try await screen(policy, columns: columns)
        let start = try #require(run.lines.firstIndex(of: "  verified path:"))
        #expect(
            run.lines[start...].prefix(9) == [
                "  verified path:", "    leaf          \(try site.leaf.key.pin)",
                "    intermediate  \(try site.intermediate.key.pin)", "    root          \(try site.root.key.pin)",
                "  pinned:", "    root          \(try old.pin)", "                  le-ye1, not served",
                "    leaf          \(try backup.pin)", "                  backup-27, backup, not served",
            ])
        // Folding changes only spaces, and no line is too wide but for a word that is.
        let (wide, _) = try await screen(policy)
        func words(_ lines: ArraySlice<String>) -> [Substring] { lines.flatMap { $0.split(separator: " ") } }
        #expect(words(run.lines[(start + 9)...]).starts(with: words(wide.lines[5...].dropLast())))
        #expect(words(run.lines[..<start]).suffix(3).first == "match" && wide.lines[1].hasPrefix("  verified path  "))
        for line in run.lines { #expect(line.count <= columns || !line.dropFirst(6).contains(" "), "\(line)") }
    }

    @Test("On a terminal where they fit, the keys are side by side", arguments: [160, 200])
    func wide(columns: Int) async throws {
        let policy = try policy("\"a\": { \"pin\": \"\(unknownPin)\", \"role\": \"leaf\" }", "\"a\"")
        let (run, _) = try await screen(policy, columns: columns)
        #expect(run.lines.contains { $0.contains("verified path ") && $0.hasSuffix(" pinned") }, "\(run)")
        let leaf = try site.leaf.key.pin
        #expect(run.lines.contains { $0.contains(leaf) && $0.contains(unknownPin) }, "\(run)")
    }

    @Test("A leaf with another key is shown with its cause and remedy")
    func rekeyedLeaf() async throws {
        let old = try TestKey()
        let policy = try policy("\"api-2026\": { \"pin\": \"\(old.pin)\", \"role\": \"leaf\" }", "\"api-2026\"")
        let (run, subject) = try await screen(policy)
        let (leaf, intermediate, root) = (try site.leaf.key.pin, try site.intermediate.key.pin, try site.root.key.pin)
        #expect(
            run.lines == [
                "FAIL  \(subject)  pin mismatch: 0 of 1 pins match (policy \(policy):4:5)",
                "  verified path                                                      pinned",
                "  leaf          \(leaf)  \(try old.pin)  leaf          api-2026  not served",
                "  intermediate  \(intermediate)", "  root          \(root)",
                "  leaf          CN=api.test, \(Self.since), served",
                "  intermediate  CN=Test Intermediate, \(Self.since), served",
                "  root          CN=Test Root, \(Self.since), store",
                "  cause: the server has a new key, in a certificate valid since 2026-01-01",
                "  do: \(ifYours), serve a pinned or backup key again, because released apps keep their pins, "
                    + "and keep that key when you renew\(ifNotYours)",
                "1 checked: 1 failed",
            ])
        #expect(run.status == 1)
    }

    @Test(
        "A TLS-intercepting proxy whose root is installed besides the system roots is shown with its cause and remedy")
    func inspection() async throws {
        let proxy = try TestCertificate.root("Company Inspection")
        let forged = try proxy.leaf("api.test")
        let company = try site.directory.add(proxy.pemText)
        let policy = try policy(
            "\"our-root\": { \"pin\": \"\(site.root.key.pin)\", \"role\": \"root\" }", "\"our-root\"")
        let (run, subject) = try await screen(
            policy, by: [forged], ["--ca-file", company, "--system-roots"], variables: ["SSL_CERT_FILE": site.rootFile])
        let cause =
            "  cause: the chain leads to CN=Company Inspection, which isn't an expected root, but a private CA or a "
            + "TLS-intercepting proxy"
        let remedy =
            "  do: if that CA is yours (compare its certificate with the one that "
            + "its operator gave you), trust its root for this host with --ca-file or \"anchors\", which pinctl init "
            + "--ca-file writes; if not, don't pin its key, because the connection may be intercepted"
        #expect(
            run.lines == [
                "FAIL  \(subject)  pin mismatch: 0 of 1 pins match (policy \(policy):4:5)",
                "  verified path                                                      pinned",
                "  leaf          \(try forged.key.pin)  \(try site.root.key.pin)  root          our-root  not served",
                "  root          \(try proxy.key.pin)", "  leaf          CN=api.test, \(Self.since), served",
                "  root          CN=Company Inspection, \(Self.since), store", cause, remedy,
                "  do: \(ifYours), serve a pinned key again, because released apps keep their pins\(ifNotYours)",
                "1 checked: 1 failed",
            ])
        #expect(run.status == 1)
        // If its root isn't installed, the chain isn't trusted and pins don't matter.
        let (unknown, _) = try await screen(policy, by: [forged])
        #expect(unknown.lines[0].contains("  not trusted ["))
        #expect(
            unknown.lines[1].hasPrefix(
                "  cause: the chain lacks the certificate of CN=Company"))
        #expect(
            unknown.lines[2].hasPrefix(
                "  do: configure the server to send its intermediate certificates, or, if that issuer"))
        #expect(unknown.lines[2].hasSuffix("because the connection may be intercepted"))
        #expect(unknown.lines.count == 4 && unknown.status == 4)
    }

    @Test("A match on the backup alone is shown with a warning")
    func backupOnly() async throws {
        let old = try TestKey()
        let policy = try policy(
            """
            "pay-2026": { "pin": "\(old.pin)", "role": "leaf" },
            "backup-27": { "pin": "\(site.leaf.key.pin)", "role": "leaf", "backup": true }
            """, "\"pay-2026\", \"backup-27\"")
        let (run, subject) = try await screen(policy)
        #expect(
            run.lines == [
                "ok*   \(subject)  matched backup-27 (leaf), a backup only: ship the pin of the next backup key",
                "  warning: only backup pins match (backup-27): create the next backup key now, and ship its pin",
                "1 checked: 1 ok (1 with a warning)",
            ])
        #expect(run.status == 0)
    }

    @Test("A match on one of two paths is shown with a warning")
    func onePathOfTwo() async throws {
        let other = try TestCertificate.root("Other Root")
        let cross = try other.crossSign(site.intermediate)
        let roots = try site.directory.add(site.root.pemText + other.pemText)
        let policy = try policy(
            "\"our-root\": { \"pin\": \"\(site.root.key.pin)\", \"role\": \"root\" }", "\"our-root\"")
        let (run, subject) = try await screen(
            policy, by: site.chain + [cross], ["--ca-file", roots])
        #expect(
            run.lines == [
                "ok*   \(subject)  matched our-root (root)",
                "  warning: pins match on 1 of 2 paths, so clients whose path ends at CN=Other Root would fail: pin a "
                    + "key that is on every path", "1 checked: 1 ok (1 with a warning)",
            ])
        #expect(run.status == 0)
    }
}
