import CertificatePinning
import CertificateTrust
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Cronet's pins")
struct CronetTests {
    private static let first = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    private static let second = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    private static let hex = String(repeating: "02", count: 32)

    private static func source(_ text: String) -> [UInt8] {
        let pin = #"Base64.decode("PIN1", Base64.DEFAULT)"#
        return Array(
            text.replacing("ARGUMENTS", with: "setOf(\(pin)), true, Date(1798761600000L)").replacing(
                "SET", with: "setOf(\(pin))"
            )
            .replacing("PIN1", with: first).replacing("PIN2", with: second).replacing("HEX", with: hex).utf8)
    }

    /// Eight times these numbers.
    private static func numbers(_ four: String) -> String {
        Array(repeating: four, count: 8).joined(separator: ", ")
    }

    private func reading(_ text: String, path: String = "Engine.kt") throws(PolicyFileError) -> DialectReading {
        try PinDialect.cronet.read(Self.source(text), path: path)
    }

    /// Each rule as a line: its host, with `+` for those below, the first bytes of its pins, and its end.
    private func rules(_ text: String, path: String = "Engine.kt") throws(PolicyFileError) -> [String] {
        try reading(text, path: path).policy.rules.map { rule in
            let pattern = rule.patterns[0]
            let end: String =
                if case .instant(let seconds)? = rule.expiry?.moment { " until \(seconds)" } else { "" }
            return pattern.host + (pattern.scope == .exactAndBelow ? "+" : "")
                + rule.pins.map { " \($0.value.first ?? 0xFF)" }.joined() + end
        }
    }

