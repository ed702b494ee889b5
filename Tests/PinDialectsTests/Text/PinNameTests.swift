import CertificatePinning
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Names of pins in other systems' files")
struct PinNameTests {
    struct Row: CustomTestStringConvertible {
        let title: String
        let dialect: PinDialect
        let text: String
        let names: [String?]
        var testDescription: String { title }
    }

    private static func xml(_ content: String) -> String {
        "<network-security-config><domain-config><domain>a.test</domain><pin-set>\(content)</pin-set></domain-config>"
            + "</network-security-config>"
    }

    private static func element(_ key: UInt8) -> String {
        "<pin digest=\"SHA-256\">\(ReplacingTests.base64(key))</pin>"
    }

    @Test(
        "Comments and constants that name a pin become its name",
        arguments: [
            Row(
                title: "XML, before and behind", dialect: .android,
                text: xml(
                    "\n<!-- api\n 2026 -->\n\(element(1))\n\(element(2)) <!-- spare -->\n\(element(3))\n<!-- end -->"),
                names: ["api 2026", "spare", nil]),
            Row(
                title: "XML, the last comment before a pin, and the first behind it", dialect: .android,
                text: xml("<!-- ours --><!-- now -->\(element(1))<!-- one --><!-- two -->\(element(2))"),
                names: ["one", "two"]),
            Row(
                title: "XML, comments that aren't names", dialect: .android,
                text: xml(
                    "\n<!-- see a/b -->\n\(element(1))\n<!-- -->\n\(element(2))\n"
                        + "<!-- \(String(repeating: "a", count: 65)) "
                        + "-->\n\(element(3))\n<!-- x-free -->\n\(element(4))\n<!-- \u{202E}turned -->\n\(element(5))"),
                names: [nil, nil, nil, nil, nil]),
            Row(
                title: "constants", dialect: .okhttp,
                text: """
                    object Keys { const val API_2026 = "sha256/\(ReplacingTests.base64(1))"; \
                    const val HASH = "\(ReplacingTests.base64(2))" }
                    val c = CertificatePinner.Builder()
                        .add("a.test", Keys.API_2026, "sha256/${Keys.HASH}", "sha256/\(ReplacingTests.base64(3))")
                    """, names: ["API_2026", "HASH", nil]),
            Row(
                title: "comments in Kotlin", dialect: .okhttp,
                text: """
                    val c = CertificatePinner.Builder()
                        .add("a.test",
                            "sha256/\(ReplacingTests.base64(1))", // one
                            // not a name
                            "sha256/\(ReplacingTests.base64(2))", /* two */
                            "sha256/\(ReplacingTests.base64(3))" // three
                        )
                        .add("a.test", "sha256/\(ReplacingTests.base64(4))") // four
                        .add("a.test", "sha256/\(ReplacingTests.base64(5))", \
                    "sha256/\(ReplacingTests.base64(6))") // both
                        .add("a.test", "sha256/\(ReplacingTests.base64(1))") // again
                    """, names: ["one", "two", "three", "four", nil, nil]),
            Row(
                title: "a constant and a comment", dialect: .okhttp,
                text: """
                    private static final String NOW = "sha256/\(ReplacingTests.base64(1))";
                    new CertificatePinner.Builder().add("a.test", NOW) // rotates soon
                    """, names: ["NOW"]),
        ])
    func names(_ row: Row) throws {
        let reading = try row.dialect.read(Array(row.text.utf8), path: "f")
        #expect(reading.policy.rules.flatMap(\.pins).map(\.name) == row.names)
    }

    @Test("The names of a written Kotlin file are read back")
    func written() throws {
        let pins = [UInt8(1), 2].map {
            CanonicalPin(.publicKey, .sha256, [UInt8](repeating: $0, count: 32), name: "key \($0)")
        }
        let policy = CanonicalPolicy(
            rules: [CanonicalRule(patterns: [HostPattern("a.test", .exact)], pins: pins)], combination: .union)
        let reading = try PinDialect.okhttp.read(try PinDialect.okhttp.write(policy), path: "Pins.kt")
        #expect(reading.policy.rules.map(\.pins) == [pins])
    }

    @Test("A name that two keys share isn't written to a policy")
    func sharedName() throws {
        let text = Self.xml(
            "\(Self.element(1))<!-- key -->\(Self.element(2))<!-- key -->\(Self.element(3))<!-- one -->")
        let reading = try PinDialect.android.read(Array(text.utf8), path: "f")
        let file = try PolicyFile(bytes: PinDialect.policy.write(reading.policy), path: "p.jsonc")
        #expect(file.root["pins"]?.members?.map(\.key) == ["one"])
    }
}
