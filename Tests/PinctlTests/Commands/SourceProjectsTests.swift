import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("Constants of a program in the other files of its project")
struct SourceProjectsTests {
    private let directory: TestDirectory

    private static let client = """
        package com.x
        import com.x.core.Config
        val pinner = CertificatePinner.Builder().add(Config.HOST, Config.PIN, BuildConfig.BACKUP).build()

        """

    init() throws {
        directory = try TestDirectory()
        try write(
            "core/Config.kt",
            """
            package com.x.core
            object Config {
                const val HOST = "api.example.com"
                const val PIN = "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
            }
            """)
        try write(
            "app/build.gradle.kts",
            #"buildConfigField("String", "BACKUP", "\"sha256/CAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\"")"#)
        try write("app/src/main/java/com/x/Client.kt", Self.client)
    }

    private func write(_ path: String, _ text: String) throws {
        let file = "\(directory.path)/\(path)"
        let parent = String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)])
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    private func run(_ words: String...) async -> Run {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return await pinctl(words, variables: ["PATH": path, "HOME": directory.path])
    }

    private var clientPath: String { "\(directory.path)/app/src/main/java/com/x/Client.kt" }

    @Test("find, lint and import resolve the constants of a program in a directory")
    func directories() async throws {
        let found = await run("find", directory.path)
        #expect(found.status == 0, "\(found)")
        #expect(
            found.output.contains("Client.kt:3:59 (okhttp, value at \(directory.path)/core/Config.kt:4:22)")
                && !found.output.contains("    \(directory.path)/app/build.gradle"), "\(found)")
        let linted = await run("lint", directory.path)
        #expect(linted.status == 0, "\(linted)")
        #expect(linted.errors == "", "\(linted)")
        let imported = await run("import", directory.path)
        #expect(imported.output.contains("api.example.com") && imported.output.contains("sha256/CAEC"), "\(imported)")
    }

    @Test(
        "A file alone belongs to the closest directory with Gradle's settings or a repository",
        arguments: ["settings.gradle", "settings.gradle.kts", ".git/HEAD"])
    func files(_ mark: String) async throws {
        let alone = await run("lint", clientPath)
        #expect(alone.status == 2 && alone.output.contains("isn't set to a string or list in this file:"), "\(alone)")
        try write(mark, "")
        let linted = await run("lint", clientPath)
        #expect(linted.status == 0, "\(linted)")
        // A closer project doesn't have the constant.
        try write("app/settings.gradle", "")
        let other = await run("lint", directory.path)
        #expect(other.status == 2 && other.output.contains("in this file or its project"), "\(other)")
    }

    @Test("A pin has the position of its digest or call, with that of its constant, and never that of a comment")
    func places() async throws {
        let commented = Self.client.replacing(
            "val pinner", with: "/** sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8= */\nval pinner")
        try write("app/src/main/java/com/x/Client.kt", commented)
        let found = await run("find", directory.path)
        #expect(
            found.output.contains("Client.kt:4:59 (okhttp, value at \(directory.path)/core/Config.kt:4"), "\(found)")
        #expect(found.output.contains("Client.kt:3:5 (text, comment)"), "\(found)")
        let twice = "sha256/FAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        try write(
            "app/src/main/java/com/x/Client.kt",
            "val p = CertificatePinner.Builder().add(\"a.test\", \"\(twice)\").add(\"b.test\", \"\(twice)\").build()\n")
        let same = await run("find", directory.path)
        for place in ["1:52", "1:121"] { #expect(same.output.contains("Client.kt:\(place) (okhttp)"), "\(same)") }
    }

    @Test(
        "A constant beside those of a program that nothing uses is listed as such, and isn't missed elsewhere",
        arguments: [
            ("// .add(Config.HOST, Config.SPARE)", true), ("/* SPARE */", true),
            ("val other = Config.SPARE", false), ("config.getSPARE()", false),
        ])
    func unused(code: String, isUnused: Bool) async throws {
        try write(
            "core/Config.kt",
            """
            package com.x.core
            object Config {
                const val HOST = "api.example.com"
                const val PIN = "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
                const val SPARE = "sha256/EAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
            }
            """)
        try write("app/src/main/java/com/x/Other.kt", "package com.x\n\(code)\n")
        let found = await run("find", directory.path)
        #expect(found.output.contains("Config.kt:5:24 (text, not used)") == isUnused, "\(found)")
        #expect(found.status == (isUnused ? 0 : 1), "\(found)")
    }

    @Test("Links aren't followed, and a file that can't be read leaves no constant with a value")
    func unread() async throws {
        let outside = try TestDirectory()
        try Data("package com.x.core\nobject More { const val HOST = \"b.test\" }".utf8).write(
            to: URL(filePath: "\(outside.path)/More.kt"))
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory.path)/linked", withDestinationPath: outside.path)
        try write(
            "app/src/main/java/com/x/Client.kt",
            Self.client.replacing("Config", with: "More").replacing("BuildMore.BACKUP", with: "\"sha1/A\""))
        let linked = await run("lint", directory.path)
        #expect(linked.output.contains("\"More.HOST\" isn't set"), "\(linked)")

        try write("app/src/main/java/com/x/Client.kt", Self.client)
        try write("core/Large.kt", String(repeating: " ", count: (8 << 20) + 1))
        let large = await run("lint", directory.path)
        #expect(
            large.status == 2
                && large.output.contains("can't be searched (\(directory.path)/core/Large.kt is larger than 8 MiB)"),
            "\(large)")
    }

    @Test("Certificates of a project say nothing of its constants, however large they are")
    func certificates() async throws {
        try write("certs/bundle.crt", String(repeating: " ", count: (1 << 20) + 1))
        let linted = await run("lint", directory.path)
        #expect(linted.status == 0, "\(linted)")
        try write("app/Client.swift", #"let m = ["a.test": PublicKeysTrustEvaluator()]"#)
        let large = await run("find", directory.path)
        #expect(large.status == 2 && large.errors.contains("certs/bundle.crt: "), "\(large)")
        try FileManager.default.removeItem(atPath: "\(directory.path)/certs")
        try Data(try TestSite("a.test").leaf.derBytes).write(to: URL(filePath: "\(directory.path)/app/a.cer"))
        let found = await run("find", directory.path)
        #expect(found.status == 0 && found.output.contains("Client.swift:1:20 (alamofire)"), "\(found)")
    }

    @Test(
        "The directories above a path end at the root, or after a fixed number",
        arguments: [
            ("/a/b/c.kt", ["/a/b", "/a", "/"]), ("a/c.kt", ["a", ".", "..", "../.."]), ("c.kt", [".", "..", "../.."]),
            ("../c.kt", ["..", "../..", "../../.."]), ("/c.kt", ["/"]),
        ])
    func directoriesAbove(_ path: String, _ expected: [String]) {
        #expect(Array(SourceProjects.directories(above: path).prefix(expected.count)) == expected)
        #expect(path.hasPrefix("/") == (SourceProjects.directories(above: path) == expected))
    }
}
