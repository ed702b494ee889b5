import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

/// Tests of PE9: how a rule behaves when it expires.
@Suite("Rule expiry")
struct PinningExpiryTests {
    private let server: TestSite
    private let unrelated: TestSite

    init() throws {
        server = try TestSite()
        unrelated = try TestSite(authority: "Unrelated")
    }

    @Test("PE9: an expiry date includes its whole day in UTC, and an expiry time is exact")
    func ends() throws {
        let rows: [(String, Double)] = [
            ("2027-01-15", 1_800_057_600), ("2024-02-29", 1_709_251_200), ("2027-01-15T08:00:00Z", 1_800_000_000),
            ("2027-01-15T10:30:00+02:30", 1_800_000_000), ("2027-01-15t08:00:00.5z", 1_800_000_000.5),
        ]
        for (text, seconds) in rows {
            let expiry = try PinningExpiry(text, then: .fail)
            #expect(expiry.end.timeIntervalSince1970 == seconds)
            #expect(!expiry.isPast(at: expiry.end - 0.001))
            #expect(expiry.isPast(at: expiry.end))
        }
        let last = try PinningExpiry("9999-12-31", then: .fail)
        #expect(last.end == Date(timeIntervalSince1970: 253_402_300_799))
        let day = try PinningExpiry("2027-01-15", then: .fail)
        #expect(!day.isPast(at: try #require(Date(rfc3339: "2027-01-15T23:59:59Z"))))
        #expect(day.isPast(at: try #require(Date(rfc3339: "2027-01-16T00:00:00Z"))))
        #expect(PinningExpiry(at: Date(timeIntervalSince1970: .nan), then: .fail).isPast(at: TestSite.time))
        #expect(day.isPast(at: Date(timeIntervalSince1970: .nan)))
    }

    /// Found by reading, while the fuzzer's target `decisions` was written.
    @Test(
        "PE9: an expiry between two seconds or beyond all numbers is converted and described",
        arguments: [
            (100.5, .instant(101), "1970-01-01T00:01:40Z"), (.infinity, .instant(.max), "out of range"),
            (1e300, .instant(.max), "out of range"), (-.infinity, .instant(.min), "out of range"),
            (.nan, .instant(.min), "out of range"),
        ] as [(Double, RuleExpiry.Moment, String)])
    func unusualEnds(end: Double, moment: RuleExpiry.Moment, text: String) throws {
        let expiry = PinningExpiry(at: Date(timeIntervalSince1970: end), then: .fail)
        #expect(expiry.description == "\(text), then fail")
        let rule = PinningRule(host: try ServerName("a.test"), pins: [try server.leaf.pin()], expiry: expiry)
        #expect(CanonicalPolicy(try PinningPolicy(rules: [rule])).rules[0].expiry?.moment == moment)
        for now in [100.0, 101, 1e12].map({ Date(timeIntervalSince1970: $0) }) {
            #expect(moment.isOver(under: DecisionCircumstances(at: now)) == expiry.isPast(at: now))
        }
    }

    @Test(
        "PE9: text that isn't a valid time is rejected as an expiry",
        arguments: [
            "", "never", "2027", "2026-02-30", "2026-02-29", "2027-13-01", "0000-01-01", "1969-12-31",
            "2027-01-15T08:00:00",
            "2027-01-15 08:00:00Z", "15.01.2027", "01/15/2027", "1800000000", "2027-01-15Z",
        ])
    func noTimes(text: String) {
        #expect(throws: PinningExpiryError.self) { try PinningExpiry(text, then: .stopPinning) }
    }

