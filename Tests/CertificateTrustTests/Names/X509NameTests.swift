import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("Certificate names")
struct X509NameTests {
    @Test(
        "Names are written as RFC 4514 specifies, and characters that move the cursor are escaped",
        arguments: [
            (
                TestName(.country("US"), .organization("Example, Inc."), .commonName("Root #1")),
                #"CN=Root #1,O=Example\, Inc.,C=US"#
            ),
            (TestName(.commonName("#x")), ##"CN=\#x"##),
            (TestName(.commonName(" a ")), #"CN=\ a\ "#),
            (TestName(.commonName(#"a"b+c;d<e>f\g"#)), #"CN=a\"b\+c\;d\<e\>f\\g"#),
            (TestName(.commonName("Zürich 東京")), "CN=Zürich 東京"),
            (
                TestName(.commonName("a\u{1B}[2Jb\nc\u{202E}d\u{200B}e\u{9B}f\0g")),
                #"CN=a\u{1B}[2Jb\u{A}c\u{202E}d\u{200B}e\u{9B}f\u{0}g"#
            ),
            (TestName(TestName.Attribute("1.2.3.4", "x")), "1.2.3.4=x"),
            (TestName(.commonName(" ü, #")), #"CN=\ ü\, #"#), (TestName(.commonName("#ü ")), ##"CN=\#ü\ "##),
            (TestName(.commonName("a\\\u{202E}")), #"CN=a\\\u{202E}"#), (TestName(.commonName(" ")), #"CN=\ "#),
            (TestName(.commonName("")), "CN="),
            (
                TestName(
                    TestName.Attribute("2.5.4.97", "x"), TestName.Attribute("2.5.4.42", "y"),
                    TestName.Attribute("1.2.840.113549.1.9.1", "a@b")),
                "emailAddress=a@b,2.5.4.42=y,organizationIdentifier=x"
            ),
            (
                TestName(.commonName(String(repeating: "a", count: 255) + ", b")),
                "CN=" + String(repeating: "a", count: 255) + "\\,…"
            ),
            (TestName(), ""),
        ])
    func text(_ name: TestName, _ expected: String) throws {
        let certificate = try TestCertificate.selfSigned(.init(subject: name))
        #expect(try X509Certificate(derBytes: certificate.derBytes).subject.description == expected)
    }
}
