import CertificatePinning
import CertificateTrust
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Constants in other files of a project")
struct SourceProjectTests {
    private static let first = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    private static let second = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

    /// A project, and the lines of the pinner in one of its files, `app/src/main/Client.kt` or `Client.java`.
    struct Sample: CustomTestStringConvertible, Sendable {
        let client: String
        let files: [String: String]
        /// The rules, or a part of an error.
        let expected: String
        var isJava = false
        var testDescription: String { "\(client) \(files)" }

        init(_ client: String, _ files: [String: String], _ expected: String, isJava: Bool = false) {
            (self.client, self.files, self.expected, self.isJava) = (client, files, expected, isJava)
        }
    }

    private static func source(_ text: String) -> [UInt8] {
        Array(text.replacing("PIN1", with: first).replacing("PIN2", with: second).utf8)
    }

    private static func project(_ files: [String: String]) -> SourceProject {
        SourceProject { _ in
            var contents = SourceProject.Contents()
            for (path, text) in files.sorted(by: { $0.key < $1.key }) where SourceProject.contains(path) {
                contents.add(source(text), path: path)
            }
            return contents
        }
    }

    private func reading(_ sample: Sample) throws(PolicyFileError) -> DialectReading {
        let path = "app/src/main/Client." + (sample.isJava ? "java" : "kt")
        let files = sample.files.merging([path: sample.client]) { $1 }
        return try PinDialect.okhttp.read(
            Self.source(sample.client), path: path, target: nil, project: Self.project(files))
    }

    private func result(_ sample: Sample) -> String {
        do throws(PolicyFileError) {
            return try reading(sample).policy.rules.map { rule in
                ((rule.patterns.first?.host ?? "") + rule.pins.map { " \($0.value.first ?? 0xFF)" }.joined())
            }.joined(separator: ", ")
        } catch {
            return error.problems.map(\.description).joined(separator: "; ")
        }
    }

    private static func kotlin(_ imports: String..., call: String) -> String {
        "package com.x.net\n" + imports.map { "import \($0)\n" }.joined()
            + "val p = CertificatePinner.Builder().\(call).build()\n"
    }

    private static let classes = [
        "core/Pin.kt": "package com.x.core\ndata class Pin(val host: String, val hash: String)"
    ]

    /// Two modules with a field of the same name.
    private static func modules(hasNames: Bool = true) -> [String: String] {
        [
            "app/build.gradle.kts": (hasNames ? "namespace = \"com.x\"\n" : "")
                + #"buildConfigField("String", "PIN", "\"PIN1\"")"#,
            "core/build.gradle": (hasNames ? "namespace 'com.x.core'\n" : "")
                + #"buildConfigField "String", "PIN", "\"PIN2\"""#,
        ]
    }

    private static let config = [
        "core/Config.kt": "package com.x.core\nobject Config { const val HOST = \"a.test\"; const val PIN = \"PIN1\" }"
    ]
    private static let pins = [
        "app/src/main/Pins.java": """
        package com.x.net;
        final class Pins {
            static final String PRIMARY = "PIN1";
            static final String[] ALL = { PRIMARY, Backup.PIN };
            static final class Backup { public static final String PIN = "PIN2"; }
        }
        """
    ]

