import Testing

@testable import PinnedNetworking

@Suite struct BasicTests {
    @Test(
        "A Basic credential is user and password in UTF-8",
        arguments: [
            // RFC 7617, sections 2 and 2.1.
            ("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("test", "123£", "dGVzdDoxMjPCow=="),
            ("", "", "Og=="),
            ("a", "b:c", "YTpiOmM="),
            ("u", "e\u{301}", "dTrDqQ=="),
            // curl's test 1204.
            ("testuser", "testpass", "dGVzdHVzZXI6dGVzdHBhc3M="),
        ])
    func values(user: String, password: String, expected: String) throws {
        #expect(try BasicAuthorization.value(user: user, password: password) == "Basic " + expected)
    }

    @Test("A user or password that Basic can't represent is rejected (HA16)")
    func refusals() {
        #expect(throws: CredentialProblem.colonInUserName) {
            try BasicAuthorization.value(user: "a:b", password: "c")
        }
        for text in ["a\r\nb", "\u{0}", "\t", "\u{7F}", "\u{9F}"] {
            #expect(throws: CredentialProblem.controlCharacter) {
                try BasicAuthorization.value(user: text, password: "")
            }
            #expect(throws: CredentialProblem.controlCharacter) {
                try BasicAuthorization.value(user: "", password: text)
            }
        }
    }
}
