import Foundation
import OpenSSLBridge
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// Timestamps verified by two implementations: this one, and pyca/cryptography, which rebuilds the precertificate and
/// verifies the signatures by its own code.
@Suite(
    "Timestamps and pyca/cryptography",
    .enabled(
        if: TestCommand.isPresent("python3", "-c", "import cryptography"),
        "python3-cryptography is not installed: timestamps are not compared with another verifier"))
struct TimestampPeerTests {
    /// A leaf with timestamps inside, the key that its issuer is said to have, and the logs' keys.
    private struct Case: Encodable {
        let leaf: Data
        let issuerKeyHash: Data
        let keys: [Data]
    }

    private static let script = """
        import base64, calendar, hashlib, json, struct, sys, warnings
        from cryptography import x509
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec, padding
        warnings.simplefilter("ignore")

        def verifies(sct, key, part, issuer_key_hash):
            time = calendar.timegm(sct.timestamp.timetuple()) * 1000 + sct.timestamp.microsecond // 1000
            data = struct.pack(">BBQH", 0, 0, time, 1) + issuer_key_hash + struct.pack(">I", len(part))[1:] + part
            data += struct.pack(">H", len(sct.extension_bytes)) + sct.extension_bytes
            scheme = [] if isinstance(key, ec.EllipticCurvePublicKey) else [padding.PKCS1v15()]
            try:
                key.verify(sct.signature, data, *(scheme + [hashes.SHA256()] \
        if scheme else [ec.ECDSA(hashes.SHA256())]))
                return True
            except InvalidSignature:
                return False

        for case in json.load(sys.stdin):
            leaf = x509.load_der_x509_certificate(base64.b64decode(case["leaf"]))
            keys = {}
            for der in map(base64.b64decode, case["keys"]):
                keys[hashlib.sha256(der).digest()] = serialization.load_der_public_key(der)
            scts = leaf.extensions.get_extension_for_class(x509.PrecertificateSignedCertificateTimestamps).value
            issuer = base64.b64decode(case["issuerKeyHash"])
            part = leaf.tbs_precertificate_bytes
            print(*["valid" if s.log_id in keys and verifies(s, keys[s.log_id], part, issuer) \
        else "invalid" for s in scts])
        """

    /// Returns a line for each case, with a word for each timestamp.
    private static func answers(_ cases: [Case]) throws -> [String] {
        let input = String(decoding: try JSONEncoder().encode(cases), as: UTF8.self)
        let run = try TestCommand.run(["python3", "-c", script], input: input, environment: ["PATH=/usr/bin:/bin"])
        try #require(run.status == 0, "\(run.text)")
        return run.text.split(separator: "\n").map(String.init)
    }

    @Test("Both find the same timestamps valid, whatever was signed by whom")
    func minted() throws {
        let rsa = try TestLog("RSA", key: .shared(.rsa2048))
        let (a, b) = (try TestLog("A"), try TestLog("B"))
        let logs = [a, b, rsa]
        let keys = try logs.map { Data(try $0.key.publicKeyDER) }
        let list = try TransparencyLogList(json: Array(try TestLog.listJSON(logs).utf8))
        let evidence = TransparencyEvidence(logs: list)
        let root = try TestCertificate.root("Root")
        let unknown = try TestLog("Unknown")
        /// The fields that each timestamp of a leaf has.
        let variants: [@Sendable (inout TestLog.Fields) throws -> Void] = [
            { _ in }, { $0.extensions = [1, 2, 3] }, { $0.milliseconds = 1_600_000_000_123 }, { $0.milliseconds = 0 },
            { $0.signer = unknown.key }, { $0.extensions = [UInt8](repeating: 7, count: 300) },
        ]
        var (cases, ours): ([Case], [String]) = ([], [])
        for key in [try TestKey(), try .shared(.p384), try .shared(.rsa2048)] {
            let issuer = try root.intermediate("Issuer", key: key)
            for variant in variants {
                let leaf = try issuer.issue(TestCertificate.Settings.server([TestSite.host])) { entry in
                    try (logs + [unknown]).map { log in
                        var fields = TestLog.Fields()
                        try variant(&fields)
                        return try log.timestamp(of: entry) { $0 = fields }
                    }
                }
                let check = TimestampCheck(
                    of: try X509Certificate(derBytes: leaf.derBytes), evidence, stapledOCSP: nil, at: list.published)
                // The certificate above the leaf, and one that isn't its issuer.
                for above in [issuer, root] {
                    cases.append(
                        Case(
                            leaf: Data(leaf.derBytes), issuerKeyHash: Data(try above.key.publicKeyDigest), keys: keys))
                    let statuses = check.timestamps(issuer: try X509Certificate(derBytes: above.derBytes)).map(\.status)
                    ours.append(statuses.map { $0 == .valid ? "valid" : "invalid" }.joined(separator: " "))
                }
            }
        }
        let theirs = try Self.answers(cases)
        #expect(theirs == ours)
        #expect(ours.count == 36)
        #expect(ours.joined().ranges(of: "invalid").count == 36 + 3 * 18 + 3 * 3)
    }

