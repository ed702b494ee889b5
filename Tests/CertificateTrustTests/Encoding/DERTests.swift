import OpenSSLBridge
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import CertificateTrust

@Suite("DER")
struct DERTests {
    private func element(_ bytes: [UInt8]) throws(DERError) -> DERElement {
        var cursor = DERCursor(0..<bytes.count)
        return try cursor.next(bytes.span)
    }

    @Test("Lengths in their shortest form are read")
    func lengths() throws {
        #expect(try element([0x04, 0x00]).contents == 2..<2)
        #expect(try element([0x04, 0x01, 0xFF]).contents == 2..<3)
        #expect(try element([0x04, 0x81, 0x80] + [UInt8](repeating: 0, count: 128)).contents == 3..<131)
        #expect(try element([0x04, 0x82, 0x01, 0x00] + [UInt8](repeating: 0, count: 256)).contents == 4..<260)
    }

    @Test(
        "CB21: truncated elements and lengths or tags that aren't DER are rejected with the reason",
        arguments: [
            ([0x30], .truncated(offset: 0, needed: 1)), ([], .truncated(offset: 0, needed: 2)),
            ([0x30, 0x80, 0x00, 0x00], .invalidLength(offset: 0)),
            ([0x04, 0x81, 0x01, 0xFF], .invalidLength(offset: 0)),
            ([0x04, 0x82, 0x00, 0x80], .invalidLength(offset: 0)),
            ([0x04, 0x85, 1, 1, 1, 1, 1], .invalidLength(offset: 0)),
            ([0x04, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], .truncated(offset: 0, needed: 0xFFFF_FFFF)),
            ([0x04, 0x82, 0x01], .truncated(offset: 0, needed: 1)),
            ([0x04, 0x02, 0x00], .truncated(offset: 0, needed: 1)),
            ([0x1F, 0x81, 0x00, 0x00], .invalidValue(what: "tag", offset: 0)),
        ] as [([UInt8], DERError)])
    func refused(_ bytes: [UInt8], _ expected: DERError) {
        #expect(throws: expected) { try element(bytes) }
    }

    @Test("CB21: a key or signature with unused bits is rejected, although OpenSSL reads the same key in it")
    func unusedBits() throws {
        var key = try TestKey()
        while try key.publicKeyDER.last! & 1 == 1 { key = try TestKey() }
        let root = try TestCertificate.root("Root", key: key)
        let layout = try CertificateLayout(root.derBytes.span)
        var other = try key.publicKeyDER
        other[25] = 1
        let signature = Array(root.derBytes[layout.signature].dropFirst(3))
        let isSigned = verifySignature(
            of: root.derBytes.span.extracting(layout.signed),
            algorithm: root.derBytes.span.extracting(layout.signatureAlgorithms.outer),
            signature: signature.span, by: other.span)
        #expect(isSigned)

        #expect(throws: DERError.invalidValue(what: "key or signature (not whole bytes)", offset: 23)) {
            try SubjectPublicKeyInfo(derBytes: other)
        }
        #expect(throws: DERError.self) {
            try X509Certificate(derBytes: TestCertificate.root("Root") { $0.subjectPublicKeyInfo = other }.derBytes)
        }
        var unsigned = root.derBytes
        unsigned[layout.signature.lowerBound + 2] = 1
        #expect(
            throws: DERError.invalidValue(
                what: "key or signature (not whole bytes)", offset: layout.signature.lowerBound)
        ) {
            try X509Certificate(derBytes: unsigned)
        }
    }

    @Test(
        "DER times are read to the second, and invalid times are rejected",
        arguments: [
            (0x17, "700101000000Z", 0), (0x17, "500101000000Z", -631_152_000), (0x17, "491231235959Z", 2_524_607_999),
            (0x18, "20500101000000Z", 2_524_608_000), (0x18, "99991231235959Z", 253_402_300_799),
            (0x18, "20240229120000Z", 1_709_208_000), (0x17, "000229000000Z", 951_782_400),
            (0x18, "20230229120000Z", nil), (0x17, "260230000000Z", nil), (0x17, "261301000000Z", nil),
            (0x17, "260101240000Z", nil), (0x17, "260101000060Z", nil), (0x17, "2601010000Z", nil),
            (0x17, "260101000000+0000", nil), (0x18, "20260101000000.5Z", nil), (0x17, "26010100000aZ", nil),
            (0x16, "260101000000Z", nil), (0x17, "", nil),
        ] as [(UInt8, String, Int64?)])
    func times(_ tag: UInt8, _ text: String, _ expected: Int64?) {
        let bytes = [tag, UInt8(text.utf8.count)] + Array(text.utf8)
        #expect((try? DERTime.seconds(bytes.span, 0..<bytes.count)) == expected)
    }

    @Test("CivilTime is the inverse of seconds since 1970 from year 0 to 9999")
    func civilTime() throws {
        #expect(try #require(CivilTime(secondsSince1970: 0)).description == "1970-01-01T00:00:00Z")
        #expect(try #require(CivilTime(secondsSince1970: 1_795_200_528)).description == "2026-11-20T18:48:48Z")
        #expect(CivilTime(secondsSince1970: 253_402_300_800) == nil)
        #expect(CivilTime(secondsSince1970: Int64.min) == nil)
        for day in stride(from: Int64(-719_528), through: 2_932_896, by: 97) {
            let seconds = day * 86_400 + 86_399
            #expect(CivilTime(secondsSince1970: seconds)?.secondsSince1970 == seconds)
        }
    }

    @Test("Base64 is decoded only in its canonical spelling")
    func canonicalBase64() throws {
        #expect(Base64.decodeCanonical(Array("Zm9vYg==".utf8)) == Array("foob".utf8))
        #expect(Base64.decodeCanonical(Array("Zm9vYmE=".utf8)) == Array("fooba".utf8))
        #expect(Base64.decodeCanonical(Array("Zm9vYmFy".utf8)) == Array("foobar".utf8))
        for text in [
            "", "Zm9vYg", "Zm9vYg=", "Zm9vYh==", "Zm9v\nYg==", " Zm9v", "Zm9-", "Zm9_", "=m9v", "Zm=v", "Zm9v====",
            "Zg===", "Zm9v    ", "Zm9v\r\n\r\n",
        ] {
            #expect(Base64.decodeCanonical(Array(text.utf8)) == nil, "\(text)")
        }
        for count in 0..<70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37) }
            let text = Base64.encode(bytes.span)
            #expect(count == 0 || Base64.decodeCanonical(Array(text.utf8)) == bytes)
        }
    }
}
