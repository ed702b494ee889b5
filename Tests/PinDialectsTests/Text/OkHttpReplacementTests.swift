import CertificatePinning
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Replacing the pins in a Kotlin or Java file")
struct OkHttpReplacementTests {
    /// Returns the text with the pin of a key for `K1`, `K2` and `K3`.
    private static func text(_ text: String) -> String {
        (UInt8(1)...3).reduce(text) { $0.replacing("K\($1)", with: ReplacingTests.pin($1).description) }
    }

    private static let policy = CanonicalPolicy(
        rules: [
            CanonicalRule(
                patterns: [HostPattern("a.test", .exact)],
                pins: [ReplacingTests.pin(1, name: "now"), ReplacingTests.pin(2)]),
            CanonicalRule(patterns: [HostPattern("b.test", .exactAndBelow)], pins: [ReplacingTests.pin(3)]),
        ], combination: .union)

    struct Row: CustomTestStringConvertible {
        let title: String
        let old: String
        let new: String
        var testDescription: String { title }
    }

    @Test(
        "Only the calls whose pins change are replaced, and the result means the policy",
        arguments: [
            Row(
                title: "changed, kept, removed and added",
                old: """
                    // Ours.\r
                    val c = CertificatePinner.Builder()\r
                    \t.add("a.test", "K3")\r
                    \t.add("old.test", "K1") .add("**.b.test", "K3")\r
                    \t.build() // end\r
                    """,
                new: """
                    // Ours.\r
                    val c = CertificatePinner.Builder()\r
                    \t.add("a.test", "K1", "K2")\r
                    \t.add("**.b.test", "K3")\r
                    \t.build() // end\r
                    """),
            Row(
                title: "nothing changes",
                old: """
                    CertificatePinner c = new CertificatePinner.Builder()
                        // staging too
                        .add("a.test", "K1") // now
                        .add("a.test", /* next */ "K2").add("**.b.test", "K3").build();
                    """,
                new: """
                    CertificatePinner c = new CertificatePinner.Builder()
                        // staging too
                        .add("a.test", "K1") // now
                        .add("a.test", /* next */ "K2").add("**.b.test", "K3").build();
                    """),
            Row(
                title: "one call for each pin",
                old: """
                    CertificatePinner c = new CertificatePinner.Builder()
                        .add("a.test", "K1")
                        .add("a.test", "K3")
                        .build();
                    """,
                new: """
                    CertificatePinner c = new CertificatePinner.Builder()
                        .add("a.test", "K1")
                        .add("a.test", "K2")
                        .add(
                            "**.b.test",
                            "K3"
                        )
                        .build();
                    """),
            Row(
                title: "no calls yet",
                old: "  val c = CertificatePinner.Builder().build()\n",
                new: """
                      val c = CertificatePinner.Builder()
                          .add(
                              "a.test",
                              "K1",  // now
                              "K2"
                          )
                          .add(
                              "**.b.test",
                              "K3"
                          ).build()

                    """),
            Row(
                title: "names of pins behind them",
                old: """
                    val c = CertificatePinner.Builder()
                        .add(
                            "a.test",
                            "K1",  // then
                            "K3"  // last
                        )
                        .add("**.b.test", "K3")
                        .build()
                    """,
                new: """
                    val c = CertificatePinner.Builder()
                        .add(
                            "a.test",
                            "K1",  // then
                            "K2"
                        )
                        .add("**.b.test", "K3")
                        .build()
                    """),
        ])
    func replaced(_ row: Row) throws {
        let bytes = Array(Self.text(row.old).utf8)
        let result = try PinDialect.okhttp.replacing(bytes, path: "Pins.kt", with: Self.policy)
        #expect(String(decoding: result, as: UTF8.self) == Self.text(row.new))
        let reading = try PinDialect.okhttp.read(result, path: "Pins.kt")
        #expect(Self.policy.differences(in: reading.policy) == [])
        #expect(reading.notes == [])
        #expect(try PinDialect.okhttp.replacing(result, path: "Pins.kt", with: Self.policy) == result)
    }

    @Test(
        "A file in which something other than strings in one chain would change is refused",
        arguments: [
            ("val x = 1", "there is no CertificatePinner.Builder() here"),
            (#"CertificatePinner.Builder().add("a.test", NOW).build()"#, "1:43: only strings can be replaced"),
            (#"CertificatePinner.Builder().add(HOST, "K1").build()"#, "1:33: only strings can be replaced"),
            (#"CertificatePinner.Builder().add("$HOST.test", "K1").build()"#, "1:33: only strings can be replaced"),
            (#"CertificatePinner.Builder().add("a.test", "K1" + X).build()"#, "1:43: only strings can be replaced"),
            (#"CertificatePinner.Builder().add(pattern = "a.test", "K1").build()"#, "1:33: only strings"),
            (#"CertificatePinner.Builder().add("a.test", *pins).build()"#, "1:43: only strings can be replaced"),
            (
                "val a = CertificatePinner.Builder().build()\nval b = CertificatePinner.Builder().build()",
                "2:9: there is more than one CertificatePinner"
            ),
            (
                "val b = CertificatePinner.Builder()\nb.add(\"a.test\", \"K1\")",
                "2:3: this call of add isn't in the chain"
            ),
            (
                #"CertificatePinner.Builder().apply { add("a.test", "K1") }.build()"#,
                "1:37: this call of add isn't in the chain"
            ),
            ("val K = \"K1\"\nCertificatePinner.Builder().build()", "1:9: this pin isn't in a call of add"),
            ("CertificatePinner.DEFAULT", "only CertificatePinner.Builder() can be changed"),
            (#"CertificatePinner.Builder().add("a.test", "K1","#, "isn't closed"),
        ])
    func refused(_ text: String, _ message: String) {
        do throws(DialectWriteError) {
            let result = try PinDialect.okhttp.replacing(
                Array(Self.text(text).utf8), path: "Pins.kt", with: Self.policy)
            Issue.record("\(text) became \(String(decoding: result, as: UTF8.self))")
        } catch {
            #expect(error.description.contains(message), "\(error)")
        }
    }
}
