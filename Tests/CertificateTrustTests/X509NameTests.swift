import CertificateTrust
import TestPKI
import Testing

@Suite("Certificate names")
struct X509NameTests {
    @Test(
        "are written as RFC 4514 says, with nothing that moves a cursor",
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
            (TestName(), ""),
        ])
    func text(_ name: TestName, _ expected: String) throws {
        let certificate = try TestCertificate.selfSigned(.init(subject: name))
        #expect(try X509Certificate(derBytes: certificate.derBytes).subject.description == expected)
    }
}
