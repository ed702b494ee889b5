import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("TLSA records")
struct TLSATests {
    private static let digits = String(repeating: "ab", count: 32)

    private func read(_ text: String) throws -> DialectReading {
        try TLSAZone.read(Array(text.utf8), path: "zone")
    }

    /// Each rule: host, ports, and the records of its pins.
    private func rules(_ text: String) throws -> [String] {
        try read(text).policy.rules.map { rule in
            let ports = rule.ports?.sorted().map(String.init).joined(separator: ",") ?? "*"
            let records = rule.pins.compactMap { TLSARecord($0)?.description.prefix(8) }.joined(separator: ", ")
            return "\(rule.patterns[0].host):\(ports) \(records)"
        }
    }

    @Test("Only the records that matter need an origin")
    func origins() throws {
        let record = "_443._tcp.a.example. IN TLSA 3 1 1 \(Self.digits)\n"
        #expect(try rules("@ IN SOA ns admin ( 1 2 3 4 5 )\n@ MX 10 mail\n\(record)") == ["a.example:443 3 1 1 ab"])
        let aliased = try read("www IN CNAME a.example.\n\(record)")
        #expect(aliased.policy.rules.count == 1)
        #expect(aliased.notes.map(\.message).contains { $0.contains("the alias \"www\" is relative") })
        for owner in ["_443._tcp.b IN TLSA 3 1 1 \(Self.digits)", "_443._tcp.b IN CNAME _443._tcp.a.example."] {
            let error = #expect(throws: PolicyFileError.self) { try read("\(owner)\n\(record)") }
            #expect(error?.problems.first?.message.contains("\"_443._tcp.b\" is relative") == true, "\(owner)")
        }
    }

    @Test(
        "Records are read in every notation of zone files",
        arguments: [
            ("_443._tcp.a.example. IN TLSA 3 1 1 \(digits)", ["a.example:443 3 1 1 ab"]),
            ("_443._tcp.A.Example. 3600 in tlsa dane-ee SPKI sha2-256 \(digits)", ["a.example:443 3 1 1 ab"]),
            ("_443._tcp.a.example. IN 1h TLSA PKIX-TA Cert SHA2-512 \(digits) \(digits)", ["a.example:443 0 0 2 ab"]),
            ("_443._tcp.a.example. IN TLSA ( 2 1 1 ; the authority\n \(digits) )", ["a.example:443 2 1 1 ab"]),
            ("_443._tcp.a.example. TYPE52 \\# 35 030101 \(digits)", ["a.example:443 3 1 1 ab"]),
            (
                """
                $TTL 1d
                $ORIGIN example.
                @ IN SOA ns hostmaster ( 1 2 3 4 5 )
                _443._tcp.a IN TLSA 1 1 1 \(digits)
                            IN TLSA 2 1 1 \(digits)
                a IN A 192.0.2.1
                _8443._tcp.a 60 TLSA 1 1 1 \(digits)
                _8443._tcp.a 60 TLSA 2 1 1 \(digits)
                *._tcp.b IN TLSA 3 0 0 ab01 ; all ports
                """, ["a.example:443,8443 1 1 1 ab, 2 1 1 ab", "b.example:* 3 0 0 ab"]
            ),
            (
                """
                $ORIGIN example.
                _443._tcp.a IN CNAME _dane
                _25._tcp.b CNAME _443._tcp.a ; an alias of an alias
                _8443._tcp.c IN TLSA 3 1 1 \(digits)
                www CNAME a
                _443._tcp.elsewhere IN CNAME _443._tcp.other.test.
                _dane IN TLSA 2 1 1 \(digits)
                """,
                [
                    "c.example:8443 3 1 1 ab", "a.example:443 2 1 1 ab", "b.example:25 2 1 1 ab",
                    "www.example:443 2 1 1 ab",
                ]
            ),
        ])
    func forms(_ text: String, _ expected: [String]) throws {
        #expect(try rules(text) == expected)
    }