    @Test(
        "A constant is found by its import, its package or its qualified name",
        arguments: [
            Sample(kotlin("com.x.core.Config", call: "add(Config.HOST, Config.PIN)"), config, "a.test 0"),
            Sample(kotlin("com.x.core.Config.HOST", "com.x.core.*", call: "add(HOST, Config.PIN)"), config, "a.test 0"),
            Sample(kotlin("com.x.core.Config.*", call: "add(HOST, PIN)"), config, "a.test 0"),
            Sample(kotlin("com.x.core.Config as C", call: "add(\"www.${C.HOST}\", C.PIN)"), config, "www.a.test 0"),
            Sample(kotlin(call: "add(com.x.core.Config.HOST, com.x.core.Config.PIN)"), config, "a.test 0"),
            Sample(kotlin(call: "add(\"a.test\", Pins.PRIMARY, Pins.Backup.PIN)"), pins, "a.test 0 1"),
            Sample(kotlin(call: "add(\"a.test\", *Pins.ALL)"), pins, "a.test 0 1"),
            Sample(
                """
                package com.y; import static com.x.net.Pins.*; import com.x.net.Pins.Backup;
                class Client { CertificatePinner p = new CertificatePinner.Builder()
                  .add("a.test", PRIMARY).add("a.test", Backup.PIN).build(); }
                """, pins, "a.test 0 1", isJava: true),
            Sample(
                kotlin(call: "add(HOST, Keys.PIN, Keys.Companion.PIN)"),
                [
                    "app/src/main/Names.kt": "package com.x.net\ninternal const val HOST = \"api.$ROOT\"",
                    "app/src/main/Root.kt": "package com.x.net\nval ROOT: String by lazy { \"a.test\" }",
                    "app/src/main/Keys.kt":
                        "package com.x.net\nclass Keys { companion object { const val PIN = \"PIN1\" } }",
                ], "api.a.test 0 0"),
            Sample(
                "package com.x.net\nclass Client : Base() { val p = CertificatePinner.Builder().add(host, \"PIN1\") }",
                ["core/Base.kt": "package com.x.core\nopen class Base { protected val host = \"a.test\" }"],
                "a.test 0"),
            // The same in each variant, a test's own value, and a private one of the same package.
            Sample(
                kotlin(call: "add(Env.HOST, \"PIN1\")"),
                [
                    "app/src/debug/Env.kt": "package com.x.net\nobject Env { const val HOST = \"a.test\" }",
                    "app/src/release/Env.kt": "package com.x.net\nobject Env { const val HOST = \"a.test\" }",
                    "app/src/test/Env.kt": "package com.x.net\nobject Env { const val HOST = \"localhost\" }",
                    "app/src/main/Other.kt": "package com.x.net\nprivate const val HOST = \"b.test\"",
                ], "a.test 0"),
            // Fields of Gradle.
            Sample(
                kotlin("com.x.BuildConfig", call: "add(BuildConfig.HOST, BuildConfig.PIN)"),
                [
                    "app/build.gradle": """
                    android { defaultConfig { // buildConfigField "String", "PIN", "\\"PIN2\\""
                        buildConfigField "String", "PIN", "\\"PIN1\\""
                        buildConfigField 'String', 'HOST', '"a.test"' } }
                    """
                ], "a.test 0"),
            Sample(
                kotlin("com.x.BuildConfig.PINS", call: "add(\"a.test\", *PINS)"),
                [
                    "app/build.gradle.kts": """
                    android { buildTypes {
                      debug { buildConfigField("String[]", "PINS", "{\\"PIN1\\", \\"PIN2\\"}") }
                      release { buildConfigField(type = "String[]", name = "PINS", value = "{\\"PIN1\\", \\"PIN2\\"}") }
                    } }
                    """
                ], "a.test 0 1"),
            // The plugin for projects of Kotlin alone takes values in place of expressions.
            Sample(
                kotlin("com.x.BuildConfig", call: "add(BuildConfig.HOST, *BuildConfig.PINS)"),
                [
                    "app/build.gradle.kts": """
                    buildConfig {
                        buildConfigField("VERSION", project.version("1", 2))
                        buildConfigField("HOST", "a.test")
                        buildConfigField<Array<String>>("PINS", arrayOf("PIN1", "PIN2"))
                    }
                    """
                ], "a.test 0 1"),
            // Classes of other files.
            Sample(
                kotlin("com.x.core.Pin", call: "add(P.host, P.hash)") + "val P = Pin(\"a.test\", hash = \"PIN1\")",
                classes,
                "a.test 0"),
            Sample(
                kotlin(
                    "com.x.core.*",
                    call: "apply { listOf(Pin(\"a.test\", \"PIN1\")).forEach { add(it.host, it.hash) } }"),
                classes, "a.test 0"),
            Sample(
                kotlin(call: "add(P.host, P.hash)") + "val P = com.x.core.Pin(\"a.test\", \"PIN1\")", classes,
                "a.test 0"),
            Sample(
                """
                package com.x.net; class Client { static final Pin P = new Pin("a.test", "PIN1");
                CertificatePinner p = new CertificatePinner.Builder().add(P.host(), P.hash()).build(); }
                """, ["core/Pin.java": "package com.x.net; public record Pin(String host, String hash) {}"], "a.test 0",
                isJava: true),
            // Fields of modules.
            Sample(kotlin("com.x.BuildConfig", call: "add(\"a.test\", BuildConfig.PIN)"), modules(), "a.test 0"),
            Sample(kotlin("com.x.core.BuildConfig", call: "add(\"a.test\", BuildConfig.PIN)"), modules(), "a.test 1"),
            Sample(kotlin("com.x.core.BuildConfig.PIN", call: "add(\"a.test\", PIN)"), modules(), "a.test 1"),
            Sample(
                kotlin("com.x.BuildConfig", call: "add(\"a.test\", BuildConfig.PIN)"), modules(hasNames: false),
                "a.test 0"),
        ])
    func found(_ sample: Sample) {
        #expect(result(sample) == sample.expected, "\(sample)")
    }

