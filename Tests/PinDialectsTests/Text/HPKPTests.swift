import CertificatePinning
import CertificateTrust
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Public-Key-Pins")
struct HPKPTests {
    /// Headers that Chromium accepted and RFC 7469 doesn't: RFC quoted strings don't use single quotes.
    private static let singleQuotes = [
        "max-age='999'", "report-uri='http://foo.com\\'\\a'", "report-uri='http://foo.com'",
    ]
    /// The longest time for which Chromium kept pins, whatever the header's max-age. Reading reports the difference in
    /// a note.
    private static let chromiumsAge: Int64 = 5_184_000

    private func header(_ value: String, isReportOnly: Bool = false) throws -> HPKPHeader {
        var problems = PolicyProblems(path: "header")
        var cursor = TextCursor(Array(value.utf8))
        let header = HPKPHeader(&cursor, isReportOnly: isReportOnly, problems: &problems)
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
        return header
    }

    private func read(_ text: String, host: String? = "example.com") throws -> DialectReading {
        try HPKPReader.read(Array(text.utf8), path: "header", host: host)
    }

    @Test(
        "Chromium's headers are accepted and rejected as in Chromium",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func chromium() throws {
        let table = try #require(PeerCases.all).hpkp.chromium
        let keys = try table.context.chain_spki.elements.map { key in
            try #require(Base64.decodeCanonical(Array((key.string ?? "").utf8)))
        }
        let rows = table.cases.elements
        try #require(rows.count == 32 && keys.count == 3)
        var deviations = 0
        for row in rows {
            let value = try #require(row.value.string)
            let isReportOnly = row.header.string != "Public-Key-Pins"
            let header = try? header(value, isReportOnly: isReportOnly)
            let isTaken = header.map { $0.isReportOnly || $0.isNoted(on: keys) } ?? false
            if Self.singleQuotes.contains(where: value.contains), row.valid.bool == true {
                #expect(!isTaken, "\(value)")
                deviations += 1
                continue
            }
            #expect(isTaken == row.valid.bool, "\(value)")
            guard let header, row.valid.bool == true else { continue }
            if let age = row.max_age.integer { #expect(header.maxAge.map { min($0, Self.chromiumsAge) } == Int64(age)) }
            if let includes = row.include_subdomains.bool { #expect(header.includesSubdomains == includes) }
            #expect(header.reportURI == row.report_uri.string)
        }
        #expect(deviations == Self.singleQuotes.count)
    }

    private static let value =
        "pin-sha256=\"\(ReplacingTests.base64(1))\"; pin-sha256=\"\(ReplacingTests.base64(2))\"; max-age=5184000"
    private static let escaped = value.replacing("\"", with: "\\\"")

    @Test(
        "The fields that nginx and Apache add are read, with the one name of their server as the host",
        arguments: [
            (
                "server {\n  add_header Public-Key-Pins '\(value)' always;\n  server_name A.example.com;\n}\n",
                ["a.example.com"]
            ),
            (
                "http { server { server_name a.example.com;\n"
                    + "location / { add_header\tpublic-key-pins \"\(escaped)\"; } }\n"
                    + "server { server_name b.example.com; # c.test\n add_header Public-Key-Pins '\(value)'; } }\n",
                ["a.example.com", "b.example.com"]
            ),
            (
                "# add_header Public-Key-Pins 'x';\nserver { server_name a.test b.test;\n"
                    + "add_header Public-Key-Pins '\(value)'; }",
                [""]
            ),
            ("server { server_name _; }\nadd_header Public-Key-Pins '\(value)';", [""]),
            ("server { server_name *.a.test;\n add_header Public-Key-Pins '\(value)';\n}", [""]),
            ("server { server_name 192.0.2.1;\n add_header Public-Key-Pins '\(value)';\n}", [""]),
            ("Header always set Public-Key-Pins \"\(escaped)\"\n", [""]),
            (
                "<VirtualHost *:443>\r\n  ServerName https://a.example.com:443\r\n  Header set Public-Key-Pins \\\r\n"
                    + "    '\(value)'\r\n</VirtualHost>\r\nServerName other.test\r\n", ["a.example.com"]
            ),
            (
                "<VirtualHost *:443>\nServerName a.test\nServerAlias b.test\n"
                    + " header always set Public-Key-Pins \"\(escaped)\"\n"
                    + "</VirtualHost>\n", [""]
            ),
        ])
    func configurations(_ text: String, _ hosts: [String]) throws {
        #expect(PinDialect.recognized(in: Array(text.utf8)) == .hpkp)
        let reading = try read(text, host: nil)
        #expect(reading.policy.rules.map { $0.patterns[0].host } == hosts)
        for rule in reading.policy.rules {
            #expect(rule.pins.map(\.value) == [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)])
            #expect(rule.patterns[0].scope == (rule.patterns[0].host.isEmpty ? .every : .exact))
        }
        #expect(reading.notes.isEmpty, "\(reading.notes)")
    }

    @Test(
        "A field of a configuration whose value isn't known is an error",
        arguments: [
            ("server { add_header Public-Key-Pins \"$pins\"; }", "the server computes this value"),
            (
                "server {\n add_header Public-Key-Pins '\(value);\n includeSubDomains'; }",
                "f:2:29: error: the value is on"
            ),
            ("Header set Public-Key-Pins \"%{PINS}e\"\n", "the server computes this value"),
            ("Header set Public-Key-Pins \"\(escaped)\" env=HTTPS\n", "Apache sends this field only under a condition"),
            ("Header edit Public-Key-Pins a b\n", "Apache sends this field only under a condition"),
            ("Header unset Public-Key-Pins\n", "no add_header or Header sets Public-Key-Pins here"),
            ("server { add_header Public-Key-Pins 'max-age=5'; }", "the header has no pin"),
        ])
    func refusedConfigurations(_ text: String, _ message: String) {
        do throws(PolicyFileError) {
            let reading = try HPKPReader.read(Array(text.utf8), path: "f", host: nil)
            Issue.record("\(reading.policy.rules)")
        } catch {
            #expect(error.problems.contains { $0.description.contains(message) }, "\(error)")
        }
    }

    @Test("The RFC's examples survive reading and writing", .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func examples() throws {
        let rows = try #require(PeerCases.all).hpkp.rfc7469_2_1_5.cases.elements
        try #require(rows.count == 4)
        for row in rows {
            let reading = try read("Public-Key-Pins: " + (try #require(row.value.string)))
            let rule = try #require(reading.policy.rules.first)
            #expect(rule.pins.map { Base64.encode($0.value.span) } == row.pins.elements.compactMap(\.string))
            #expect(rule.expiry == RuleExpiry(.age(Int64(row.max_age.integer ?? 0)), .stopPinning))
            let scope: HostPattern.Scope = row.include_subdomains.bool == true ? .exactAndBelow : .exact
            #expect(rule.patterns == [HostPattern("example.com", scope)])
            #expect(rule.reports == (row.report_uri.string.map { [$0] } ?? []))
            var again = try read(try HPKPWriter.write(reading.policy)).policy
            again.rules[0].location = rule.location
            #expect(again == reading.policy)
        }
    }

    // The other rows of the table are about headers that a client remembers, which a reader doesn't do.
    @Test(
        "A report-only header is read as Chromium reads it",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func reportOnly() throws {
        let rows = try #require(PeerCases.all).hpkp.behaviour.elements.filter {
            $0.case.string?.hasPrefix("PKP-RO") == true
        }
        try #require(rows.count == 3)
        for row in rows {
            let reading = try? read("Public-Key-Pins-Report-Only: " + (try #require(row.value.string)))
            // A header that clients ignore is read anyway, with a note.
            let isProcessed = reading?.notes.isEmpty ?? false
            #expect(isProcessed == (row.expect_valid.bool ?? row.expect_processed.bool))
            #expect(reading?.policy.rules.allSatisfy { $0.mode == .report } ?? true)
        }
    }

    private static let pins =
        "pin-sha256=\"AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\"; "
        + "pin-sha256=\"BAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQ=\""

    @Test(
        "A header setting that clients ignore is noted with its direction",
        arguments: [
            ("max-age=0; \(pins)", SecurityDirection.weaker), ("max-age=5184001; \(pins)", .weaker),
            ("max-age=9; \(pins); pin-sha1=\"AAAA\"", .stricter), ("max-age=9; \(pins); preload", .unchanged),
            ("max-age=9; \(pins)\nPublic-Key-Pins: max-age=1", .either),
        ])
    func quirks(_ value: String, _ direction: SecurityDirection) throws {
        let reading = try read("HTTP/1.1 200 OK\r\nPublic-Key-Pins: \(value)\n")
        #expect(reading.notes.map(\.change) == [.quirk])
        #expect(reading.notes.map(\.direction) == [direction])
    }

    @Test("All problems of a header are reported, each with its position")
    func problems() {
        let text = "max-age=x; \(Self.pins); max-age=3; pin-sha256=AAAA; report-uri=\"/here\"; includeSubDomains=1; a b"
        do throws(PolicyFileError) {
            _ = try HPKPReader.read(Array(text.utf8), path: "h", host: nil)
            Issue.record("it was read")
        } catch {
            let columns = error.problems.map(\.location.column)
            #expect(columns.count == 7 && columns == columns.sorted(), "\(error)")
        }
    }

    @Test("A header without its host applies to every host, and the loss of its subdomains is noted")
    func withoutHost() throws {
        let reading = try read("max-age=9; includeSubDomains; \(Self.pins)", host: nil)
        #expect(reading.policy.rules.map(\.patterns) == [[HostPattern("", .every)]])
        #expect(reading.notes.map(\.direction) == [.weaker])
        #expect(throws: PolicyFileError.self) { try read("max-age=9; \(Self.pins)", host: "192.0.2.1") }
    }

    @Test("A pin that isn't the SHA-256 of a key isn't written")
    func otherPins() throws {
        var policy = try read("max-age=9; \(Self.pins)").policy
        let value = [UInt8](repeating: 1, count: 32)
        for pin in [CanonicalPin(.certificate, .sha256, value), CanonicalPin(.publicKey, .full, value)] {
            policy.rules[0].pins[0] = pin
            #expect(throws: DialectWriteError.self) { try HPKPWriter.write(policy) }
        }
    }

    @Test("The pins of an enforced and of a report-only header are kept separate")
    func bothFields() throws {
        let text = """
            Public-Key-Pins: \(Self.pins); max-age=9; includeSubDomains
            Public-Key-Pins-Report-Only: \(Self.pins); includeSubDomains; report-uri="https://r.example/"

            """
        let reading = try read(text)
        #expect(reading.policy.rules.map(\.mode) == [.enforce, .report])
        #expect(try HPKPWriter.write(reading.policy) == text)
    }
}