    /// The logs that GitHub's certificate of 2016 names: Google's Pilot and Aviator, and DigiCert's first one.
    private static let realLogs = [
        "fahLEimAoz2t01p3uMziiLOl/fHTDM0YDOhBRuiBARsV4UvxG2LdNgoIGLrtCzWE0J5APC2em4JlvR8EEEFMoA==",
        "1/TMabLkDpCjiupacAlP7xNi0I1JYP8bQFAHDG1xhtolSY1l4QgNRzRrvSe8liE+NPWHdjGxfx3JhTsN9x8/6Q==",
        "AkbFvhu7gkAW6MHSrBlpE1n4+HCFRkC5OLAjgqhkTH+/uzSfSl8ois8ZxAD2NgaTZe1M9akhYlrYkes4JECs6A==",
    ]

    @Test(
        "Both find the timestamps of real logs in GitHub's certificate of 2016 valid",
        .enabled(if: RealCertificates.all != nil, RealCertificates.skipped))
    func real() throws {
        let leaf = try #require(RealCertificates.all?["hpkpgo-github-2016"])
        // The key of its issuer, DigiCert SHA2 Extended Validation Server CA, by its pin: nobody needs the certificate.
        let issuer = try #require(SPKIFingerprint("sha256/RRM1dGqnDFsCJXBTHky16vi1obOlCgFFn/yOhI/y+ho="))
        let hash = Array(copying: issuer.bytes.span)
        let keys = try Self.realLogs.map { point in
            try #require(Data(base64Encoded: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE" + point))
        }
        let theirs = try Self.answers([Case(leaf: Data(leaf.derBytes), issuerKeyHash: Data(hash), keys: keys)])
        #expect(theirs == ["valid valid valid"])
        guard case .precertificate(let part, _) = try LoggedEntry.precertificate(of: leaf, issuer: leaf) else {
            Issue.record("not a precertificate")
            return
        }
        let entry = LoggedEntry.precertificate(signedPart: part, issuerKeyHash: hash)
        let list = try #require(try leaf.timestampList().flatMap { TimestampList($0.span) })
        var verified = 0
        for case .timestamp(let timestamp) in list.elements {
            let key = try #require(keys.first { Data(sha256Digest(Array($0).span)) == Data(timestamp.logID) })
            let (spki, data) = (Array(key), entry.signedData(timestamp))
            var changed = data
            changed[9] ^= 1
            let signature = timestamp.signature
            let isValid = verifySignature(of: data.span, signature.span, by: spki.span, .sha256)
            let isChangedValid = verifySignature(of: changed.span, signature.span, by: spki.span, .sha256)
            #expect(isValid && !isChangedValid)
            verified += 1
        }
        #expect(verified == 3 && list.elements.count == 3)
    }
}