    private static func env(_ line: String) -> [String: String] {
        ["app/src/main/Env.kt": "package com.x.net\nobject Env { \(line) }"]
    }
    private static let use = kotlin(call: "add(Env.HOST, \"PIN1\")")
    private static let field = kotlin("com.x.BuildConfig", call: "add(\"a.test\", BuildConfig.PIN)")
    private static func gradle(_ lines: String) -> [String: String] { ["app/build.gradle": lines] }

    @Test(
        "A constant without a single value is refused with the places",
        arguments: [
            Sample(
                use,
                [
                    "app/src/debug/Env.kt": "package com.x.net\nobject Env { const val HOST = \"a.test\" }",
                    "app/src/release/Env.kt": "package com.x.net\nobject Env { const val HOST = \"b.test\" }",
                ], "\"Env.HOST\" isn't the same at app/src/debug/Env.kt:2:24 and app/src/release/Env.kt:2:24: write"),
            Sample(
                use, env("var HOST = \"a.test\""), "\"Env.HOST\" isn't a constant string or list at app/src/main/Env"),
            Sample(use, env("open val HOST = \"a.test\""), "\"Env.HOST\" isn't a constant"),
            Sample(use, env("val HOST = if (x) \"a.test\" else \"b.test\""), "\"Env.HOST\" isn't a constant"),
            Sample(use, env("val HOST = System.getenv(\"H\")"), "\"Env.HOST\" isn't a constant"),
            Sample(
                use, env("private val HOST = \"a.test\""),
                "\"Env.HOST\" isn't set to a string or list in this file or"),
            Sample(use, env("fun f(HOST: String) {}"), "\"Env.HOST\" isn't a constant"),
            Sample(use, env("val HOST = \"x.$ROOT\""), "\"ROOT\" isn't set"),
            Sample(use, env("val A = B; val B = A; val HOST = A"), "\"A\" isn't the same"),
            Sample(
                use, ["core/Env.kt": "package com.x.core\nobject Env { const val HOST = \"a.test\" }"],
                "\"Env.HOST\" isn't set"),
            Sample(
                use, ["app/src/main/Other.kt": "package com.x.net\nobject Other { const val HOST = \"a.test\" }"],
                "isn't set"),
            Sample(
                use, ["app/src/test/Env.kt": "package com.x.net\nobject Env { const val HOST = \"a.test\" }"],
                "isn't set"),
            // An import and a declaration of this file.
            Sample(
                kotlin("com.x.core.Config.HOST", call: "add(HOST, \"PIN1\")") + "const val HOST = \"b.test\"", config,
                "\"HOST\" isn't the same at app/src/main/Client.kt:4:11 and core/Config.kt:2:27"),
            // A supertype in another file, which hides the name of this one.
            Sample(
                "package com.x.net\nconst val h = \"b.test\"\n"
                    + "class C : Base() { val p = CertificatePinner.Builder().add(h, \"PIN1\") }",
                ["core/Base.kt": "package com.x.core\nopen class Base { val h = \"a.test\" }"],
                "\"h\" isn't the same at"),
            Sample(
                "package com.x.net\nval b = CertificatePinner.Builder()\n"
                    + "fun f() { for (ROOT in listOf(\"b\")) b.add(Env.HOST, \"PIN1\") }",
                env("val HOST = \"x.$ROOT\"").merging(["app/src/main/R.kt": "package com.x.net\nval ROOT = root()"]) {
                    $1
                },
                "\"ROOT\" isn't a constant"),
            Sample(
                kotlin(call: "add(\"a.test\", *Pins.ALL)"),
                pins.merging(["app/src/main/Set.java": "class Set { void f() { Pins.ALL[0] = x; } }"]) { $1 },
                "\"ALL\" isn't the same"),
            Sample(
                field,
                gradle(
                    """
                    debug { buildConfigField "String", "PIN", "\\"PIN1\\"" }
                    release { buildConfigField "String", "PIN", "\\"PIN2\\"" }
                    """), "\"BuildConfig.PIN\" isn't the same at app/build.gradle:1:9 and app/build.gradle:2:11"),
            Sample(field, gradle("buildConfigField \"String\", \"PIN\", \"\\\"${pin}\\\"\""), "isn't a constant"),
            Sample(field, gradle("buildConfigField \"String\", \"PIN\", pins.get(0)"), "isn't a constant"),
            Sample(
                field, gradle("buildConfigField(\"HOST\", get(\"H\"))\nbuildConfigField(\"PIN\", get(\"P\", 1))"),
                "\"BuildConfig.PIN\" isn't a constant string or list at app/build.gradle:2:1"),
            Sample(field, gradle("buildConfigField \"String\", \"PIN\", '\"PIN1\"'.trim()"), "isn't a constant"),
            Sample(field, gradle("buildConfigField \"String\", \"PIN\", \"Pins.PRIMARY\""), "isn't a constant"),
            Sample(field, gradle("buildConfigField \"Object\", \"PIN\", \"\\\"PIN1\\\"\""), "isn't a constant"),
            Sample(
                field, gradle("x.each { k, v -> buildConfigField \"String\", k, \"\\\"$v\\\"\" }"), "isn't a constant"),
            Sample(
                field,
                gradle("buildConfigField 'String', 'PIN', '\"PIN1\"'\nbuildConfigFields.put(\"PIN\", f(x))"),
                "isn't the same at"),
            // The package may be that of another module.
            Sample(
                kotlin("com.y.BuildConfig", call: "add(\"a.test\", BuildConfig.PIN)"), modules(),
                "\"BuildConfig.PIN\" isn't the same at"),
            Sample(
                kotlin("com.x.BuildConfig", call: "add(\"a.test\", BuildConfig.PIN)"),
                modules().merging(["buildSrc/Fields.kts": #"buildConfigField("String", "PIN", "\"PIN2\"")"#]) { $1 },
                "\"BuildConfig.PIN\" isn't the same at"),
            // Classes with other properties, and one that this file declares.
            Sample(
                kotlin("com.x.core.*", "com.y.*", call: "add(P.host, \"PIN1\")") + "val P = Pin(\"a.test\", \"PIN1\")",
                classes.merging(["y/Pin.kt": "package com.y\ndata class Pin(val hash: String, val host: String)"]) {
                    $1
                },
                "\"Pin\" isn't set"),
            Sample(
                kotlin("com.x.core.*", call: "add(P.host, \"PIN1\")")
                    + "class Pin(val host: String, val hash: String)\nval P = Pin(\"a.test\", \"PIN1\")", classes,
                "\"Pin\" isn't set"),
            Sample(
                kotlin("com.z.Pin", call: "add(P.host, \"PIN1\")") + "val P = Pin(\"a.test\", \"PIN1\")", classes,
                "\"Pin\" isn't set"),
            Sample(
                field, gradle("buildConfigField \"String\", \"OTHER\", \"\\\"PIN1\\\"\""),
                "\"BuildConfig.PIN\" isn't set"),
        ])
    func unknown(_ sample: Sample) {
        #expect(result(sample).contains(sample.expected), "\(sample): \(result(sample))")
    }

    @Test("A use of a pin of another file that isn't read is noted")
    func unreadUse() throws {
        let call = Self.kotlin("com.x.core.Config", call: "add(\"a.test\", \"PIN2\")")
        func notes(_ line: String) throws -> [String] {
            try reading(Sample(call + line, Self.config, "")).notes.map(\.message)
        }
        #expect(try notes("val q = helper(Config.PIN)").first?.hasPrefix("\"Config.PIN\" is used here") == true)
        #expect(try notes("val q = helper(Config.HOST)").isEmpty)
        #expect(try notes("val q = Other.PIN").isEmpty)
    }

    @Test("A project that can't be searched as a whole has no constants")
    func limits() throws {
        let call = Self.source(Self.kotlin("com.x.core.Config", call: "add(Config.HOST, \"PIN1\")"))
        func problem(_ change: @escaping @Sendable (inout SourceProject.Contents) -> Void) -> String {
            let project = SourceProject { _ in
                var contents = SourceProject.Contents()
                contents.add(Self.source(Self.config["core/Config.kt"] ?? ""), path: "core/Config.kt")
                change(&contents)
                return contents
            }
            do throws(PolicyFileError) {
                _ = try PinDialect.okhttp.read(call, path: "Client.kt", target: nil, project: project)
                return ""
            } catch {
                return error.problems.map(\.message).joined()
            }
        }
        #expect(problem { _ in } == "")
        let large = problem { contents in
            let bytes = [UInt8](repeating: 0x20, count: 8 << 20)
            for index in 0..<8 { contents.add(bytes, path: "\(index).kt") }
        }
        #expect(large.contains("its project can't be searched (it has over 20000 programs, or 64 MiB of them)"))
        #expect(problem { $0.add(problem: "B.kt: denied") }.contains("its project can't be searched (B.kt: denied)"))
    }
}
