import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("Timestamps of Certificate Transparency")
struct TimestampTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let expected: [CheckedTimestamp.Status]
        let claim: @Sendable () throws -> TransparencyClaim

        init(
            _ sentence: String, _ expected: [CheckedTimestamp.Status],
            _ claim: @escaping @Sendable () throws -> TransparencyClaim
        ) {
            testDescription = sentence
            self.expected = expected
            self.claim = claim
        }

        /// A leaf whose only timestamp is signed with these fields.
        init(
            _ sentence: String, _ expected: CheckedTimestamp.Status,
            fields adjust: @escaping @Sendable (inout TestLog.Fields) throws -> Void
        ) {
            self.init(sentence, [expected]) {
                try TransparencyClaim { issuer, logs in
                    var fields = TestLog.Fields()
                    try adjust(&fields)
                    return try issuer.leaf(
                        TestSite.host, loggedBy: [logs[0]], adjusting: TransparencyClaim.shorten,
                        fields: { $0 = fields })
                }
            }
        }
    }

    /// Returns a claim whose leaf has this list of timestamps, which may be malformed.
    private static func embedding(
        _ list: @escaping (TestLog.Entry, [TestLog]) throws -> [UInt8]
    ) throws -> TransparencyClaim {
        try TransparencyClaim { issuer, logs in
            var settings = TestCertificate.Settings.server([TestSite.host])
            TransparencyClaim.shorten(&settings)
            let key = try TestKey()
            let entry = TestLog.Entry.precertificate(of: try issuer.issue(settings, key: key), issuer: issuer.key)
            settings.extensions.append(TestLog.certificateExtension(try list(entry, logs)))
            return try issuer.issue(settings, key: key)
        }
    }

    static let rows: [Row] = [
        .init("of the precertificate", .valid) { _ in },
        .init("with extensions, which are signed", .valid) { $0.extensions = [1, 2, 3] },
        .init("made in the second of the evaluation", .valid) { $0.milliseconds = 1_782_864_000_999 },
        .init("of the future", .future) { $0.milliseconds = 1_782_864_001_000 },
        .init("of the farthest future", .future) { $0.milliseconds = .max },
        .init("signed by another log's key", .badSignature) { $0.signer = try .shared(.p256) },
        .init("that says SHA-1", .badSignature) { $0.hash = 2 },
        .init("that says RSA for an ECDSA key", .badSignature) { $0.algorithm = 1 },
        .init("of an unknown version, which is skipped", .otherVersion(1)) { $0.version = 1 },
        .init("followed by another byte", .malformed) { $0.rest = [0] },
        .init("of a log that isn't in the list", [.unknownLog, .valid]) {
            var claim = try TransparencyClaim()
            claim.logs.removeFirst()
            return claim
        },
        .init("without a list of logs", [.unverified, .unverified]) {
            var claim = try TransparencyClaim()
            claim.logs = []
            return claim
        },
        .init("of another certificate of the same issuer", [.badSignature]) {
            try TransparencyClaim { issuer, logs in
                let other = TestLog.Entry.precertificate(of: try issuer.leaf(TestSite.host), issuer: issuer.key)
                return try issuer.issue(.server([TestSite.host])) { _ in [try logs[0].timestamp(of: other)] }
            }
        },
        .init("with the key of another issuer", [.badSignature]) {
            try TransparencyClaim { issuer, logs in
                try issuer.issue(.server([TestSite.host])) { entry in
                    guard case .precertificate(let part, _) = entry else { return [] }
                    return [try logs[0].timestamp(of: .precertificate(part, issuer: try .shared(.p256)))]
                }
            }
        },
        .init("of the certificate itself inside it, as only handshakes have them", [.badSignature]) {
            try TransparencyClaim { issuer, logs in
                try issuer.issue(.server([TestSite.host])) { entry in
                    guard case .precertificate(let part, _) = entry else { return [] }
                    return [try logs[0].timestamp(of: .certificate(part))]
                }
            }
        },
        .init("of an RSA log", [.valid]) {
            let log = try TestLog("R", key: .shared(.rsa2048))
            var claim = try TransparencyClaim { issuer, _ in try issuer.leaf(TestSite.host, loggedBy: [log]) }
            claim.logs = [log]
            return claim
        },
        .init("of a P-384 log, which RFC 6962 doesn't have", [.badSignature]) {
            let log = try TestLog("P", key: .shared(.p384))
            var claim = try TransparencyClaim { issuer, _ in try issuer.leaf(TestSite.host, loggedBy: [log]) }
            claim.logs = [log]
            return claim
        },
        .init("of a log whose interval ends with the certificate", [.outsideInterval, .valid]) {
            var claim = try TransparencyClaim()
            // The certificate expires at 2026-11-26T23:59:59Z.
            claim.logs[0].interval = ("2026-01-01T00:00:00Z", "2026-11-26T23:59:59Z")
            claim.logs[1].interval = ("2026-11-26T23:59:59Z", "2026-11-27T00:00:00Z")
            return claim
        },
        .init("of a log whose interval begins after the certificate", [.outsideInterval, .valid]) {
            var claim = try TransparencyClaim()
            claim.logs[0].interval = ("2026-11-27T00:00:00Z", "2027-11-27T00:00:00Z")
            return claim
        },
        .init("in the handshake", [.valid]) {
            var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
            claim.handshake = TestLog.list([try claim.logs[0].timestamp(of: .certificate(claim.leaf.derBytes))])
            return claim
        },
        .init("of another certificate in the handshake", [.badSignature]) {
            var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
            let other = try claim.issuer.leaf(TestSite.host)
            claim.handshake = TestLog.list([try claim.logs[0].timestamp(of: .certificate(other.derBytes))])
            return claim
        },
        .init("in the stapled response", [.valid]) {
            var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
            let list = TestLog.list([try claim.logs[1].timestamp(of: .certificate(claim.leaf.derBytes))])
            claim.staple = try staple(claim.leaf, claim.issuer, list)
            return claim
        },
        .init("in a stapled response about another certificate", []) {
            var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
            let list = TestLog.list([try claim.logs[1].timestamp(of: .certificate(claim.leaf.derBytes))])
            claim.staple = try staple(try claim.issuer.leaf(TestSite.host), claim.issuer, list)
            return claim
        },
        .init("in a list that is cut off", [.malformedList]) {
            try embedding { entry, logs in TestLog.list([try logs[0].timestamp(of: entry)]).dropLast() }
        },
        .init("in a list with trailing bytes", [.malformedList]) {
            try embedding { entry, logs in TestLog.list([try logs[0].timestamp(of: entry)]) + [0] }
        },
        .init("in an empty list", [.malformedList]) { try embedding { _, _ in [0, 0] } },
        .init("in a list with an empty element", [.malformedList]) { try embedding { _, _ in [0, 2, 0, 0] } },
        .init("in no list at all", [.malformedList]) { try embedding { _, _ in [] } },
        .init("in a list with the most elements", [CheckedTimestamp.Status](repeating: .valid, count: 16)) {
            try embedding { entry, logs in
                TestLog.list([[UInt8]](repeating: try logs[0].timestamp(of: entry), count: 16))
            }
        },
        .init("in a list with one element too many", [.malformedList]) {
            try embedding { entry, logs in
                TestLog.list([[UInt8]](repeating: try logs[0].timestamp(of: entry), count: 17))
            }
        },
        .init("in a list of the greatest length", [.malformedList]) {
            try embedding { _, _ in [0xFF, 0xFF] + [UInt8](repeating: 0, count: 0xFFFF) }
        },
    ]

    private static func staple(
        _ leaf: TestCertificate, _ issuer: TestCertificate, _ list: [UInt8]
    ) throws -> [UInt8] {
        var response = TestOCSPResponse(leaf, issuedBy: issuer)
        response.extensions = [TestLog.stapleExtension(list)]
        return try response.signed(by: issuer)
    }

    @Test("A timestamp is verified against its log, the certificate and the time", arguments: rows)
    func status(_ row: Row) throws {
        #expect(try row.claim().statuses() == row.expected)
    }

    @Test("A leaf without an issuer can't prove the timestamps inside it")
    func noIssuer() throws {
        let claim = try TransparencyClaim()
        let leaf = try X509Certificate(derBytes: claim.leaf.derBytes)
        let check = TimestampCheck(of: leaf, try claim.trust().transparency, stapledOCSP: nil, at: try claim.date)
        #expect(check.timestamps(issuer: nil).map(\.status) == [.noIssuer, .noIssuer])
    }

    @Test("A certificate with two lists of timestamps is malformed")
    func repeatedList() throws {
        let list = TestLog.certificateExtension(TestLog.list([[0]]))
        let leaf = try TestCertificate.root("Root").leaf(TestSite.host) { $0.extensions = [list, list] }
        #expect(throws: DERError.self) { try X509Certificate(derBytes: leaf.derBytes) }
    }

    @Test("A certificate whose only extension is its list is logged without extensions")
    func onlyExtension() throws {
        let issuer = try TestCertificate.root("Root")
        let log = try TestLog("A")
        var settings = TestCertificate.Settings(subject: TestName(.commonName("bare")))
        (settings.hasSubjectKeyIdentifier, settings.hasAuthorityKeyIdentifier) = (false, false)
        let leaf = try issuer.issue(settings) { [try log.timestamp(of: $0)] }
        let logs = try TransparencyLogList(json: Array(try TestLog.listJSON([log]).utf8))
        let check = TimestampCheck(
            of: try X509Certificate(derBytes: leaf.derBytes), TransparencyEvidence(logs: logs), stapledOCSP: nil,
            at: logs.published)
        #expect(check.timestamps(issuer: try X509Certificate(derBytes: issuer.derBytes)).map(\.status) == [.valid])
    }

    @Test("Every cut and every changed byte of a list of timestamps is refused without a trap")
    func mutations() throws {
        var claim = try TransparencyClaim(leaf: TransparencyClaim.silent)
        let list = TestLog.list([try claim.logs[0].timestamp(of: .certificate(claim.leaf.derBytes))])
        for length in list.indices {
            claim.handshake = Array(list.prefix(length))
            #expect(try claim.statuses() == [.malformedList])
        }
        for index in list.indices {
            var changed = list
            changed[index] ^= 1
            claim.handshake = changed
            #expect(try !claim.statuses().contains(.valid), "byte \(index)")
        }
    }
}