    private func problems(_ text: String) -> [String] {
        do throws(PolicyFileError) {
            _ = try reading(text)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test(
        "A call pins the keys of a host, and of those below it, up to a time",
        arguments: [
            (#"b.addPublicKeyPins("A.Test", SET, true, Date(1798761600000L))"#, ["a.test+ 0 until 1798761600"]),
            (
                """
                val engine = CronetEngine.Builder(context)
                    .addPublicKeyPins("a.test", setOf("PIN1".decodeBase64()!!.toByteArray(), "HEX".decodeHex()
                        .toByteArray()), false, Date.from(Instant.parse("2027-01-01T00:00:00Z")))
                    .addPublicKeyPins("b.test", hashSetOf("HEX".hexToByteArray()), true, Date(Long.MAX_VALUE)).build()
                """, ["a.test 0 2 until 1798761600", "b.test+ 2"]
            ),
            (
                """
                const val HASH = "PIN1"
                private val PINS: Set<ByteArray> = setOf(Base64.decode(HASH, Base64.NO_WRAP or Base64.URL_SAFE))
                const val SUBDOMAINS = true
                val END: Instant = Instant.ofEpochSecond(1_798_761_600)
                val e = HttpEngine.Builder(c).apply { addPublicKeyPins("a.test", PINS, SUBDOMAINS, END) }
                """, ["a.test+ 0 until 1798761600"]
            ),
            (
                """
                for ((host, pin) in mapOf("a.test" to "PIN1", "b.test" to "PIN2"))
                    b.addPublicKeyPins(host, setOf(Base64.decode(pin, 0)), false, Date(0))
                """, ["a.test 0 until 0", "b.test 1 until 0"]
            ),
            (
                "val P = byteArrayOf(\(numbers("0x7F, -1, 0xFF.toByte(), 12")))\n"
                    + #"b.addPublicKeyPins("a.test", setOf(P), true, Instant.MAX_TIME)"#.replacing(
                        "Instant.MAX_TIME", with: "Instant.ofEpochMilli(1798761600999)"),
                ["a.test+ 127 until 1798761600"]
            ),
        ])
    func calls(_ text: String, _ expected: [String]) throws {
        #expect(try rules(text) == expected)
    }

    @Test("Java's calls are read")
    func java() throws {
        let text = """
            class Engine {
              private static final byte[] PIN = Base64.getDecoder().decode("PIN1");
              static final Set<byte[]> PINS =
                  new HashSet<>(Arrays.asList(PIN, java.util.Base64.getDecoder().decode("PIN2")));
              private static final Date END = new Date(1798761600000L);
              CronetEngine engine = new CronetEngine.Builder(context).addPublicKeyPins("a.test", PINS, false, END)
                  .addPublicKeyPins("b.test", Collections.singleton(new byte[] {
                      \(Self.numbers("(byte) 0xFE, 1, -2, 3")) }), true, END).build();
            }
            """
        #expect(
            try rules(text, path: "Engine.java") == ["a.test 0 1 until 1798761600", "b.test+ 254 until 1798761600"])
    }

    @Test(
        "An argument that isn't known, or at which Cronet throws, is an error",
        arguments: [
            (#"b.addPublicKeyPins(host, SET, true, Date(0))"#, "1:20: error: \"host\" isn't set"),
            (#"b.addPublicKeyPins("a.test", decode("PIN1"), true, Date(0))"#, "1:30: error: \"decode("),
            (#"b.addPublicKeyPins("a.test", setOf(decode("PIN1")), true, Date(0))"#, "1:30: error: \"setOf(decode("),
            (#"b.addPublicKeyPins("a.test", setOf(Base64.decode(p, 0)), true, Date(0))"#, "\"p\" isn't set"),
            (#"b.addPublicKeyPins("a.test", setOf("PIN1"), true, Date(0))"#, "the pins aren't a set of byte arrays"),
            (#"b.addPublicKeyPins("a.test", Base64.decode("PIN1", 0), true, Date(0))"#, "the pins aren't a set"),
            (#"b.addPublicKeyPins("a.test", setOf("PIN1".toByteArray()), true, Date(0))"#, "\"toByteArray\" isn't set"),
            (
                "val P = HashSet<ByteArray>(); P.add(Base64.decode(\"PIN1\", 0))\n"
                    + #"b.addPublicKeyPins("a.test", P, true, Date(0))"#,
                "\"P\" isn't"
            ),
            (
                #"val P = Base64.decode("PIN1", 0); P[0] = 9; b.addPublicKeyPins("a.test", setOf(P), true, Date(0))"#,
                "\"P\" isn't the same"
            ),
            (
                "object Base64 { fun decode(s: String, i: Int) = s }\n"
                    + #"b.addPublicKeyPins("a.test", SET, true, Date(0))"#,
                "\"Base64.decode\" isn't set"
            ),
            (
                "import com.x.Base64\n" + #"b.addPublicKeyPins("a.test", SET, true, Date(0))"#,
                "\"Base64.decode\" isn't set"
            ),
            (#"b.addPublicKeyPins("a.test", SET, subdomains, Date(0))"#, "\"subdomains\" isn't set"),
            (#"b.addPublicKeyPins("a.test", SET, 1, Date(0))"#, "1:116: error: the third argument isn't true or false"),
            (
                #"b.addPublicKeyPins("a.test", SET, true, Date(System.currentTimeMillis() + DAY))"#,
                "the expiry \"System.currentTimeMillis()\" isn't known before the program runs"
            ),
            (#"b.addPublicKeyPins("a.test", SET, true, expiry)"#, "the expiry \"expiry\" isn't known"),
            (#"b.addPublicKeyPins("a.test", SET, true, Date(127, 0, 1))"#, "the expiry \"Date\" isn't known"),
            (#"b.addPublicKeyPins("a.test", SET, true, 5L)"#, "the expiry isn't a Date or Instant"),
            (#"b.addPublicKeyPins("a.test", SET, true)"#, "addPublicKeyPins needs a host, a set of digests"),
            (#"b.addPublicKeyPins("*.a.test", ARGUMENTS)"#, "Cronet rejects the host \"*.a.test\""),
            (#"b.addPublicKeyPins("https://a.test", ARGUMENTS)"#, "Cronet rejects the host"),
            (#"b.addPublicKeyPins("192.0.2.1", ARGUMENTS)"#, "Cronet rejects the host"),
            (#"b.addPublicKeyPins("a_b.test", ARGUMENTS)"#, "Cronet rejects the host"),
            (#"b.addPublicKeyPins("2024.1", ARGUMENTS)"#, "Cronet rejects the host"),
            (#"b.addPublicKeyPins("a.test", setOf(Base64.decode("AAAA", 0)), true, Date(0))"#, "a pin of 3 bytes"),
            ("pins.forEach(builder::addPublicKeyPins)", "1:23: error: addPublicKeyPins is used here without"),
            (
                #"if (x) b.addPublicKeyPins("a.test", ARGUMENTS) else b.addPublicKeyPins("a.test", ARGUMENTS)"#,
                "\"a.test\" is pinned twice, on alternatives"
            ),
            ("// b.addPublicKeyPins(h, p, true, d)\nval s = \"addPublicKeyPins(\"", "nothing is pinned here"),
            ("override fun addPublicKeyPins(h: String) = apply { }", "nothing is pinned here"),
            ("public Builder addPublicKeyPins(String h) { return this; }", "nothing is pinned here"),
            ("b.addPublicKeyPins(\"a.test", "unterminated string"),
        ])
    func unread(_ text: String, _ expected: String) {
        let found = problems(text)
        #expect(found.count >= 1 && found[0].contains(expected), "\(text): \(found)")
    }

    @Test("Of several calls for a host, the last one is in force, and the first is noted")
    func twice() throws {
        let text = """
            CronetEngine.Builder(c).enablePublicKeyPinningBypassForLocalTrustAnchors(false)
                .addPublicKeyPins("a.test", setOf(Base64.decode("PIN2", 0)), false, Date(0))
                .addPublicKeyPins("a.test.", ARGUMENTS)
            """
        #expect(try rules(text) == ["a.test+ 0 until 1798761600"])
        let notes = try reading(text).notes
        #expect(notes.map(\.rule) == [.ignoredSetting] && notes[0].message.contains("on line 2"), "\(notes)")
        #expect(notes.first?.location?.line == 3)
    }

    @Test("A closer host hides the rule of its parent, as in Chromium")
    func closerHost() throws {
        let policy = try reading(
            #"b.addPublicKeyPins("a.test", ARGUMENTS).addPublicKeyPins("b.a.test", SET, false, Date(Long.MAX_VALUE))"#
        ).policy
        for (host, pattern) in [
            ("x.a.test", "a.test"), ("b.a.test", "b.a.test"), ("c.b.a.test", nil), ("A.test.", "a.test"),
        ] {
            let rules = PinDialect.cronet.rules(for: host, in: policy)
            #expect(rules.map { $0.patterns[0].host } == [pattern].compactMap(\.self), "\(host)")
        }
    }

    @Test("The pins of a parent apply once those of a closer host have expired, which is noted")
    func expiredHost() throws {
        func changes(_ parent: String, _ child: String) throws -> [SecurityDirection] {
            try reading(
                "b.addPublicKeyPins(\"a.test\", SET, \(parent)).addPublicKeyPins(\"b.a.test\", SET, true, \(child))"
            ).notes.filter { $0.change == .combinationChanged }.map(\.direction)
        }
        #expect(try changes("true, Date(2000L)", "Date(1000L)") == [.stricter])
        #expect(try changes("true, Date(Long.MAX_VALUE)", "Date(1000L)") == [.stricter])
        #expect(try changes("true, Date(1000L)", "Date(1000L)") == [])
        #expect(try changes("false, Date(2000L)", "Date(1000L)") == [])
        #expect(try changes("true, Date(1000L)", "Date(2000L)") == [])
        #expect(try changes("true, Date(1000L)", "Date(Long.MAX_VALUE)") == [])
    }

    @Test(
        "Trust anchors that were installed locally bypass the pins, unless every builder turns that off",
        arguments: [
            ("", true), (".enablePublicKeyPinningBypassForLocalTrustAnchors(false)", false),
            (".setEnablePublicKeyPinningBypassForLocalTrustAnchors(false)", false),
            (".enablePublicKeyPinningBypassForLocalTrustAnchors(OFF)", false),
            (".enablePublicKeyPinningBypassForLocalTrustAnchors(true)", true),
            (".enablePublicKeyPinningBypassForLocalTrustAnchors(isDebug)", true),
            (".also { if (x) it.enablePublicKeyPinningBypassForLocalTrustAnchors(false) }", true),
            (
                ".enablePublicKeyPinningBypassForLocalTrustAnchors(false)\nval d = CronetEngine.Builder(c)", true
            ),
        ])
    func bypass(_ call: String, _ isNoted: Bool) throws {
        let text = #"const val OFF = false; val e = CronetEngine.Builder(c).addPublicKeyPins("a.test", ARGUMENTS)"#
        let notes = try reading(text + call).notes
        #expect(notes.contains { $0.rule == .bypassedPins && $0.direction == .weaker } == isNoted, "\(notes)")
    }

    @Test("A branch and a second builder are alternatives")
    func alternatives() throws {
        for text in [
            #"val b = CronetEngine.Builder(c); if (x) { b.addPublicKeyPins("a.test", ARGUMENTS) }"#,
            #"CronetEngine.Builder(c).addPublicKeyPins("a.test", ARGUMENTS); HttpEngine.Builder(c).build()"#,
        ] {
            let notes = try reading(text).notes
            #expect(notes.contains { $0.change == .combinationChanged && $0.direction == .weaker }, "\(notes)")
        }
    }

    @Test("A program is recognized by its calls, and may pin keys in OkHttp too")
    func recognition() {
        let okhttp = "CertificatePinner.Builder().add(\"b.test\", \"sha256/PIN1\")"
        let rows: [(String, [PinDialect], [PinDialect])] = [
            (#"b.addPublicKeyPins("a.test", ARGUMENTS)"#, [.cronet], [.cronet]),
            (okhttp + "\n" + #"b.addPublicKeyPins("a.test", ARGUMENTS)"#, [.okhttp, .cronet], [.okhttp, .cronet]),
            ("import okhttp3.CertificatePinner\nx(builder::addPublicKeyPins)", [.cronet], [.cronet]),
            (okhttp + "\n// addPublicKeyPins(", [.okhttp], [.okhttp]),
            ("// b.addPublicKeyPins(h)", [.cronet], []),
        ]
        for (text, named, inTree) in rows {
            let bytes = Self.source(text)
            #expect(PinDialect.allRecognized(in: bytes) == named, "\(text)")
            let search = PinSearch(bytes.span, path: "E.kt", name: "E.kt", at: SearchText.time)
            #expect(search.dialects == inTree, "\(text)")
        }
    }

    @Test("find reports the pins with their hosts, and each call that can't be read")
    func search() {
        let text = #"b.addPublicKeyPins("a.test", ARGUMENTS); b.addPublicKeyPins(h, SET, true, d)"#
        let search = PinSearch(Self.source(text).span, path: "E.kt", name: "E.kt", at: SearchText.time)
        #expect(search.problems.flatMap(\.problems).count == 1, "\(search.problems)")
        let whole = PinSearch(
            Self.source(#"b.addPublicKeyPins("a.test", ARGUMENTS)"#).span, path: "E.kt", name: "E.kt",
            at: SearchText.time)
        #expect(whole.sightings.map(\.host) == ["a.test"] && whole.sightings.map(\.dialect) == [.cronet])
        #expect(whole.sightings.map(\.scope) == [.exactAndBelow])
    }

    @Test("Calls can't be replaced in a program, and a policy with other pins can't be written")
    func writing() {
        let bytes = Self.source(#"b.addPublicKeyPins("a.test", ARGUMENTS)"#)
        let policy = CanonicalPolicy(
            rules: [
                CanonicalRule(
                    patterns: [HostPattern("a.test", .exact)],
                    pins: [CanonicalPin(.publicKey, .sha1, [UInt8](repeating: 0, count: 20))])
            ], combination: .carveOut)
        #expect(throws: DialectWriteError.self) { try PinDialect.cronet.replacing(bytes, path: "E.kt", with: policy) }
        #expect(throws: DialectWriteError.self) { try PinDialect.cronet.write(policy) }
    }
}
