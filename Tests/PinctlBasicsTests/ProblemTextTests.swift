import PinctlBasics
import Testing

@Suite("Texts of a problem and a remedy")
struct ProblemTextTests {
    @Test(
        "A text is divided at its last colon before a space",
        arguments: [
            ("it expired: renew it", "it expired", "renew it"),
            ("a.test:443: it expired: renew it", "a.test:443: it expired", "renew it"),
            ("the port a.test:443 is closed", "the port a.test:443 is closed", nil), ("", "", nil), (": ", "", ""),
            ("ends with a colon:", "ends with a colon:", nil),
        ])
    func parts(text: String, problem: String, remedy: String?) {
        #expect(ProblemText(text).problem == problem)
        #expect(ProblemText(text).remedy == remedy)
    }
}
