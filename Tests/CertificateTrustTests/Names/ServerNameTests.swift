import CertificateTrust
import Testing

@Suite("Server names")
struct ServerNameTests {
    @Test(
        "A server name is parsed into one canonical spelling",
        arguments: [
            ("example.com", "example.com"), ("EXAMPLE.Com", "example.com"), ("example.com.", "example.com"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("localhost", "localhost"),
            ("_dmarc.example.com", "_dmarc.example.com"), ("a-b.example", "a-b.example"), ("1a.example", "1a.example"),
            ("192.0.2.1", "192.0.2.1"), ("::1", "::1"), ("[::1]", "::1"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
            ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
            ("1:0:0:2:0:0:0:3", "1:0:0:2::3"), ("::", "::"), ("1::", "1::"),
        ])
    func canonical(_ text: String, _ expected: String) throws {
        #expect(try ServerName(text).description == expected)
    }

    @Test("A server name has at most 253 bytes, in labels of at most 63")
    func longest() throws {
        let label = String(repeating: "a", count: 63)
        let name = [label, label, label, String(repeating: "b", count: 61)].joined(separator: ".")
        #expect(try ServerName(name).description == name)
        #expect(throws: ServerNameError.tooLong(name + "b")) { try ServerName(name + "b") }
        #expect(throws: ServerNameError.malformed(label + "a.test")) { try ServerName(label + "a.test") }
    }

    @Test(
        "HM1, HM7, HM10: text that is neither a hostname nor an address is rejected",
        arguments: [
            "", " ", ".", "..", "a..b", ".example.com", "*", "*.example.com", "example.com..", "exa mple.com",
            "example.com:443", "https://example.com", "example.com/", "user@example.com", "good.com\0.evil.com",
            "good.com%00.evil.com", "-a.example", "a-.example", "bücher.example", "ba\u{212A}.test",
            "ex\u{AD}ample.com",
            "ｅxample.com", "127.1", "127.0.0.01", "127.0.0.1 ", "0x7f.0.0.1", "0x7f000001", "2130706433", "256.1.1.1",
            "1.2.3.4.5", "example.123", "[::1", "::1]", "[192.0.2.1]", "fe80::1%lo", "fe80::1%25lo", ":::", "1::2::3",
            "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::12345", "1:2:3:4:5:6:7::8", "::1.2.3", "1:", ":1",
        ])
    func refused(_ text: String) {
        #expect(throws: ServerNameError.self) { try ServerName(text) }
    }

    @Test(
        "HM5: the error for a name beyond ASCII asks for its A-label, and has it if clients agree on it",
        arguments: [
            ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
            ("例え.テスト", "xn--r8jz45g.xn--zckzah"), ("ba\u{212A}.test", nil), ("ｅxample.com", nil),
            ("straße.test", nil), ("bu\u{308}cher.example", nil), ("a。test", nil), ("a\u{200D}b.test", nil),
        ])
    func notASCII(_ text: String, label: String?) {
        #expect(throws: ServerNameError.notASCII(text)) { try ServerName(text) }
        #expect(
            ServerNameError.notASCII(text).description.hasSuffix(
                "is not ASCII: use its A-label, \(label ?? "which starts with xn--")"))
    }

    @Test(
        "DNS names are matched by the rules of RFC 9525",
        arguments: [
            ("example.com", "example.com", true), ("example.com", "EXAMPLE.COM", true),
            ("example.com", "example.com.", false), ("www.example.com", "example.com", false),
            ("a.example.com", "*.example.com", true), ("A.Example.com", "*.EXAMPLE.com", true),
            ("example.com", "*.example.com", false), ("a.b.example.com", "*.example.com", false),
            ("xn--a.example.com", "*.example.com", true), ("foo.example.com", "f*o.example.com", false),
            ("foo.example.com", "*o.example.com", false), ("foo.example.com", "f*.example.com", false),
            ("a.b.example.com", "a.*.example.com", false), ("a.b.example.com", "*.*.example.com", false),
            ("example.com", "*.com", false), ("com", "*", false), ("xn--a.example", "xn--*.example", false),
            ("good.com", "good.com\0.evil.com", false), ("example.com", "", false), ("example.com", ".", false),
            ("192.0.2.1", "192.0.2.1", false), ("192.0.2.1", "*.0.2.1", false), ("localhost", "localhost", true),
            // KELVIN SIGN, LATIN SMALL LETTER LONG S and other letters that Unicode folds to ASCII letters.
            ("k.test", "\u{212A}.test", false), ("k.test", "K.test", true), ("a.k.test", "*.\u{212A}.test", false),
            ("s.test", "\u{17F}.test", false), ("i.test", "\u{130}.test", false), ("k.test", "ｋ.test", false),
        ] as [(String, String, Bool)])
    func matching(_ name: String, _ entry: String, _ expected: Bool) throws {
        #expect(try ServerName(name).matches(.dns(Array(entry.utf8))) == expected)
    }

    @Test(
        "HM10: addresses match only byte for byte",
        arguments: [
            ("192.0.2.1", [192, 0, 2, 1], true), ("192.0.2.1", [192, 0, 2, 2], false),
            ("::1", [UInt8](repeating: 0, count: 15) + [1], true), ("192.0.2.1", [192, 0, 2, 1, 255], false),
            ("::ffff:192.0.2.1", [192, 0, 2, 1], false), ("192.0.2.1", [], false),
            ("example.com", [192, 0, 2, 1], false),
        ] as [(String, [UInt8], Bool)])
    func addresses(_ name: String, _ bytes: [UInt8], _ expected: Bool) throws {
        #expect(try ServerName(name).matches(.ipAddress(bytes)) == expected)
    }

    @Test("HM14: no other kind of alternative name matches")
    func otherKinds() throws {
        let name = try ServerName("example.com")
        for tag in UInt8(0)...8 { #expect(!name.matches(.other(tag: tag, contents: Array("example.com".utf8)))) }
    }
}