    @Test(
        "An invalid record is reported with its position",
        arguments: [
            ("_443._tcp.a.example IN TLSA 3 1 1 \(digits)", "1:1: error: \"_443._tcp.a.example\" is relative"),
            (
                "_443._tcp.a.example. CNAME _1.example.\n_1.example. CNAME _443._tcp.a.example.\n"
                    + "_2.example. TLSA 3 1 1 \(digits)", "1:1: error: \"_443._tcp.a.example\" is an alias of itself"
            ),
            (
                "_443._tcp.a.example. TLSA 3 1 1 \(digits)\n  _443._tcp.b.example. TLSA 3 1 1 \(digits)",
                "2:3: error: the line begins with a blank, so \"_443._tcp.b.example.\" is read as a record type"
            ),
            (
                "\t_443._tcp.a.example. 60 IN TLSA 3 1 1 \(digits)", "1:2: error: the line begins with a blank"
            ),
            (
                "_443._tcp.a.example. IN TLSA 3 1 1 \(digits)\n  b 60 IN A 192.0.2.1",
                "2:3: error: unknown record type \"b\": correct it"
            ),
            (
                "_443._tcp.a.example. 60 IN TSLA 3 1 1 \(digits)",
                "1:28: error: unknown record type \"TSLA\": did you mean TLSA?"
            ),
            ("_443._tcp.a.example. TLS 3 1 1 \(digits)", "1:22: error: unknown record type \"TLS\": did you mean"),
            ("_443._tcp.a.example. TYPE65536 \\# 0", "1:22: error: unknown record type \"TYPE65536\""),
            ("_443._tcp.a.example. IN IN TLSA 3 1 1 \(digits)", "1:25: error: unknown record type \"IN\""),
            ("_443._tcp.a.example. 60 60 TLSA 3 1 1 \(digits)", "1:25: error: unknown record type \"60\""),
            ("_443._tcp.a.example. IN", "1:1: error: the line has no record type"),
            (
                "_443._tcp.a.example. CH TLSA 3 1 1 \(digits)",
                "1:22: error: clients look for records of class IN, not CH"
            ),
            (
                "_443._tcp.a.example. CLASS3 TYPE52 \\# 35 030101\(digits)",
                "1:22: error: clients look for records of class IN, not CLASS3"
            ),
            ("_443._tcp.a.example. IN TLSA 3 1 1 abc", "1:36: error: the data has an odd number of digits"),
            ("_443._tcp.a.example. IN TLSA 3 1 1 xy", "1:36: error: \"xy\" isn't hexadecimal"),
            ("_443._tcp.a.example. IN TLSA DANE 1 1 abcd", "1:30: error: \"DANE\" isn't a usage"),
            ("_443._tcp.a.example. IN TLSA 3 1", "1:1: error: incomplete record"),
            ("_443._tcp.a.example. TYPE52 \\# 9 030101ab", "1:29: error: the record has 4 bytes"),
            (" IN TLSA 3 1 1 \(digits)", "1:5: error: the record has no owner"),
            ("_443._tcp.a.example. IN TLSA ( 3 1 1 \(digits)", "1:30: error: unclosed parenthesis"),
            ("$INCLUDE other", "1:1: error: unsupported directive \"$INCLUDE\""),
        ])
    func rejected(_ text: String, _ expected: String) {
        do throws(PolicyFileError) {
            _ = try TLSAZone.read(Array(text.utf8), path: "zone")
            Issue.record("it was read")
        } catch {
            #expect(error.problems.contains { $0.description.hasPrefix("zone:" + expected) }, "\(error)")
        }
    }

    @Test(
        "A record that can't be used is noted, and the others are read",
        arguments: [
            ("_853._udp.a.example. IN TLSA 3 1 1 \(digits)", nil), ("_443._sctp.a.example. TLSA 3 1 1 \(digits)", nil),
            ("*.example. IN TLSA 3 1 1 \(digits)", LintRule.misreadSetting),
            ("_443._tcp.*.example. IN TLSA 3 1 1 \(digits)", .misreadSetting),
            ("_dane.example. IN TLSA 3 1 1 \(digits)", .misreadSetting),
            ("a.example. IN TLSA 3 1 1 \(digits)", .pinsNothing),
            ("_0._tcp.a.example. TLSA 3 1 1 \(digits)", .pinsNothing),
            ("_https._tcp.a.example. TLSA 3 1 1 \(digits)", .pinsNothing),
            ("_443._tcp.a.example. IN TLSA 3 1 1 abcd", .malformedPin),
            ("_443._tcp.other.test. CNAME _1.other.test.\n_2.other.test. TLSA 3 1 1 \(digits)", .misreadSetting),
        ])
    func unusableBeside(_ record: String, _ rule: LintRule?) throws {
        let service = "_8443._tcp.z.example. CLASS1 TYPE52 \\# 35 030101\(Self.digits)\n"
        for text in [record + "\n" + service, service + record] {
            let reading = try read(text)
            #expect(reading.policy.rules.filter { !$0.pins.isEmpty }.flatMap(\.patterns).map(\.host) == ["z.example"])
            // The service of a record whose digest is too short has no pins left.
            let expected = rule == .malformedPin ? [rule, .pinsNothing] : [rule]
            #expect(reading.notes.map(\.rule) == expected, "\(reading.notes)")
        }
        // Alone, it pins nothing.
        let alone = try read(record)
        #expect(alone.policy.rules.flatMap(\.pins).isEmpty)
        #expect(alone.notes.contains { $0.rule == .pinsNothing })
    }