    /// The outcomes when the pins match and when they don't, before the rule expires and afterwards.
    @Test(
        "PE9: a rule applies until it expires, then its action applies, and turning back the clock restores the rule",
        arguments: [
            (PinningExpiry.Action.fail, PinningMode.enforce, "refused: expired", "refused: expired"),
            (.fail, .report, "refused: expired", "refused: expired"),
            (.fail, .off, "accepted: unpinned", "accepted: unpinned"),
            (.report, .enforce, "accepted: matched", "accepted: forgiven"),
            (.report, .report, "accepted: matched", "accepted: forgiven"),
            (.report, .off, "accepted: unpinned", "accepted: unpinned"),
            (.stopPinning, .enforce, "accepted: stopped", "accepted: stopped"),
            (.stopPinning, .report, "accepted: stopped", "accepted: stopped"),
            (.stopPinning, .off, "accepted: unpinned", "accepted: unpinned"),
        ] as [(PinningExpiry.Action, PinningMode, String, String)])
    func actions(action: PinningExpiry.Action, mode: PinningMode, matching: String, unknown: String) throws {
        let before: (String, String) =
            switch mode {
            case .enforce: ("accepted: matched", "refused: mismatch")
            case .report: ("accepted: matched", "accepted: forgiven")
            case .off: ("accepted: unpinned", "accepted: unpinned")
            }
        let expiry = PinningExpiry(at: TestSite.time, then: action)
        for (pin, before, after) in [(server.leaf, before.0, matching), (unrelated.leaf, before.1, unknown)] {
            let policy = try PinningPolicy(pins: [pin.pin()], mode: mode, expiry: expiry)
            for (seconds, expected) in [(-1.0, before), (0, after), (1, after), (-1, before), (86_400, after)] {
                let time = TestSite.time + seconds
                #expect(try policy.verdict(server.trust, at: time) == expected)
                #expect(policy.outcome(try server.path, port: 443, at: time).verdict == expected)
            }
        }
    }

    @Test("PE9: an expired rule doesn't make an invalid chain acceptable", arguments: PinningExpiry.Action.allCases)
    func untrusted(action: PinningExpiry.Action) throws {
        let policy = try PinningPolicy(
            pins: [server.leaf.pin()], expiry: PinningExpiry(at: TestSite.time - 1, then: action))
        let trust = try TestSite.trust(sent: server.chain, anchors: [unrelated.root])
        #expect(policy.verdict(trust) == "refused: untrusted")
    }

    @Test("An expired rule is reported with its host, the time and the remedy")
    func texts() throws {
        let end = PinningExpiry(at: TestSite.time, then: .stopPinning)
        let location = PolicyLocation(path: "pins.jsonc", line: 4, column: 5)
        func text(_ action: PinningExpiry.Action) throws -> String {
            let rule = PinningRule(
                host: try ServerName(TestSite.host), pins: [try unrelated.leaf.pin()],
                expiry: PinningExpiry(at: end.end, then: action), location: location)
            let policy = try PinningPolicy(rules: [rule])
            return policy.outcome(try server.path, port: 443, at: TestSite.time).description
        }
        #expect(
            try text(.stopPinning) == """
                PINNING IS OFF: the rule at pins.jsonc:4:5 for api.example.test expired at 2027-01-15T08:00:00Z, so \
                its pins are no longer checked: ship a policy with a later expiry
                """)
        #expect(
            try text(.fail) == """
                certificate pinning failure for api.example.test port 443: the rule at pins.jsonc:4:5 for \
                api.example.test expired at 2027-01-15T08:00:00Z, so it rejects every server: ship a policy with a \
                later expiry
                """)
        #expect(
            try text(.report).hasPrefix(
                """
                pin mismatch for api.example.test port 443: no pin of the rule at pins.jsonc:4:5 for api.example.test, \
                which expired at 2027-01-15T08:00:00Z and now only reports, matches the verified path
                """))
    }

    @Test("A rule returns its next expiry, until which its decisions are valid")
    func nextExpiry() throws {
        let end = TestSite.time
        func rule(_ mode: PinningMode, _ expiry: PinningExpiry?) throws -> PinningRule? {
            try PinningPolicy(pins: [server.leaf.pin()], mode: mode, expiry: expiry)
                .decide(try server.path, port: 443, at: end - 1).rule
        }
        let expiry = PinningExpiry(at: end, then: .fail)
        #expect(try rule(.enforce, expiry)?.nextExpiry(after: end - 1) == end)
        #expect(try rule(.enforce, expiry)?.nextExpiry(after: end) == nil)
        #expect(try rule(.off, expiry)?.nextExpiry(after: end - 1) == nil)
        let endless = try #require(try rule(.enforce, nil))
        #expect(endless.nextExpiry(after: end - 1) == nil)
    }
}
