import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Certificate Transparency in path validation")
struct ComplianceTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// `accepted`, or a part of the reason.
        let expected: String
        let claim: @Sendable () throws -> TransparencyClaim

        init(_ sentence: String, _ expected: String, _ claim: @escaping @Sendable () throws -> TransparencyClaim) {
            testDescription = sentence
            self.expected = expected
            self.claim = claim
        }

        /// A leaf with timestamps of these logs (by their positions), which `adjust` can change.
        init(
            _ sentence: String, _ expected: String, by positions: [Int], isLong: Bool = false,
            adjusting adjust: @escaping @Sendable (inout TransparencyClaim) throws -> Void = { _ in }
        ) {
            self.init(sentence, expected) {
                var claim = try TransparencyClaim { issuer, logs in
                    try issuer.leaf(TestSite.host, loggedBy: positions.map { logs[$0] }) {
                        TransparencyClaim.shorten(&$0)
                        // One second more than 180 days.
                        if isLong { $0.notAfter += 1 }
                    }
                }
                try adjust(&claim)
                return claim
            }
        }
    }

    /// Returns a claim whose leaf has no timestamps, while the handshake has those of some logs.
    private static func inHandshake(
        _ positions: [Int], stapled: [Int] = [], adjusting adjust: (inout TransparencyClaim) -> Void = { _ in }
    ) throws -> TransparencyClaim {
        var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
        let entry = TestLog.Entry.certificate(claim.leaf.derBytes)
        if !positions.isEmpty {
            claim.handshake = TestLog.list(try positions.map { try claim.logs[$0].timestamp(of: entry) })
        }
        if !stapled.isEmpty {
            var response = TestOCSPResponse(claim.leaf, issuedBy: claim.issuer)
            let list = TestLog.list(try stapled.map { try claim.logs[$0].timestamp(of: entry) })
            response.extensions = [TestLog.stapleExtension(list)]
            claim.staple = try response.signed(by: claim.issuer)
        }
        adjust(&claim)
        return claim
    }

    static let rows: [Row] = [
        // Chrome's and Apple's numbers.
        .init("two logs of two operators, for 180 days", "accepted", by: [0, 1]),
        .init("two logs of two operators, for one second more", "2 of 3", by: [0, 1], isLong: true),
        .init("three logs of two operators, for longer", "accepted", by: [0, 1, 2], isLong: true),
        .init("one log", "1 of 2", by: [0]),
        .init("two logs of one operator", "1 of 2 log operators", by: [0, 2]),
        .init("one log twice, which counts once", "1 of 2", by: [0, 0]),
        .init("two logs, one of them twice, for longer", "2 of 3", by: [0, 1, 0], isLong: true),
        .init("no timestamps", "no timestamps") { try TransparencyClaim(leaf: TransparencyClaim.silent) },

        // The logs' states.
        .init("qualified and read-only logs", "accepted", by: [0, 1]) {
            ($0.logs[0].state, $0.logs[1].state) = ("qualified", "readonly")
        },
        .init("a pending log", "not counting pending log", by: [0, 1]) { $0.logs[0].state = "pending" },
        .init("a rejected log", "not counting rejected log", by: [0, 1]) { $0.logs[0].state = "rejected" },
        .init("a log in a state of the future", "not counting unknown log", by: [0, 1]) { $0.logs[0].state = "frozen" },
        .init("a log without a state", "not counting unknown log", by: [0, 1]) { $0.logs[0].state = nil },
        .init("a log for tests", "not counting unknown log", by: [0, 1]) { $0.logs[0].kind = "test" },
        .init("a log that retired after it made the timestamp", "accepted", by: [0, 1]) {
            ($0.logs[0].state, $0.logs[0].stateStart) = ("retired", "2026-06-01T00:00:01Z")
        },
        .init("a log that had retired before", "not counting retired log", by: [0, 1]) {
            ($0.logs[0].state, $0.logs[0].stateStart) = ("retired", "2026-06-01T00:00:00Z")
        },
        .init("only logs that have retired since", "still recognized", by: [0, 1]) { claim in
            for index in 0...1 {
                (claim.logs[index].state, claim.logs[index].stateStart) = ("retired", "2026-06-02T00:00:00Z")
            }
        },
        .init("only logs that will retire", "accepted", by: [0, 1]) { claim in
            for index in 0...1 {
                (claim.logs[index].state, claim.logs[index].stateStart) = ("retired", "2026-07-01T00:00:01Z")
            }
        },

        // The logs whose private keys are public.
        .init("a mimic log inside", "not counting mimic log, whose private key is public", by: [0, 1]) {
            $0.mimics = [try $0.logs[1].identifier]
        },
        .init("a mimic log in the handshake", "not counting mimic log, whose private key is public") {
            var claim = try inHandshake([0, 1])
            claim.mimics = [try claim.logs[0].identifier]
            return claim
        },
        .init("a mimic log besides enough others", "accepted", by: [0, 1, 2]) {
            $0.mimics = [try $0.logs[2].identifier]
        },
        .init("two mimic logs and one other", "1 of 3", by: [0, 1, 2], isLong: true) {
            $0.mimics = [try $0.logs[0].identifier, try $0.logs[1].identifier]
        },

        // The operators, and the kinds of logs.
        .init("a log that had another operator at the time", "accepted", by: [0, 2]) {
            $0.logs[2].previous = ("C", "2026-06-01T00:00:01Z")
        },
        .init("a log that had changed its operator before", "1 of 2 log operators", by: [0, 2]) {
            $0.logs[2].previous = ("C", "2026-06-01T00:00:00Z")
        },
        .init("one of two logs with static-ct-api", "accepted", by: [0, 1]) { $0.logs[0].isTiled = true },
        .init("only logs with static-ct-api", "RFC 6962 interface", by: [0, 1]) {
            ($0.logs[0].isTiled, $0.logs[1].isTiled) = (true, true)
        },

        // The handshake.
        .init("two logs in the handshake", "accepted") { try inHandshake([0, 1]) },
        .init("two logs in the staple", "only in the stapled OCSP response") { try inHandshake([], stapled: [0, 1]) },
        .init("one log in the handshake and one in the staple", "1 of 2") { try inHandshake([0], stapled: [1]) },
        .init("two logs in the handshake and the staple of both", "accepted") {
            try inHandshake([0, 1], stapled: [0, 1])
        },
        .init("one log inside and another one in the staple", "1 of 2") {
            var claim = try TransparencyClaim { issuer, logs in
                try issuer.leaf(TestSite.host, loggedBy: [logs[0]], adjusting: TransparencyClaim.shorten)
            }
            var response = TestOCSPResponse(claim.leaf, issuedBy: claim.issuer)
            let entry = TestLog.Entry.certificate(claim.leaf.derBytes)
            response.extensions = [
                TestLog.stapleExtension(TestLog.list([try claim.logs[1].timestamp(of: entry)]))
            ]
            claim.staple = try response.signed(by: claim.issuer)
            return claim
        },
        .init("two logs of one operator in the handshake", "1 of 2 log operators") { try inHandshake([0, 2]) },
        .init("a log in the handshake that has retired since", "not counting retired log") {
            try inHandshake([0, 1]) {
                ($0.logs[0].state, $0.logs[0].stateStart) = ("retired", "2026-06-02T00:00:00Z")
            }
        },
        .init("one log inside and another one in the handshake", "1 of 2") {
            var claim = try TransparencyClaim { issuer, logs in
                try issuer.leaf(TestSite.host, loggedBy: [logs[0]], adjusting: TransparencyClaim.shorten)
            }
            let entry = TestLog.Entry.certificate(claim.leaf.derBytes)
            claim.handshake = TestLog.list([try claim.logs[1].timestamp(of: entry)])
            return claim
        },
        .init("a bad list in the handshake beside good timestamps inside", "accepted") {
            var claim = try TransparencyClaim()
            claim.handshake = [0]
            return claim
        },

        // The list's age.
        .init("a list one second before it is 70 days old", "accepted", by: [0, 1]) {
            ($0.published, $0.time) = ("2026-06-15T12:00:00Z", "2026-08-24T11:59:59Z")
        },
        .init("a list 70 days old", "transparency-unknown: the list", by: [0, 1]) {
            ($0.published, $0.time) = ("2026-06-15T12:00:00Z", "2026-08-24T12:00:00Z")
        },
        .init("no list", "transparency-unknown: Certificate Transparency can't be checked", by: [0, 1]) {
            $0.logs = []
        },
    ]

    @Test("A path is valid under require exactly if Chrome and Apple would accept its timestamps", arguments: rows)
    func require(_ row: Row) throws {
        let verdict = try row.claim().verdict()
        #expect(row.expected == "accepted" ? verdict == "accepted" : verdict.contains(row.expected), "\(verdict)")
    }

    @Test("Under report, a path is valid and tells what require would refuse", arguments: rows)
    func report(_ row: Row) throws {
        var claim = try row.claim()
        claim.mode = .report
        let finding = try claim.trust().evaluate(at: try claim.date).transparencyFinding
        if row.expected == "accepted" {
            #expect(finding == nil)
        } else {
            #expect(finding.map { "\($0.rule): \($0.detail)".contains(row.expected) } == true)
        }
    }

    @Test("Under ignore, nothing is checked or reported")
    func ignore() throws {
        var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
        (claim.mode, claim.logs) = (.ignore, [])
        #expect(try claim.trust().evaluate(at: try claim.date).transparencyFinding == nil)
    }

    @Test("Every path under a cross-signed issuer is valid, because its key is the same")
    func crossSigned() throws {
        let claim = try TransparencyClaim()
        let existing = try claim.root.crossSign(claim.issuer)
        let trust = try claim.trust()
        let both = ServerTrust(
            presented: try PresentedChain(
                derCertificates: [claim.leaf.derBytes, existing.derBytes, claim.issuer.derBytes]),
            name: trust.name, store: trust.store, policy: trust.policy, transparency: trust.transparency)
        #expect(try both.allPaths(at: try claim.date, limit: 8).count == 2)
    }

    @Test("A leaf that is itself the anchor has no issuer that could prove its timestamps")
    func anchoredLeaf() throws {
        let claim = try TransparencyClaim()
        let trust = try claim.trust()
        let anchored = ServerTrust(
            presented: trust.presented, name: trust.name,
            store: TrustStore(certificates: [try X509Certificate(derBytes: claim.leaf.derBytes)]), policy: trust.policy,
            transparency: trust.transparency)
        let finding = #expect(throws: TrustFinding.self) { try anchored.evaluate(at: try claim.date) }
        #expect(finding?.rule == .certificateTransparency)
    }

    @Test("The verification of timestamps spends the budget of the evaluation")
    func budget() throws {
        let claim = try TransparencyClaim()
        let plain = try claim.trust()
        var policy = plain.policy
        policy.certificateTransparency = .ignore
        let ignoring = ServerTrust(
            presented: plain.presented, name: plain.name, store: plain.store, policy: policy,
            transparency: plain.transparency)
        let (checked, unchecked) = (plain.evaluation(at: try claim.date), ignoring.evaluation(at: try claim.date))
        #expect(checked.budget.signatures == unchecked.budget.signatures + 2)
    }

    /// Returns the signatures that were verified, and the number of valid paths.
    private func spent(
        on claim: TransparencyClaim, presented: [TestCertificate], anchors: [TestCertificate], accepting limit: Int
    ) throws -> (signatures: Int, asked: Int, isAccepted: Bool) {
        let plain = try claim.trust()
        let trust = ServerTrust(
            presented: try PresentedChain(derCertificates: ([claim.leaf] + presented).map(\.derBytes)),
            name: plain.name,
            store: TrustStore(certificates: try anchors.map { try X509Certificate(derBytes: $0.derBytes) }),
            policy: plain.policy, transparency: plain.transparency)
        var asked = 0
        let result = trust.evaluation(
            at: try claim.date,
            accepting: { _ in
                asked += 1
                return asked == limit
            })
        return (result.budget.signatures, asked, result.accepted != nil)
    }

    @Test("Timestamps are verified once for an issuer, whatever is above it")
    func verifiedOnce() throws {
        let claim = try TransparencyClaim()
        let other = try TestCertificate.root("Other Root")
        let chain = [claim.issuer, try other.crossSign(claim.root)]
        let all = try spent(on: claim, presented: chain, anchors: [claim.root, other], accepting: .max)
        // Paths of two and of three signatures, and the two timestamps.
        #expect(all == (2 + 3 + 2, 2, false))
        #expect(try spent(on: claim, presented: chain, anchors: [claim.root, other], accepting: 2).isAccepted)
    }

    @Test("CB18: the signature budget limits for how many issuers timestamps are verified")
    func manyIssuers() throws {
        let claim = try TransparencyClaim { issuer, logs in
            try issuer.leaf(
                TestSite.host, loggedBy: (0..<16).map { logs[$0 % 2] }, adjusting: TransparencyClaim.shorten)
        }
        let issuers = try (1...8).map { number in
            try claim.root.crossSign(claim.issuer) { $0.serial = [UInt8(number)] }
        }
        // Each takes 2 signatures and 16 timestamps, and there are 100 in all.
        let all = try spent(on: claim, presented: issuers, anchors: [claim.root], accepting: .max)
        #expect(all == (5 * 18 + 2, 5, false))
        #expect(try spent(on: claim, presented: issuers, anchors: [claim.root], accepting: 5).isAccepted)
        #expect(try !spent(on: claim, presented: issuers, anchors: [claim.root], accepting: 6).isAccepted)
    }

    @Test("A chain without a hostname is checked too")
    func chain() throws {
        var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
        let trust = try claim.trust()
        let chain = ChainTrust(
            presented: trust.presented, store: trust.store, policy: trust.policy, transparency: trust.transparency)
        #expect(throws: TrustFinding.self) { try chain.evaluate(at: try claim.date) }
        claim.mode = .report
        let lenient = ChainTrust(
            presented: trust.presented, store: trust.store, policy: try claim.trust().policy,
            transparency: trust.transparency)
        #expect(try lenient.evaluate(at: try claim.date).transparencyFinding?.rule == .certificateTransparency)
    }

    @Test("Lists are signed by certificates that no log has, also if transparency is required")
    func listSigner() throws {
        let claim = try TransparencyClaim()
        var settings = TestCertificate.Settings(subject: claim.issuer.subject)
        settings.keyUsage = .cRLSign
        let signer = try claim.root.issue(settings)
        let time: Int64 = 1_782_864_000
        func list(_ issuer: TestCertificate, by key: TestKey) throws -> CertificateRevocationList {
            var list = TestRevocationList(issuer: issuer.subject)
            (list.thisUpdate, list.nextUpdate) = (time - 1, time + 1)
            return try CertificateRevocationList(derBytes: try list.signed(by: key))
        }
        let trust = try claim.trust()
        var policy = trust.policy
        policy.revocation = .require
        let evidence = RevocationEvidence(
            lists: [try list(claim.issuer, by: signer.key), try list(claim.root, by: claim.root.key)],
            certificates: [try X509Certificate(derBytes: signer.derBytes)])
        let checked = ServerTrust(
            presented: trust.presented, name: trust.name, store: trust.store, policy: policy, revocation: evidence,
            transparency: trust.transparency)
        #expect(throws: Never.self) { try checked.evaluate(at: try claim.date) }
    }
}
