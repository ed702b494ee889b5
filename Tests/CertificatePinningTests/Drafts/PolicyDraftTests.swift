import CertificatePinning
import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("Policy drafts and lint")
struct PolicyDraftTests {
    private func path(
        _ name: String, _ chain: [TestCertificate], anchor: TestCertificate
    ) throws -> VerifiedPath {
        try TestSite.trust(sent: chain, anchors: [anchor], name: name).evaluate(at: TestSite.time)
    }

    @Test("A draft can be read again, has names for the keys of its paths, and accepts those paths")
    func roundTrip() throws {
        let server = try TestSite()
        let other = try server.intermediate.leaf("x-shop.example.test")
        let alone = try TestCertificate.selfSigned(.server(["alone.test"]))
        let paths = [
            (try server.path, 443),
            (try path("x-shop.example.test", [other, server.intermediate], anchor: server.root), 443),
            (try server.path, 8443), (try path("alone.test", [alone], anchor: alone), 8443), (try server.path, 443),
        ]
        var draft = PolicyDraft()
        for (path, port) in paths { draft.add(path, port: port) }
        let file = try PolicyFileTests.read(draft.text)
        let rules = file.policy.rules
        #expect(
            rules.map(\.host.description) == [TestSite.host, "x-shop.example.test", TestSite.host, "alone.test"])
        #expect(rules.map(\.ports) == [[443], nil, [8443], nil])
        #expect(rules.map(\.check.targets) == [[], [], [], ["alone.test:8443"]])
        #expect(
            rules[0].pins == [
                try server.leaf.pin(.leaf, name: "api.example.test-leaf"),
                try server.intermediate.pin(.ca, name: "test-intermediate"),
                try server.root.pin(.ca, name: "test-root"),
            ])
        // A name that starts with x- would be an extension key.
        #expect(rules[1].pins.map(\.name) == ["pin-x-shop.example.test-leaf", "test-intermediate", "test-root"])
        #expect(rules[3].pins.map(\.name) == ["alone.test-leaf"])
        for (path, port) in paths {
            #expect(file.policy.outcome(path, port: port, at: TestSite.time).verdict == "accepted: matched")
        }

        // Backup keys for two ports of one host are in two files.
        for port in [443, 8443] { #expect(draft.text.contains("-out \(TestSite.host)-\(port)-backup.key ")) }

        var again = PolicyDraft()
        for (path, port) in paths { again.add(path, port: port) }
        #expect(again.text == draft.text)
    }

    @Test("CAs with the same name and different keys get different pin names")
    func sameName() throws {
        var draft = PolicyDraft()
        for host in ["a.test", "b.test"] {
            let root = try TestCertificate.root("Root")
            draft.add(try path(host, [try root.leaf(host)], anchor: root), port: 443)
        }
        let names = try PolicyFileTests.read(draft.text).policy.rules.map { $0.pins.map(\.name) }
        #expect(names == [["a.test-leaf", "root"], ["b.test-leaf", "root-2"]])
    }

    @Test("A draft has the expected text, with escaped names and a backup slot")
    func text() throws {
        let root = try TestCertificate.root("Root \"R1\"\n\u{202E}//")
        let leaf = try root.leaf("a.test", key: .shared(.rsa2048))
        var draft = PolicyDraft()
        draft.add(try path("a.test", [leaf], anchor: root), port: 443)
        let slot = draft.text.split(separator: "\n").filter { $0.contains("x-backup-slot") }
        let expected = """
            {
              "version": 1,
              "pins": {
                // CN=a.test (RSA 2048)
                "a.test-leaf": { "pin": "\(try leaf.parsed.spkiFingerprint)", "role": "leaf" },
                // CN=Root \\"R1\\"\\u{A}\\u{202E}// (EC P-256)
                "root-r1": { "pin": "\(try root.parsed.spkiFingerprint)", "role": "ca" },
              },
              "domains": [
                {
                  "host": "a.test",
                  // One matching pin is enough: remove the CA pins to accept only the leaf's key.
                  "pins": ["a.test-leaf", "root-r1"],
                  // pinctl lint fails until this slot is removed and { "pin": "sha256/…", "role": "leaf", "backup": \
            true } is in the list above.
            \(slot.joined())
                },
              ],
            }

            """
        #expect(draft.text == expected)
        #expect(slot.count == 1)
        for command in ["openssl genpkey", "openssl req -new -key a.test-backup.key", "pinctl hash a.test-backup.csr"] {
            #expect(slot[0].contains(command))
        }
    }

    @Test("The backup slot of an address uses file names that can't be read as flags")
    func slotOfAddress() throws {
        var settings = TestCertificate.Settings.server(["a.test"])
        settings.alternativeNames = [.ip([UInt8](repeating: 0, count: 15) + [1])]
        let server = try TestCertificate.selfSigned(settings)
        var draft = PolicyDraft()
        draft.add(try path("::1", [server], anchor: server), port: 443)
        #expect(draft.text.contains("pinctl hash __1-backup.csr"))
    }

    @Test(
        "The commands of a backup slot make a key whose pin fills the slot",
        .enabled(if: TestCommand.isPresent("openssl", "version")))
    func slotCommands() throws {
        let server = try TestSite()
        var draft = PolicyDraft()
        draft.add(try server.path, port: 443)
        let file = try PolicyFileTests.read(draft.text)
        #expect(
            file.lint(at: TestSite.time).map(\.description) == [
                "pins.jsonc:17:7: error[P020] the backup slot isn't filled: create a backup key as it describes, "
                    + "add its pin to the \"pins\" of this rule, and remove the slot"
            ])

        let directory = try TestDirectory()
        let start = try #require(draft.text.firstRange(of: "openssl genpkey"))
        let end = try #require(draft.text.firstRange(of: " && pinctl hash"))
        let commands = draft.text[start.lowerBound..<end.lowerBound]
        #expect(try TestCommand.run(["sh", "-c", "cd \(directory.path) && \(commands)"]).status == 0)

        let lines = draft.text.split(separator: "\n", omittingEmptySubsequences: false)
            .filter { !$0.contains("x-backup-slot") }
        let backup = #"{ "file": "\#(directory.path)/api.example.test-backup.csr", "backup": true }"#
        let filled = lines.joined(separator: "\n").replacing("\"test-root\"]", with: "\"test-root\", \(backup)]")
        let pins = try PolicyFileTests.read(filled)
        #expect(pins.policy.rules[0].pins.map(\.isBackup) == [false, false, false, true])
        #expect(pins.lint(at: TestSite.time).isEmpty)
    }

    @Test(
        "A rule without a backup is a warning, and an empty backup slot anywhere is an error",
        arguments: [
            (#""pins": ["one"]"#, ["pins.jsonc:2:1: warning[P003] a.test has only one pin"]),
            (
                #""pins": ["one", "two"]"#,
                [
                    "pins.jsonc:1:96: warning[P022] two pins a whole certificate",
                    "pins.jsonc:2:1: warning[P003] a.test has no pin marked as a backup",
                ]
            ),
            (
                #""pins": ["spare"]"#,
                [
                    "pins.jsonc:2:1: warning[P003] a.test has only one pin",
                    "pins.jsonc:2:1: error[P032] a.test pins only backups",
                ]
            ),
            (#""pins": ["one", "spare"]"#, []),
            (#""pins": ["one"], "mode": "off""#, ["pins.jsonc:2:1: error[P024] the mode of every rule is off"]),
            (
                #""pins": ["one"], "mode": "report""#,
                [
                    "pins.jsonc:2:1: warning[P003] a.test has only one pin",
                    "pins.jsonc:2:1: warning[P019] a.test has been in report mode for an unknown time",
                ]
            ),
            (
                #""pins": ["one"], "x-backup-slot": "…""#,
                ["pins.jsonc:2:38: error[P020] the backup slot isn't filled"]
            ),
            (
                #""pins": ["one", "spare"], "x-a": [{ "x-backup-slot": 1 }]"#,
                ["pins.jsonc:2:57: error[P020] the backup slot isn't filled"]
            ),
        ])
    func lint(members: String, expected: [String]) throws {
        let pins = #"""
            "pins": { "one": "\#(PolicyFileTests.pinA)", "two": "\#(PolicyFileTests.certificatePin)",
            "spare": { "pin": "\#(PolicyFileTests.pinB)", "backup": true } },
            """#.replacing("\n", with: " ")
        let findings = try PolicyFileTests.read(PolicyFileTests.rule(#""host": "a.test", \#(members)"#, top: pins))
            .lint(at: TestSite.time).filter { !$0.message.hasPrefix("no rule has the backup") }
        #expect(findings.count == expected.count)
        for (finding, prefix) in zip(findings, expected) { #expect(finding.description.hasPrefix(prefix)) }
    }
}
