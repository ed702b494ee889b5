import PinctlBasics
import Testing

@testable import PinDialects

@Suite("The time of searches")
struct SearchTimeTests {
    /// Texts in which something is repeated thousands of times.
    private static let texts: [String] = {
        let digest = SearchText("", "{A}").text
        let line = String(repeating: "MIIB", count: 16) + "\n"
        let certificate =
            "-----BEGIN CERTIFICATE-----\n" + String(repeating: line, count: 27) + digest
            + "\n-----END CERTIFICATE-----\n"
        return [
            String(repeating: certificate, count: 650),
            String(repeating: SearchText("", "# SHA256 Fingerprint: {A.colons}\n").text, count: 4_000),
            String(repeating: SearchText("", "{A.spaced} ").text, count: 4_000),
            "pins = [" + String(repeating: "'\(digest)', ", count: 4_000) + "]",
            "pins = {\n" + String(repeating: "'a.test': ['\(digest)'],\n", count: 2_000) + "}",
            String(repeating: "const name = '\(digest)'\n", count: 2_000),
            "$ORIGIN a.test.\n" + String(repeating: "_a TLSA (\n\n", count: 10_000),
        ]
    }()

    @Test(
        "The time of a search is linear in the length of a text", .timeLimit(.minutes(1)), arguments: texts.indices)
    func linear(index: Int) {
        let bytes = Array(Self.texts[index].utf8)
        _ = PinDialect.allRecognized(in: bytes)
        for name in ["pins.ts", "pins.conf"] {
            _ = PinSearch(bytes.span, path: name, name: name, at: SearchText.time, suffixes: SearchText.suffixes)
        }
    }
}
