import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("OkHttp's pins")
struct OkHttpTests {
    private static let first = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    private static let second = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

    /// Each rule as a line: its pattern and the first bytes of its pins.
    private func rules(_ text: String, path: String = "Pins.kt") throws -> [String] {
        let source = text.replacing("PIN1", with: Self.first).replacing("PIN2", with: Self.second)
        return try OkHttpReader.read(Array(source.utf8), path: path).policy.rules.map { rule in
            let pattern = try #require(rule.patterns.first)
            let scope = [HostPattern.Scope.exactAndBelow: "**.", .oneLabelBelow: "*."][pattern.scope] ?? ""
            return ([scope + pattern.host] + rule.pins.map { String($0.value.first ?? 0xFF) }).joined(separator: " ")
        }
    }

    private func problems(_ text: String) -> [String] {
        let source = text.replacing("PIN1", with: Self.first).replacing("PIN2", with: Self.second)
        do throws(PolicyFileError) {
            _ = try OkHttpReader.read(Array(source.utf8), path: "Pins.kt")
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    @Test(
        "The elements of collections are arguments, and loops repeat their calls for each",
        arguments: [
            (
                #"val P = arrayOf("PIN1", "PIN2"); val b = CertificatePinner.Builder().add("a.test", *P)"#,
                ["a.test 0 1"]
            ),
            (#"CertificatePinner.Builder().add("a.test", *arrayOf("PIN1"), "PIN2")"#, ["a.test 0 1"]),
            (
                #"object C { val P: List<String> = listOf("PIN1") + "PIN2" }; b.add("a.test", *C.P.toTypedArray())"#,
                ["a.test 0 1"]
            ),
            (#"val A = setOf("PIN1"); val B = A + listOf("PIN2"); B.forEach { b.add("a.test", it) }"#, ["a.test 0 1"]),
            (
                """
                static final String[] P = { "PIN1", "PIN2", };
                CertificatePinner.Builder b = new CertificatePinner.Builder();
                for (String pin : P) b.add("a.test", pin);
                b.add("b.test", P);
                for (final String host : new String[] {"c.test", "d.test"}) { b.add(host, P[0]); }
                """.replacing("P[0]", with: "\"PIN2\""), ["a.test 0 1", "b.test 0 1", "c.test 1", "d.test 1"]
            ),
            (
                """
                static final Map<String, List<String>> M =
                  Map.of("a.test", List.of("PIN1"), "b.test", Arrays.asList("PIN2"));
                CertificatePinner.Builder b = new CertificatePinner.Builder();
                for (Map.Entry<String, List<String>> e : M.entrySet()) {
                  b.add(e.getKey(), e.getValue().toArray(new String[0]));
                }
                M.forEach((host, pins) -> pins.forEach(pin -> b.add("x." + host, pin)));
                """, ["a.test 0", "b.test 1", "x.a.test 0", "x.b.test 1"]
            ),
            (
                """
                val M = mapOf("a.test" to listOf("PIN1", "PIN2"), "b.test" to arrayOf("PIN2"))
                CertificatePinner.Builder().apply {
                  M.forEach { (host, pins) -> add(host, *pins.toTypedArray()) }
                  for ((host, pins) in M) pins.forEach { add("*.$host", it) }
                  M.entries.forEach { add("x.${it.key}", *it.value) }
                }
                """, ["a.test 0 1", "b.test 1", "*.a.test 0 1", "*.b.test 1", "x.a.test 0 1", "x.b.test 1"]
            ),
            (
                """
                val hashes = listOf("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
                val b = CertificatePinner.Builder()
                for (host in listOf("a.test", "b.test"))
                  for (hash in hashes) {
                    val pin = "sha256/$hash"
                    b.add(host, pin)
                  }
                b.add("c.test", "PIN2")
                """, ["a.test 0", "b.test 0", "c.test 1"]
            ),
            (
                #"listOf(Pair("a.test", "PIN1"), "b.test" to "PIN2").forEach { (h, p) -> b.add(h, p, "PIN2") }"#,
                ["a.test 0 1", "b.test 1 1"]
            ),
            (
                """
                data class Host(val name: String, val pins: List<String>)
                val hosts = listOf(Host("a.test", listOf("PIN1", "PIN2")), Host(pins = listOf("PIN2"), name = "b.test"))
                val SINGLE = setOf("PIN1")
                val single = Host("c.test", pins = SINGLE)
                val b = CertificatePinner.Builder()
                hosts.forEach { b.add(it.name, *it.pins.toTypedArray()) }
                for ((name, pins) in hosts) pins.forEach { b.add("x.$name", it) }
                hosts.forEach { host -> host.pins.forEach { pin -> b.add("y." + host.name, pin) } }
                b.add(single.name, *single.pins.toTypedArray())
                """,
                [
                    "a.test 0 1", "b.test 1", "x.a.test 0 1", "x.b.test 1", "y.a.test 0 1", "y.b.test 1", "c.test 0",
                ]
            ),
            (#"for (p in emptyList) { x() }; CertificatePinner.Builder().add("a.test", "PIN1")"#, ["a.test 0"]),
        ])
    func collections(_ text: String, _ expected: [String]) throws {
        #expect(try rules(Self.withBuilder(text)) == expected, "\(text)")
    }

    @Test(
        "A collection that isn't known as a whole is refused with its name",
        arguments: [
            (
                #"val P = mutableListOf("PIN1"); fun f() { P.add("PIN2") }; b.add("a.test", "PIN1", *P)"#,
                "\"P\" isn't the same"
            ),
            (
                #"fun f() { P.addAll(Q) }; val P = mutableListOf("PIN1"); P.forEach { b.add("a.test", it, "PIN2") }"#,
                "\"P\""
            ),
            (
                #"val M = mutableMapOf("a.test" to "PIN1"); M["a"] = X; M.forEach { (h, p) -> b.add(h, p, "PIN2") }"#,
                "\"M\" isn't the same"
            ),
            (#"val H = listOf("a.test"); H.forEach { "www.$it".let { b.add(it, "PIN1") } }"#, "the block around"),
            (
                #"val H = listOf("a.test"); H.forEach { H.map { "w." + it }.forEach { b.add(it, "PIN1") } }"#,
                "the block"
            ),
            (#"val H = listOf("a.test"); H.forEach { f(it).forEach { b.add(it, "PIN1") } }"#, "the block around"),
            (#"for (h in listOf("a.test")) { val h = h2(); b.add(h, "PIN1") }"#, "\"h\" isn't the same"),
            (#"for (h in listOf("a.test")) { "z".let { h -> b.add(h, "PIN1") } }"#, "the block around"),
            (#"for (h in listOf("a.test")) for (h in others()) b.add(h, "PIN1")"#, "the block around"),
            (
                #"const val env = "dev"; const val API = "$env.test"; for (env in listOf("a")) b.add(API, "PIN1")"#,
                "\"env\" isn't the same"
            ),
            (
                #"val P = mutableListOf("PIN1"); P.apply { add(X) }; b.add("a.test", "PIN2", *P)"#,
                "\"P\" isn't the same"
            ),
            (#"val P = mutableListOf("PIN1"); Collections.addAll(P, X); b.add("a.test", "PIN2", *P)"#, "\"P\" isn't"),
            (#"val P = mutableListOf("PIN1"); val al = P; al.add(X); b.add("a.test", "PIN2", *P)"#, "\"P\" isn't"),
            (#"val P = mutableListOf("PIN1"); P?.add(X); b.add("a.test", "PIN2", *P)"#, "\"P\" isn't"),
            (#"val P = mutableListOf("PIN1"); P -= X; b.add("a.test", "PIN2", *P)"#, "\"P\" isn't"),
            (#"val P = mutableListOf("PIN1"); with(P) { add(X) }; b.add("a.test", "PIN2", *P)"#, "\"P\" isn't"),
            (
                #"val M = mapOf("a.test" to x("PIN1")); M.keys.remove("a"); M.forEach { (h, p) -> b.add(h, p, "PIN2") }"#,
                "\"M\" isn't"
            ),
            (
                #"val M = mutableMapOf("a.test" to "PIN1"); M.entries.clear(); for ((h, p) in M) b.add(h, p, "PIN2")"#,
                "\"M\" isn't the same"
            ),
            (
                #"val M = mapOf("a.test" to listOf("PIN1")); M.forEach { (h, p) -> p.add(X); b.add(h, "PIN2", *p) }"#,
                "\"p\" isn't the same"
            ),
            (
                #"static final List<String> P = new ArrayList<>(); for (String p : P) b.add("a.test", p, "PIN1");"#,
                "empty"
            ),
            (
                #"static final String[] P = {"PIN1"}; void f(String[] P) { b.add("a.test", P); b.add("b.test", "PIN2"); }"#,
                "\"P\" isn't the same"
            ),
            (
                #"static final List<String> P = List.of("PIN1"); void f(List<String> P) { for (String p : P) b.add("a", p); }"#,
                "\"P\" isn't the same"
            ),
            (
                #"static final String[] P = {"PIN1"}; void f(String... P) { b.add("a.test", P); b.add("b", "PIN2"); }"#,
                "\"P\" isn't the same"
            ),
            (#"fun f(p: List<String> = listOf("PIN1")) { b.add("a.test", "PIN2", *p) }"#, "\"p\" is a parameter"),
            (
                #"for ((h, p) in mapOf("a.test" to "PIN1", "a.test" to "PIN2")) b.add(h, p)"#,
                "\"a.test\" isn't the same"
            ),
            (#"for (pin in config.pins()) b.add("a.test", pin, "PIN1")"#, "\"config.pins()\" isn't"),
            (
                #"fun listOf(s: String) = arrayListOf("PIN2"); listOf("PIN1").forEach { b.add("a.test", it) }"#,
                "\"listOf\""
            ),
            (
                #"val P = mutableListOf("PIN1"); val v = P::add; v("PIN2"); P.forEach { b.add("a.test", it) }"#,
                "\"P\" isn't"
            ),
            (
                "val P = mutableListOf(\"PIN1\"); val Q = listOf(P); val R = mapOf(\"x\" to Q)\n"
                    + #"R.getValue("x")[0].add("PIN2"); P.forEach { b.add("a.test", it) }"#, "\"P\" isn't"
            ),
            (
                #"val P = mutableListOf("PIN1"); val Q = Pair(1, P); Q.second.add("PIN2"); b.add("a.test", *P)"#,
                "\"P\" isn't"
            ),
            (#"for (pin in REMOTE) b.add("a.test", pin, "PIN1")"#, "\"REMOTE\" isn't set"),
            (#"val P = listOf("PIN1").filter { false }; b.add("a.test", "PIN2", *P)"#, "\"P\" isn't"),
            (#"val P = if (debug) listOf("PIN1") else listOf("PIN2"); b.add("a.test", "PIN2", *P)"#, "\"P\" isn't"),
            (#"val P = listOf("PIN1"); val P = listOf("PIN2"); b.add("a.test", "PIN2", *P)"#, "\"P\" isn't the same"),
            (#"val P = listOf("PIN1", BuildConfig.PIN); b.add("a.test", "PIN2", *P)"#, "\"BuildConfig.PIN\" isn't set"),
            (#"val M = mapOf("a.test" to "PIN1"); b.add("a.test", "PIN2", M)"#, "this argument isn't a string"),
            (#"for ((h, p) in listOf("a.test")) b.add(h, p, "PIN1")"#, "\"h, p\" isn't"),
            (#"for (i in 0 until P.size) b.add("a.test", P[i], "PIN1")"#, "isn't"),
            (
                #"fun f(pins: List<String>) = CertificatePinner.Builder().add("a.test", *pins.toTypedArray())"#,
                "\"pins\" is a parameter"
            ),
        ])
    func unknownCollections(_ text: String, _ expected: String) {
        let found = problems(Self.withBuilder(text))
        #expect(found.contains { $0.contains(expected) }, "\(text): \(found)")
    }

    private static func withBuilder(_ text: String) -> String {
        text.contains("CertificatePinner") ? text : "val b = CertificatePinner.Builder()\n" + text
    }

    /// The notes of a program, with the settings that weren't read alone.
    private func unread(_ text: String, path: String = "P.kt") throws -> [String] {
        let source = text.replacing("PIN1", with: Self.first).replacing("PIN2", with: Self.second)
        return try OkHttpReader.read(Array(source.utf8), path: path).notes.filter { $0.rule == .ignoredSetting }.map(
            \.message)
    }

    private static let constants = "const val A = \"PIN1\"; const val B = \"PIN2\"\n"
    private static let call = "val q = CertificatePinner.Builder().add(\"c.test\", A, B)"

    @Test(
        "A pin that is used in a way that isn't read is noted, because hosts may be missing",
        arguments: [
            "fun CertificatePinner.Builder.extra() = apply { add(\"d.test\", A, B) }; \(call).extra().build()",
            "fun CertificatePinner.Builder.extra() = also { it.add(\"d.test\", A, B) }; \(call).extra().build()",
            "fun base() = CertificatePinner.Builder(); val p = base().add(\"d.test\", A, B).build(); \(call)",
            "val p = base().apply { add(\"d.test\", A, B) }.build(); \(call)",
            "with(pinnerBuilder) { add(\"d.test\", A, B); build() }; \(call)",
            "val extra: CertificatePinner.Builder.() -> Unit = { add(\"d.test\", A, B) }; \(call).apply(extra)",
            "val x = Helper(A, B); \(call)", "data class H(val a: String); val x = H(A); helper(x); \(call)",
            "p!!.add(\"d.test\", A, B); \(call)", "p?.add(\"d.test\", A, B); \(call)",
            "val f = p::add; f.invoke(\"d.test\", A, B); \(call)", "builders[0].add(\"d.test\", A, B); \(call)",
            "fun CertificatePinner.Builder.pin(h: String, vararg s: String) = add(\"www.$h\", *s)\n"
                + "\(call).pin(\"d.test\", A, B)",
            "Helper.pin(b, \"d.test\", A, B); \(call)", "val M = mapOf(\"d.test\" to A); M.forEach(b::add); \(call)",
            "val L = listOf(A, B); L.forEach { helper(it) }; \(call)", "for (p in listOf(A)) helper(p)\n\(call)",
            "Helper.pin(b, \"d.test\", \"PIN1\"); \(call)",
            "builders.forEach { it.put(\"d.test\", Pins.A) }; \(call)"
                + "; object Pins { const val A = \"PIN1\" }",
            "val b = CertificatePinner.Builder(); b.add(\"c.test\", A); b.pins.clear()",
            "val b = CertificatePinner.Builder(); b.add(\"c.test\", A); b.getPins().removeIf { true }",
            "\(call); val p = CertificatePinner(emptySet())",
            "\(call); val p = CertificatePinner(q.pins.drop(1).toSet())",
        ])
    func unreadUses(_ text: String) throws {
        #expect(try !unread(Self.constants + text).isEmpty, "\(text)")
        // As lint and find report it.
        let bytes = (Self.constants + text).replacing("PIN1", with: Self.first).replacing("PIN2", with: Self.second)
            .utf8
        let search = PinSearch(Array(bytes).span, path: "P.kt", name: "P.kt", at: SearchText.time)
        #expect(!search.unusablePins.isEmpty)
    }

    @Test(
        "Each use of a pin that is read, or doesn't add it, has no note",
        arguments: [
            call, "import com.x.Pins.C\n\(call)",
            "val L = listOf(A, B); if (L.isNotEmpty()) b.add(\"d.test\", *L); \(call)",
            "val M = mapOf(\"d.test\" to A); M.forEach { (h, p) -> b.add(h, p) }; \(call)",
            "val ALL = listOf(A, B); val MORE = ALL + A; b.add(\"d.test\", *MORE.toTypedArray()); \(call)",
            "val P = \"sha256/\" + \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"; b.add(\"d.test\", P); \(call)",
            "val P = \"sha256/\"; b.add(\"d.test\", P + \"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"); \(call)",
            "for (p in listOf(A, B)) b.add(\"d.test\", p)\n\(call)", "// A and B\n\(call) /* Helper.pin(A) */",
            "class Other : CertificatePinner(); \(call)", "b.add(pattern = \"d.test\", A); \(call)",
        ])
    func readUses(_ text: String) throws {
        let builder = text.contains("b.add") ? "val b = CertificatePinner.Builder()\n" : ""
        #expect(try unread(Self.constants + builder + text) == [], "\(text)")
    }

    @Test(
        "A name that is declared without a value here isn't a constant of another type",
        arguments: [
            "class E { private val host by cfg; val p = CertificatePinner.Builder().add(host, \"PIN1\") }",
            "class E { lateinit var host: String\n val p = CertificatePinner.Builder().add(host, \"PIN1\") }",
            "class E { val host get() = cfg.host; val p = CertificatePinner.Builder().add(host, \"PIN1\") }",
            "val (host, other) = pair; val p = CertificatePinner.Builder().add(host, \"PIN1\")",
            "val (first, host) = pair; val p = CertificatePinner.Builder().add(host, \"PIN1\")",
        ])
    func unknownNames(_ text: String) {
        let found = problems("object D { val host = \"c.test\" }\n" + text)
        #expect(found.contains { $0.contains("\"host\" isn't a constant string or list at") }, "\(text): \(found)")
    }

    @Test("A parameter is named as one, the closest above the call")
    func parameters() {
        let rows = [
            ("fun f(host: String) = CertificatePinner.Builder().add(host, \"PIN1\")", "(Pins.kt:1:7)"),
            (
                "fun a(host: String) {}\nfun b(host: String) = CertificatePinner.Builder().add(host, \"PIN1\")\n"
                    + "fun c(host: String) {}", "(Pins.kt:2:7)"
            ),
            (
                "void a(String host, int n) {}\n"
                    + "void b(int n, String host) { new CertificatePinner.Builder().add(host, \"PIN1\"); }",
                "(Pins.kt:2:22)"
            ),
        ]
        for (text, place) in rows {
            let found = problems(text)
            let expected = "\"host\" is a parameter \(place), whose value isn't known here: write the string itself"
            #expect(found.contains { $0.contains(expected) }, "\(text): \(found)")
        }
    }

    @Test("The digest of nothing is a problem, whatever its host is")
    func emptyDigest() {
        let nothing = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        let found = problems("CertificatePinner.Builder().add(host, \"\(nothing)\", \"PIN1\")")
        #expect(found.contains { $0.contains("\"\(nothing)\" is the SHA-256 of empty input") }, "\(found)")
    }

    @Test(
        "A name is that of the declaration in its scope, or of the one that is imported",
        arguments: [
            (
                """
                package com.x
                import com.x.Config.HOST
                object Config { const val HOST = "a.test" }
                object Staging { const val HOST = "b.test" }
                val p = CertificatePinner.Builder().add(HOST, "PIN1")
                """, ["a.test 0"]
            ),
            (
                """
                object A { const val H = "a.test" }
                object B { const val H = "b.test"
                  fun p() = CertificatePinner.Builder().add(H, "PIN1").add(A.H, "PIN2") }
                """, ["b.test 0", "a.test 1"]
            ),
            (
                """
                class Outer {
                  static class Prod { static final String H = "a.test"; }
                  static class Dev { static final String H = "b.test"; }
                  CertificatePinner p = new CertificatePinner.Builder().add(Prod.H, "PIN1")
                    .add(Outer.Dev.H, "PIN2").build();
                }
                """, ["a.test 0", "b.test 1"]
            ),
            (
                """
                class E(private val log: Log) : Base<String>(log), Other {
                  fun p() = CertificatePinner.Builder().add(H, "PIN1").add("x." + E.H, "PIN1")
                    .add("y.${E.Companion.H}", "PIN1")
                  companion object { private const val H = "a.test" }
                }
                class F(val h: String)
                fun f() { val H = "b.test" }
                """, ["a.test 0", "x.a.test 0", "y.a.test 0"]
            ),
            (#"val h = "a.test"; val c = Config(h = "b.test"); b.add(h, "PIN1")"#, ["a.test 0"]),
            (#"val h: String by lazy { "a.test" }; b.add(h, "PIN1")"#, ["a.test 0"]),
            (#"val h by lazy(NONE) { "a.test" }; b.add(h, "PIN1")"#, ["a.test 0"]),
            (#"object A { const val H = "a.test" }; with(A) { b.add(H, "PIN1") }"#, ["a.test 0"]),
            (#"object A { const val H = "a.test" }; A.run { b.add(H, "PIN1") }"#, ["a.test 0"]),
            (
                #"open class Base { val h = "a.test" }; class E : Base() { fun f() { b.add(h, "PIN1") } }"#,
                ["a.test 0"]
            ),
            (
                """
                interface Names { String H = "a.test"; }
                class E extends Base implements Names { void f(CertificatePinner.Builder b) { b.add(H, "PIN1"); } }
                """, ["a.test 0"]
            ),
            (#"class E { val h = "a.test"; fun f() { b.add(this.h, "PIN1") } }"#, ["a.test 0"]),
            (
                "package com.x\nimport com.x.Config as C\nobject Config { const val H = \"a.test\" }\n"
                    + "val p = CertificatePinner.Builder().add(C.H, \"PIN1\")", ["a.test 0"]
            ),
            (
                """
                fun a() { val h = "a.test"; CertificatePinner.Builder().add(h, "PIN1") }
                fun c() { val h = "c.test"; log(h) }
                """, ["a.test 0"]
            ),
            (
                #"typealias Hosts = List<String>; val l: Hosts = listOf("a.test"); l.forEach { b.add(it, "PIN1") }"#,
                ["a.test 0"]
            ),
            (
                """
                record P(String host, List<String> pins) {}
                class C { static final P A = new P("a.test", List.of("PIN1", "PIN2"));
                  void f() { b.add(A.host(), "PIN2"); for (String pin : A.pins()) b.add("b.test", pin); } }
                """, ["a.test 1", "b.test 0 1"]
            ),
            (
                #"class E : Base() { override val h = "a.test"; val p = CertificatePinner.Builder().add(h, "PIN1") }"#,
                ["a.test 0"]
            ),
        ])
    func scopes(_ text: String, _ expected: [String]) throws {
        #expect(try rules(Self.withBuilder(text)) == expected, "\(text)")
    }

    @Test(
        "A name that isn't declared in its scope, or could be that of another declaration, is refused",
        arguments: [
            (
                "import com.x.Config.H\nobject Staging { const val H = \"b.test\" }\nb.add(H, \"PIN1\")",
                "\"H\" isn't set"
            ),
            ("import com.x.H\nconst val H = \"b.test\"\nb.add(H, \"PIN1\")", "\"H\" isn't set"),
            (
                "import com.x.Other as Config\nobject Config { const val H = \"b.test\" }\nb.add(Config.H, \"PIN1\")",
                "isn't set"
            ),
            (#"object Staging { const val H = "b.test" }; b.add(H, "PIN1")"#, "\"H\" isn't set"),
            (
                #"object S { const val H = "b.test" }; class Config : Base(); b.add(Config.H, "PIN1")"#,
                "\"Config.H\" isn't set"
            ),
            (#"class E { fun f() { val h = "b.test" }; fun g() { b.add(h, "PIN1") } }"#, "\"h\" isn't set"),
            (#"open class A { open val h = "a.test"; fun f() { b.add(h, "PIN1") } }"#, "\"h\" isn't a constant"),
            (
                #"abstract class A : B { override val h = "a.test"; fun f() { b.add(h, "PIN1") } }"#,
                "\"h\" isn't a constant"
            ),
            (
                #"const val H = "b.test"; object A { const val H = "a.test" }; with(A) { b.add(H, "PIN1") }"#,
                "\"H\" isn't the same at Pins.kt:2:11 and Pins.kt:2:46"
            ),
            (#"val h = "b.test"; class A { val h = "a.test" }; A.apply { b.add(h, "PIN1") }"#, "\"h\" isn't the same"),
            (
                #"val h = "b.test"; open class A { val h = "a.test" }; class E : A() { fun f() { b.add(h, "PIN1") } }"#,
                "\"h\" isn't the same"
            ),
            (
                "val h = \"b.test\"; open class A { val h = \"a.test\" }; open class B : A()\n"
                    + "class E : B() { fun f() { b.add(h, \"PIN1\") } }",
                "\"h\" isn't the same"
            ),
            ("class E { val h = \"a.test\"\n get() = x\n fun f() { b.add(h, \"PIN1\") } }", "\"h\" isn't a constant"),
            (#"val h by lazy { find() }; b.add(h, "PIN1")"#, "\"h\" isn't a constant"),
            (#"val h by lazy { log(); "a.test" }; b.add(h, "PIN1")"#, "\"h\" isn't a constant"),
            (#"val h by prefs { "a.test" }; b.add(h, "PIN1")"#, "\"h\" isn't a constant"),
            (#"var h = "a.test"; fun f() { h = "b.test" }; b.add(h, "PIN1")"#, "\"h\" isn't the same at"),
            (#"val h = "a.test"; fun f() { val h = other(); b.add(h, "PIN1") }"#, "\"h\" isn't the same at"),
            (#"val h = "a.test"; fun f() { val h: Host = other(); b.add(h, "PIN1") }"#, "\"h\" isn't the same at"),
            (#"val h = "a.test"; fun f(h: Host) { b.add(h, "PIN1") }"#, "\"h\" isn't the same at"),
            (#"static final String H = "a.test"; void f(Host H) { b.add(H, "PIN1"); }"#, "\"H\" isn't the same at"),
            (
                #"fun f(env: String) {}; val API = "$env.test"; for (env in listOf("a")) b.add(API, "PIN1")"#,
                "\"env\" isn't"
            ),
            (#"val h = "a.test"; fun f(@Named("h") h: String) { b.add(h, "PIN1") }"#, "\"h\" isn't the same at"),
            (#"val h = "a.test"; fun f(@Host h: String) { b.add(h, "PIN1") }"#, "\"h\" isn't the same at"),
            (#"val h = "a.test"; fun f() { hosts().forEach { (h, p) -> b.add(h, p, "PIN1") } }"#, "\"h\" isn't"),
            (#"static final String h = "a.test"; void f() { hosts().forEach((h, p) -> b.add(h, "PIN1")); }"#, "\"h\""),
            (
                #"static final String h = "a.test"; void f() { for (Host h : hosts()) b.add(h, "PIN1"); }"#,
                "\"h\" isn't"
            ),
            (#"val h = "a.test"; fun f() { for ((h, p) in hosts()) b.add(h, "PIN1") }"#, "\"h\" isn't the same at"),
            (
                #"val h = "a.test"; fun C.f() { b.add(h, "PIN1") }; class C { val h = "b.test" }"#,
                "\"h\" isn't the same at"
            ),
            (#"val h = "a.test"; fun f() { g { h: Host -> b.add(h, "PIN1") } }"#, "\"h\" isn't the same at"),
            (
                "val h = \"a.test\"; open class A(val h: String)\n"
                    + "class E : A(\"b.test\") { fun f() { b.add(h, \"PIN1\") } }",
                "\"h\" isn't the same"
            ),
            (#"class P(val h: String); val p = P("a.test"); b.add(p.h, "PIN1")"#, "\"P\" isn't"),
            (
                "record P(String h, String[] l) {}\n"
                    + "class C { P p = new P(\"a.test\", L); void f() { b.add(p.h(), \"PIN1\"); } }",
                "\"P\" isn't"
            ),
            (
                "record P(List<String> l) {}\nclass C { static final P A = new P(List.of(\"PIN1\"));\n"
                    + "void f() { A.l().add(x); for (String s : A.l()) b.add(\"a.test\", s); } }",
                "\"A\" isn't the same"
            ),
            (#"val h = "a.test".trim(); b.add(h, "PIN1")"#, "\"h\" isn't a constant"),
            (#"val H = "a.test"; b.add(H.lower(), "PIN1")"#, "\"H.lower()\" isn't set"),
            (#"data class P(var h: String); val p = P("a.test"); b.add(p.h, "PIN1")"#, "\"P\" isn't"),
            (#"data class P(h: String, val i: String); val p = P("a.test", "b"); b.add(p.i, "PIN1")"#, "\"P\" isn't"),
            (
                #"data class P(val h: String, val i: String = "b"); val p = P("a.test"); b.add(p.h, "PIN1")"#,
                "\"P\" isn't"
            ),
            (#"data class P(val h: String); val p = P(x = "a.test"); b.add(p.h, "PIN1")"#, "\"P\" isn't"),
            (#"data class P(val h: String); val p = P("a.test"); b.add(p.i, "PIN1")"#, "\"p.i\" isn't"),
            (
                "object A { data class P(val h: String) }; data class P(val h: String); val p = P(\"a.test\")\n"
                    + "b.add(p.h, \"PIN1\")", "\"P\" isn't"
            ),
            ("object A { data class P(val h: String) }; val p = P(\"a.test\"); b.add(p.h, \"PIN1\")", "\"P\" isn't"),
            ("import com.x.P\ndata class P(val h: String)\nval p = P(\"a.test\")\nb.add(p.h, \"PIN1\")", "\"P\" isn't"),
            (
                "data class P(val l: MutableList<String>); val p = P(mutableListOf(\"PIN1\")); p.l.add(X)\n"
                    + "b.add(\"a.test\", *p.l)", "\"P\" isn't"
            ),
            (
                "data class P(val l: List<String>); val p = P(listOf(\"PIN1\")); f(p.l); b.add(\"a.test\", *p.l)",
                "\"p\" isn't the same"
            ),
            (
                "data class P(val l: Array<String>); val L = arrayOf(\"PIN1\"); val p = P(L); b.add(\"a.test\", *L)",
                "\"L\" isn't the same"
            ),
            (#"val h = if (debug) "a.test" else "b.test"; b.add(h, "PIN1")"#, "\"h\" isn't a constant"),
            (#"val h = "a.test"; val h = "b.test"; b.add(h, "PIN1")"#, "\"h\" isn't the same at"),
        ])
    func unknownScopes(_ text: String, _ expected: String) {
        let found = problems(Self.withBuilder(text))
        #expect(found.contains { $0.contains(expected) }, "\(text): \(found)")
    }

    @Test("Comments nest in Kotlin, and not in Java")
    func comments() throws {
        let text =
            "/* reads /sdcard/*.pem */ CertificatePinner.Builder().add(\"a.test\", \"PIN1\"); /* */\n"
            + "CertificatePinner.Builder().add(\"b.test\", \"PIN1\");"
        let bytes = Array(text.replacing("PIN1", with: Self.first).utf8)
        #expect(try OkHttpReader.read(bytes, path: "P.java").policy.rules.count == 2)
        #expect(throws: PolicyFileError.self) { try OkHttpReader.read(bytes, path: "P.kt") }
        let search = PinSearch(bytes.span, path: "P.java", name: "P.java", at: SearchText.time)
        #expect(search.sightings.count == 2)
    }

    @Test("Collections that multiply end soon", .timeLimit(.minutes(1)))
    func multipliedCollections() {
        var text = "val A0 = listOf(\"PIN1\", \"PIN2\")\n"
        for index in 1...40 { text += "val A\(index) = A\(index - 1) + A\(index - 1)\n" }
        #expect(!problems(Self.withBuilder(text) + "A40.forEach { b.add(\"a.test\", it) }").isEmpty)
        for source in ["A3", "listOf(\"a\", \"b\")"] {
            let loops = (0..<24).map { "for (x\($0) in \(source)) " }.joined()
            #expect(!problems(Self.withBuilder(text) + loops + "b.add(\"a.test\", \"PIN1\")").isEmpty)
        }
        let sum = Array(repeating: "a", count: 5_000).joined(separator: " + ")
        _ = problems(Self.withBuilder("val z = \(sum); b.add(\"a.test\", \"PIN1\")"))
        for text in [
            "object a ", "object(", "class A : ", "companion object {", "with(A) { ", "import a.b\n", "(a) -> ",
        ] {
            let repeated = String(repeating: text, count: 4_000)
            #expect(!problems(Self.withBuilder(repeated) + "\nval h = x; b.add(h, \"PIN1\")").isEmpty, "\(text)")
        }
        let nested = String(repeating: "listOf(", count: 5_000)
        _ = problems("val P = \(nested)\"PIN1\"")
    }

    @Test(
        "Calls of add are found wherever they appear",
        arguments: [
            (
                """
                val pinner = CertificatePinner.Builder()
                    .add("example.com", "PIN1", "PIN2") // .add("no.example", "PIN1")
                    .add("**.Example.org", "PIN2")
                    .build()
                """, ["example.com 0 1", "**.example.org 1"]
            ),
            (
                """
                public class Pins {
                    /* .add("no.example", "PIN1") */
                    private static final String HOST = "api." + "example.com";
                    static final String PIN = "PIN1";
                    CertificatePinner make(List<String> names) {
                        names.add("no.example");
                        char quote = '"';
                        return new CertificatePinner.Builder().add(HOST, PIN)\
                .add("*." + Pins.HOST, PIN, "PIN2").build();
                    }
                }
                """, ["api.example.com 0", "*.api.example.com 0 1"]
            ),
            (
                #"""
                object Hosts { const val ROOT = "example.com" }
                val pinner = CertificatePinner.Builder().apply {
                    if (isStaging) { add("staging.${Hosts.ROOT}", "PIN1") }
                    add(pattern = "**.${Hosts.ROOT}", "PIN2")
                }.build()
                """#, ["staging.example.com 0", "**.example.com 1"]
            ),
            (
                """
                CertificatePinner.Builder builder = new CertificatePinner.Builder();
                builder.add("a.example", "PIN1");
                headers.add("Accept", "text/html");
                builder.add("a.example", "PIN2");
                """, ["a.example 0 1"]
            ),
            (
                """
                with(CertificatePinner.Builder()) {
                    add("a.example", "PIN1")
                    build()
                }
                list.add("b.example")
                """, ["a.example 0"]
            ),
            (#".add("a\u002eexample", "\163ha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")"#, ["a.example 0"]),
            (#"b.add("a\u002eexample", "PIN1")"#, ["a.example 0"]),
            (#"b.add("""a.example""", """PIN1""")"#, ["a.example 0"]),
            (##"b.add("σkhttp.com", "PIN1")"##, ["xn--khttp-fde.com 0"]),
            (
                "# pins\nexample.com PIN1 PIN2\r\n*.example.com\tPIN1 # old\n\n**.a.example PIN2",
                [
                    "example.com 0 1", "*.example.com 0", "**.a.example 1",
                ]
            ),
        ])
    func sources(_ text: String, _ expected: [String]) throws {
        #expect(try rules(text) == expected)
    }

    @Test(
        "Calls that can't be read, or at which OkHttp throws, are reported with their position",
        arguments: [
            (
                #"CertificatePinner.Builder().add(BuildConfig.HOST, "PIN1")"#,
                "1:33: error: \"BuildConfig.HOST\" isn't set to a string or list in this file"
            ),
            (#"CertificatePinner.Builder().add("a.example", pin())"#, "1:46: error: \"pin()\" isn't set"),
            (#"CertificatePinner.Builder().add("a.example", *pins)"#, "1:47: error: \"pins\" isn't set"),
            (
                "val host = \"a\"\nfun f(host: String) = CertificatePinner.Builder().add(host, \"PIN1\")",
                "2:55: error: \"host\" isn't the same at Pins.kt:1:5 and Pins.kt:2:7: write"
            ),
            (
                "val A = B\nval B = A\nCertificatePinner.Builder().add(A, \"PIN1\")",
                "3:33: error: \"A\" isn't the same throughout"
            ),
            (
                #"CertificatePinner.Builder().add("https://a.example", "PIN1")"#,
                "1:33: error: OkHttp rejects the pattern"
            ),
            (#"CertificatePinner.Builder().add("a.*.example", "PIN1")"#, "1:33: error: OkHttp rejects the pattern"),
            (#"CertificatePinner.Builder().add("a.example", "md5/AAAA")"#, "1:46: error: OkHttp rejects the pin"),
            (#"CertificatePinner.Builder().add("a.example", "sha256/A")"#, "1:46: error: OkHttp rejects the pin"),
            ("val s = \"a\nb.add(\"a.example\", \"PIN1\")", "1:9: error: unterminated string"),
            ("fun main() {}", "1:1: error: nothing is pinned here: "),
            ("\n", "1:1: error: nothing is pinned here"),
        ])
    func rejected(_ text: String, _ expected: String) {
        let found = problems(text)
        #expect(found.contains { $0.hasPrefix("Pins.kt:" + expected) }, "\(found)")
    }

    @Test(
        "A program without a builder is one problem, however many pins it has",
        arguments: [
            "object Pins {\n  val PINS = listOf(\"PIN1\", \"PIN2\")\n}",
            "buildConfigField \"String\", \"PIN\", \"\\\"PIN1\\\"\"\nresValue \"string\", \"b\", \"PIN2\"",
            "buildConfigField(\"String[]\", \"PINS\", \"{\\\"PIN1\\\", \\\"PIN2\\\"}\")",
            "static final String[] PINS = {\"PIN1\", \"PIN2\"};", "PINS=PIN1\nNEXT=PIN2", "pins:\n- PIN1\n- PIN2\n",
            "pins.add(\"PIN1\")\npins.add(\"PIN2\")",
            "// CertificatePinner.Builder().add(\"a.test\", \"PIN1\")\n\"PIN2\"",
            "import okhttp3.CertificatePinner\nval a = CertificatePinner.Builder().build()\n"
                + "val b = \"PIN1\" + \"PIN2\"",
            "PIN1\nPIN2",
        ])
    func noBuilder(_ text: String) {
        let found = problems(text)
        #expect(
            found.count == 1 && found[0].contains("nothing is pinned here, because no call adds this pin"), "\(found)")
    }

    @Test("All problems are reported in one run")
    func allProblems() {
        let found = problems(
            #"CertificatePinner.Builder().add(HOST, "PIN1").add("*", "PIN1").add("a.example", "sha512/AAAA")"#)
        #expect(found.count == 3, "\(found)")
    }

    @Test("A pin of the wrong length is read as in OkHttp, as one that never matches")
    func wrongLength() throws {
        let reading = try OkHttpReader.read(Array("a.example sha256/AAAA".utf8), path: "pins.txt")
        #expect(reading.policy.rules.map(\.pins) == [[CanonicalPin(.publicKey, .sha256, [0, 0, 0])]])
        #expect(reading.notes.map(\.change) == [.quirk])
        #expect(reading.notes.map(\.direction) == [.stricter])
        #expect(reading.notes.first?.location == PolicyLocation(path: "pins.txt", line: 1, column: 11))
    }

    @Test("A whole key or certificate in place of a digest is named, with the pin of its key")
    func wholeObjects() throws {
        let site = try TestSite("a.test")
        let certificate = try X509Certificate(derBytes: site.leaf.derBytes)
        let pin = certificate.subjectPublicKeyInfo.fingerprint.description
        for (bytes, expected) in [
            (
                certificate.derBytes,
                "is a whole certificate in base64, and not the digest of a key, so OkHttp accepts the"
            ),
            (certificate.subjectPublicKeyInfo.derBytes, "is a whole public key in base64"),
        ] {
            let text = "CertificatePinner.Builder().add(\"a.test\", \"sha256/\(Base64.encode(bytes.span))\")"
            let notes = try OkHttpReader.read(Array(text.utf8), path: "P.kt").notes
            #expect(notes.map(\.rule) == [.malformedPin], "\(notes)")
            #expect(notes[0].message.contains(expected) && notes[0].message.hasSuffix(": write \(pin)"), "\(notes)")
        }
        let other = "a.example sha256/" + Base64.encode(([0x30, 0x82, 1] + [UInt8](repeating: 0, count: 90)).span)
        let notes = try OkHttpReader.read(Array(other.utf8), path: "pins.txt").notes
        #expect(notes.count == 1 && notes[0].message.contains("that pinctl hash prints for its file"), "\(notes)")
    }

    @Test("Too many pins or too long patterns are rejected early")
    func limits() throws {
        let pins = (0...TextLimits.pins).map {
            "a.example sha1/" + Base64.encode([UInt8($0 >> 8), UInt8($0 & 255), 0].span)
        }
        let found = problems(pins.joined(separator: "\n"))
        #expect(
            found.count == 1 && found[0].hasPrefix("Pins.kt:\(pins.count):1: error: there are more than"), "\(found)")
        #expect(OkHttpPin.pattern(String(repeating: "a", count: 64)) == nil)
        #expect(OkHttpPin.pattern(String(repeating: "a.", count: 127)) == nil)
    }

    @Test("A pin outside any call is noted")
    func strayPin() throws {
        let text = "val old = \"\(Self.first)\"\nb.add(\"a.example\", \"\(Self.second)\")"
        let reading = try OkHttpReader.read(Array(text.utf8), path: "Pins.kt")
        #expect(reading.notes.map(\.location?.line) == [1])
    }

    @Test("Two builders in a file are noted, and a declared type isn't counted as another one")
    func twoBuilders() throws {
        let text = """
            CertificatePinner.Builder first = new CertificatePinner.Builder();
            first.add("a.example", "\(Self.first)");

            val b = CertificatePinner.Builder().add("a.example", "\(Self.second)").build()
            """
        let reading = try OkHttpReader.read(Array(text.utf8), path: "Pins.kt")
        #expect(
            reading.notes == [
                ConversionNote(
                    .combinationChanged, .weaker,
                    "the builders on lines 1 and 4 are alternatives, and are read as one rule that accepts the pins of "
                        + "both: give each builder a file of its own",
                    at: PolicyLocation(path: "Pins.kt", line: 4, column: 9), rule: .misreadSetting)
            ])
    }

    @Test(
        "Pins that only one branch of a program adds are noted as alternatives",
        arguments: [
            (
                """
                val b = CertificatePinner.Builder()
                if (isDebug) {
                    b.add("a.example", "PIN1")
                } else {
                    b.add("a.example", "PIN2")
                }
                """, [3, 5]
            ),
            (
                "val b = CertificatePinner.Builder()\nif (x) b.add(\"a.example\", \"PIN1\")\n"
                    + "else b.add(\"a.example\", \"PIN2\")",
                [2, 3]
            ),
            (
                "val b = CertificatePinner.Builder()\nif (x)\n  b.add(\"a.example\", \"PIN1\")\n"
                    + "b.add(\"a.example\", \"PIN2\")",
                [3]
            ),
            (
                """
                CertificatePinner.Builder().apply {
                    when (flavor) {
                        "a" -> add("a.example", "PIN1")
                        else -> add("a.example", "PIN2")
                    }
                    add("b.example", "PIN1")
                }.build()
                """, [3, 4]
            ),
            (
                """
                fun pins(b: Builder) {
                    if (x) { b.add("a.example", "PIN1") } else { b.add("a.example", "PIN2") }
                }
                """, [2, 2]
            ),
            (
                "val b = CertificatePinner.Builder()\nval c = if2(x)\nb = staging ? b.add(\"a.example\", \"PIN1\")\n"
                    + ": b.add(\"a.example\", \"PIN2\")", [3, 4]
            ),
            (
                """
                static void pin(CertificatePinner.Builder b, int env) {
                    switch (env) {
                        case 1: b.add("a.example", "PIN1"); break;
                        default: b.add("a.example", "PIN2");
                    }
                }
                """, [3, 4]
            ),
            (
                """
                fun pin(b: CertificatePinner.Builder, env: String?) {
                    when (env) {
                        "a" -> b.add("a.example", "PIN1")
                        "b" -> b.add("a.example", "PIN2")
                    }
                }
                """, [3, 4]
            ),
            (
                """
                val b = CertificatePinner.Builder().add("a.example", "PIN1")
                if (!isProduction) return b.build()
                return b.add("a.example", "PIN2").build()
                """, [3]
            ),
            (
                """
                val b = CertificatePinner.Builder()
                try { b.add("a.example", "PIN1") } catch (e: Exception) { b.add("a.example", "PIN2") }
                """, [2, 2]
            ),
            (
                "val b = CertificatePinner.Builder()\n"
                    + "x?.let { b.add(\"a.example\", \"PIN1\") } ?: b.add(\"a.example\", \"PIN2\")",
                [2, 2]
            ),
            (
                """
                val p = if (isDebug) CertificatePinner.DEFAULT
                else CertificatePinner.Builder().add("a.example", "PIN1").build()
                """, [2]
            ),
            (
                """
                val b = CertificatePinner.Builder()
                for (host in listOf("a.example", "b.example")) {
                    if (host == other) continue
                    b.add(host, "PIN1")
                }
                """, [4]
            ),
            (
                "val b = CertificatePinner.Builder()\nfor (h in listOf(\"a.test\")) { b.add(h, \"PIN1\"); if (x) break }",
                [2]
            ),
            (
                "val b = CertificatePinner.Builder()\nlistOf(\"a.test\").forEach { b.add(it, \"PIN1\"); return@run }",
                [2]
            ),
            (
                """
                CertificatePinner.Builder b = new CertificatePinner.Builder();
                switch (x) { case 1: log(1); break; }
                b.add("a.example", "PIN1");
                """, []
            ),
            ("val b = CertificatePinner.Builder()\nBuildConfig.DEBUG || b.add(\"a.example\", \"PIN1\") != null", [2]),
            (
                "val b = CertificatePinner.Builder()\nval x = isRelease &&\n  b.add(\"a.example\", \"PIN1\") != null\n"
                    + "b.add(\"a.example\", \"PIN2\")", [3]
            ),
            ("val b = CertificatePinner.Builder()\nrepeat(0) { b.add(\"a.example\", \"PIN1\") }", [2]),
            ("val b = CertificatePinner.Builder()\nwhile (more()) b.add(\"a.example\", \"PIN1\")", [2]),
            (
                "val b = CertificatePinner.Builder()\nif (a || c) { log() }\ndo { log() } while (x || y)\n"
                    + "val d = a && c\nb.add(\"a.example\", \"PIN1\")", []
            ),
            // Nullable types, a guard before the builder, and a lambda's arrow aren't branches.
            (
                """
                fun client(name: String?, list: List<*>?): Client? {
                    if (name == null) return null
                    return Client(CertificatePinner.Builder().apply { b -> b.add("a.example", "PIN1") }.build())
                }
                """, []
            ),
            // A builder inside one branch is complete there, and the other branch has none.
            ("if (!isDebug) {\n  val p = CertificatePinner.Builder().add(\"a.example\", \"PIN1\").build()\n}", []),
            ("if (x) { log(\"\") }\nCertificatePinner.Builder().add(\"a.example\", \"PIN1\").build()", []),
            ("if (x) log(1)\nCertificatePinner.Builder().add(\"a.example\", \"PIN1\").build()", []),
            ("fun pins(b: Builder) {\n  if (x) { b.add(\"a.example\", \"PIN1\", \"PIN2\") }\n}", []),
        ])
    func branches(_ text: String, _ lines: [Int]) throws {
        let source = text.replacing("PIN1", with: Self.first).replacing("PIN2", with: Self.second)
        let notes = try OkHttpReader.read(Array(source.utf8), path: "Pins.kt").notes
        #expect(notes.map(\.location?.line) == lines, "\(notes)")
        #expect(notes.allSatisfy { $0.change == .combinationChanged && $0.direction == .weaker }, "\(notes)")
    }

    @Test("A pin that a call names through a constant is read, and isn't noted as unused")
    func pinConstants() throws {
        let text = """
            object Pins {
                const val ROOT = "\(Self.first)"
                const val BACKUP = "\(Self.second)"
                const val OLD = "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
            }
            val p = CertificatePinner.Builder().add("a.example", Pins.ROOT, Pins.BACKUP).build()
            """
        let reading = try OkHttpReader.read(Array(text.utf8), path: "Pins.kt")
        #expect(reading.policy.rules.map(\.pins.count) == [2])
        #expect(reading.notes.map(\.location?.line) == [4], "\(reading.notes)")
    }

    @Test(
        "Pin strings are accepted and rejected as in OkHttp's own tests",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func pinStrings() throws {
        let rows = try #require(PeerCases.all).pin_strings.okhttp.cases.elements
        try #require(rows.count == 5)
        for row in rows {
            #expect((OkHttpPin.pin(try #require(row["in"].string)) != nil) == row.valid.bool, "\(row)")
        }
    }

    private static let failure = """
        E/AndroidRuntime: javax.net.ssl.SSLPeerUnverifiedException: Certificate pinning failure!
          Peer certificate chain:
            sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=: CN=api.example.com, O=A: B
            sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=: CN=Authority
          Pinned certificates for api.example.com:
            sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
            sha1/AAAAAAAAAAAAAAAAAAAAAAAAAAA=
            at okhttp3.CertificatePinner.check(CertificatePinner.java:199)
        """

    @Test("The exception's text yields the served and the pinned keys")
    func exception() throws {
        let failure = try #require(PinningFailureText(Self.failure))
        #expect(failure.host == "api.example.com")
        #expect(failure.served.map(\.subject) == ["CN=api.example.com, O=A: B", "CN=Authority"])
        #expect(failure.served.map { $0.pin.value.first } == [1, 2])
        #expect(failure.pinned.map(\.digest) == [.sha256, .sha1])
        let reading = try OkHttpReader.read(Array(Self.failure.utf8), path: "log.txt")
        #expect(reading.policy.rules.map(\.pins) == [failure.pinned])
        #expect(reading.notes.map(\.direction) == [.weaker])
        #expect(PinningFailureText("Certificate pinning failure!") == nil)
    }

    @Test("A written policy is read back unchanged")
    func written() throws {
        let rules = [
            CanonicalRule(
                patterns: [HostPattern("example.com", .exactAndBelow)],
                pins: [
                    CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 1, count: 32), name: "old\nkey"),
                    CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 2, count: 32)),
                ]),
            CanonicalRule(
                patterns: [HostPattern("a.example", .exact)],
                pins: [CanonicalPin(.publicKey, .sha1, [UInt8](repeating: 3, count: 20))]),
        ]
        let text = try OkHttpWriter.write(CanonicalPolicy(rules: rules, combination: .union))
        #expect(try self.rules(text) == ["**.example.com 1 2", "a.example 3"])
        #expect(text.contains("=\",  // old\\u{A}key\n"))
    }

    @Test(
        "A policy that OkHttp can't express is not written",
        arguments: [
            CanonicalRule(patterns: [HostPattern("", .every)], pins: [CanonicalPin(.publicKey, .sha256, [1])]),
            CanonicalRule(
                patterns: [HostPattern("a.example", .exactAndOneLabelBelow)],
                pins: [CanonicalPin(.publicKey, .sha256, [1])]),
            CanonicalRule(patterns: [HostPattern("a\"b", .exact)], pins: [CanonicalPin(.publicKey, .sha256, [1])]),
            CanonicalRule(
                patterns: [HostPattern("a.example", .exact)], pins: [CanonicalPin(.certificate, .sha256, [1])]),
            CanonicalRule(patterns: [HostPattern("a.example", .exact)], pins: []),
        ])
    func unwritable(_ rule: CanonicalRule) {
        #expect(throws: DialectWriteError.self) {
            try OkHttpWriter.write(CanonicalPolicy(rules: [rule], combination: .union))
        }
    }
}
