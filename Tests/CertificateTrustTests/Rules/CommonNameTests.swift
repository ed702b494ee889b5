import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("Common names in the strict profile")
struct CommonNameTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let commonName: String
        let isMisleading: Bool

        var testDescription: String { commonName.debugDescription }
    }

    private static let rows =
        [
            "api.example.test", "192.168.1.1", "Example server", "Straße 5", "xn--strae-oqa 5", "other.example.test",
            // Addresses that aren't in the certificate, and numbers that aren't addresses.
            "192.168.1.2", "192.168.1", "3232235778", "0300.0250.1.2", "192.168.1.256", "192.168.65536", "4294967296",
            "1.2.3.4.5", "192.168.1.-1", "+3232235777", "192.168.1.0x", "0399.0250.1.1", "192.168..1",
        ].map { Row(commonName: $0, isMisleading: false) }
        + [
            "API.example.test", "api.example.test.", "Api.Example.Test.", "api\u{3002}example\u{FF0E}test",
            "xn--strae-oqa.example.test", "straße.example.test", "api.example.test\0", "api.example.test\0.evil.test",
            // The spellings of 192.168.1.1 that inet_aton reads, with decimal, octal and hexadecimal numbers.
            "192.168.001.001", "0300.0250.1.1", "0300.0250.0401", "192.168.257", "192.11010305", "3232235777",
            "030052000401", "0xC0A80101", "0xc0.0XA8.1.1", "2001:DB8:0:0:0:0:0:1",
        ].map { Row(commonName: $0, isMisleading: true) }

    @Test(
        "A common name is rejected exactly if some reader takes it for another spelling of an alternative name (HM6)",
        arguments: rows)
    func spelling(_ row: Row) throws {
        var claim = try ChainVariant.leaf("common name") { settings in
            settings.subject = TestName(.commonName(row.commonName))
            settings.alternativeNames += [
                .ip([192, 168, 1, 1]), .ip([0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [1]),
            ]
        }.claim()
        claim.policy = .strict
        #expect(try claim.verdict() == (row.isMisleading ? "common-name" : "accepted"))
        claim.policy = .default
        #expect(try claim.verdict() == "accepted")
    }
}