    @Test("PE12: A zone without TLSA records is noted as having no pins")
    func noRecords() throws {
        let text = Array("example. IN A 192.0.2.1".utf8)
        let reading = try TLSAZone.read(text, path: "zone")
        #expect(reading.policy.rules.isEmpty)
        #expect(reading.notes.map(\.rule) == [.pinsNothing])
    }

    @Test("Records that no client can use are noted and pin nothing")
    func unusable() throws {
        let reading = try read("_443._tcp.a.example. IN TLSA PrivCert 1 1 \(Self.digits)")
        #expect(reading.policy.rules.isEmpty)
        #expect(reading.notes.map(\.direction) == [.either, .weaker])
    }

    @Test("Every usage, selector and matching type becomes a pin, and the pin becomes the same record")
    func kinds() throws {
        for usage in UInt8(0)...3 {
            for selector in UInt8(0)...1 {
                for matchingType in UInt8(0)...2 {
                    let record = TLSARecord(usage: usage, selector: selector, matchingType: matchingType, data: [1])
                    let pin = try #require(record.pin)
                    #expect(TLSARecord(pin) == record)
                    #expect(pin.role == (usage % 2 == 0 ? .ca : .leaf))
                    #expect(pin.trust == (usage < 2 ? .chain : .pinAlone))
                    #expect(pin.content == (selector == 0 ? .certificate : .publicKey))
                }
            }
        }
    }

    /// OpenSSL's cases 49 and 50: only the key of a CA whose certificate isn't sent.
    private static let bareKeys = [49, 50]
    /// A leaf that expires before it becomes valid. OpenSSL accepts it for DANE-EE, but here it isn't a valid
    /// certificate.
    private static let invalidLeaf = "dane-588fd5f414"

    @Test(
        "OpenSSL's records match where OpenSSL expects a match",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func openSSL() throws {
        let all = try #require(PeerCases.all)
        let rows = all.tlsa.cases.elements + all.tlsa.cross.elements
        try #require(rows.count == 33)
        func certificate(_ name: String) throws -> X509Certificate {
            let lines = try #require(all.certs[name].pem.string, "\(name)").split(separator: "\n")
            let base64 = lines.filter { !$0.hasPrefix("-----") }.joined()
            let der = try #require(Base64.decodeCanonical(Array(base64.utf8)))
            return try X509Certificate(derBytes: der)
        }
        let roots = try ["dane-store-danetest", "dane-store-cross-root"].map { try certificate($0) }
        var judged = 0
        for row in rows {
            let number = try #require(row.n.integer)
            guard !Self.bareKeys.contains(number), row.chain.elements.first?.string != Self.invalidLeaf else {
                continue
            }
            judged += 1
            let zone = row.tlsa.elements.map { record in
                let numbers = [record.usage, record.selector, record.mtype].map { "\($0.integer ?? -1)" }
                return
                    "_25._tcp.\(row.base_domain.string ?? ""). TLSA \(numbers.joined(separator: " ")) "
                    + "\(record.data.string ?? "")"
            }
            let policy = try read(zone.joined(separator: "\n")).policy
            let rules = PinDialect.tlsa.rules(for: try #require(row.base_domain.string), port: 25, in: policy)
            let sent = try row.chain.elements.map { try certificate($0.string ?? "") }
            // OpenSSL's path ends at a record with the CA's certificate, or else in its store.
            let held = try rules.flatMap(\.pins).filter {
                $0.content == .certificate && $0.digest == .full && $0.role == .ca
            }.map { try X509Certificate(derBytes: $0.value) }
            var path = Array(sent.prefix(1))
            while let last = path.last, !last.isSelfIssued, !held.contains(last),
                let issuer = (held + sent + roots).first(where: { $0.subject == last.issuer })
            {
                path.append(issuer)
            }
            let decision = policy.decide(path, by: rules, under: DecisionCircumstances(at: Date()))
            // Code 62 is a hostname mismatch after a record that matches.
            let expected = [0, 62].contains(row.expect_verify_code.integer)
            #expect(decision.isAccepted == expected, "case \(number)")
            if let depth = row.expect_match_depth.integer, depth >= 0 {
                #expect(decision.matches.contains { $0.index == depth }, "case \(number)")
            }
        }
        #expect(judged == 25)
    }

    @Test("A written zone is equal to the one that was read")
    func written() throws {
        let zone = """
            _443._tcp.a.example. IN TLSA 3 1 1 \(Self.digits)
            _443._tcp.a.example. IN TLSA 2 0 0 ab
            *._tcp.b.example. IN TLSA 0 1 2 \(Self.digits)\(Self.digits)

            """
        #expect(try TLSAZone.write(try read(zone).policy) == zone)
    }
}
