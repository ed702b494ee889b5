import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Defaults of Android that depend on the API level that an app targets.
@Suite("pinctl plan, the API level of an app (GA1)")
struct PlanTargetTests {
    let site: PinctlSite
    let list: String
    /// A chain whose leaf has enough timestamps.
    let logged: String

    init() throws {
        site = try PinctlSite()
        let logs = [try TestLog("Alpha 2026", owner: "Alpha"), try TestLog("Beta 2026", owner: "Beta")]
        list = try site.directory.add(try TestLog.listJSON(logs, published: "2026-11-01T00:00:00Z"), name: "logs.json")
        let leaf = try site.intermediate.leaf("api.test", loggedBy: logs) {
            $0.notBefore = 1_790_812_800
            $0.notAfter = $0.notBefore + 90 * 86_400 - 1
        }
        logged = try site.directory.add(leaf.pemText + site.intermediate.pemText)
    }

    /// Adds a file in place of one with the same name.
    private func replace(_ name: String, _ bytes: [UInt8]) throws -> String {
        try? FileManager.default.removeItem(atPath: "\(site.directory.path)/\(name)")
        return try site.directory.add(bytes, name: name)
    }

    private func plan(_ chain: String, _ release: String, _ words: String...) async -> Int32 {
        await pinctl(
            ["plan", "--ca-file", site.rootFile, "--ct-logs", list, "--host", "api.test", "--new", chain, "--against"]
                + [release] + words
        ).status
    }

    @Test("Android 17 requires Certificate Transparency of apps that target it, unless the config says otherwise")
    func levels() async throws {
        let pinned = androidText([try site.root.key.pin, unknownPin])
        func setting(_ value: String) -> String { "<certificateTransparency enabled=\"\(value)\"/>" }
        let rows: [(String, String, Int32)] = [
            (pinned, "36", 0), (pinned, "37", 4), (pinned, "38", 4),
            (pinned.replacing("<pin-set", with: setting("false") + "<pin-set"), "37", 0),
            (pinned.replacing("<pin-set", with: setting("true") + "<pin-set"), "36", 4),
            (
                pinned.replacing(
                    "<domain-config", with: "<base-config>\(setting("false"))</base-config><domain-config"), "37", 0
            ),
            // A host without a config of its own has the default too.
            ("<network-security-config/>", "36", 0), ("<network-security-config/>", "37", 4),
            (
                "<network-security-config><base-config>\(setting("false"))</base-config></network-security-config>",
                "37", 0
            ),
        ]
        for (text, level, status) in rows {
            let file = try replace("nsc.xml", Array(text.utf8))
            #expect(await plan(site.chainFile, file, "--target-sdk", level) == status, "\(level): \(text)")
            #expect(await plan(logged, file, "--target-sdk", level) == 0, "\(level): \(text)")
        }
        for level in ["", "0", "x", "37.1", "-37"] {
            let file = try replace("nsc.xml", Array(pinned.utf8))
            #expect(await plan(site.chainFile, file, "--target-sdk=\(level)") == 2, "\(level)")
        }
    }

    @Test("The level is read from the files of the project around the config, and --target-sdk overrides it")
    func project() async throws {
        let rows: [([(String, String)], Int32)] = [
            ([("app/build.gradle.kts", "android { defaultConfig { targetSdk = 37 } }")], 4),
            (
                [
                    (
                        "app/build.gradle.kts",
                        "android {\n  defaultConfig {\n    // targetSdk = 37\n    targetSdk = 36\n  }\n}"
                    )
                ], 0
            ),
            ([("app/build.gradle", "android { defaultConfig { targetSdkVersion 37 } }")], 4),
            ([("app/build.gradle", "android.defaultConfig.targetSdkVersion(37)")], 4),
            ([("app/build.gradle.kts", "targetSdk {\n version = release(37)\n}")], 4),
            (
                [
                    ("app/build.gradle.kts", "targetSdk = libs.versions.target.sdk.get().toInt()"),
                    ("gradle/libs.versions.toml", "[versions]\n# target-sdk = \"36\"\ntarget-sdk = \"37\"\n"),
                ], 4
            ),
            (
                [
                    ("app/build.gradle", "targetSdkVersion rootProject.ext.level"),
                    ("build.gradle", "ext {\n  level = 37\n}"),
                ], 4
            ),
            (
                [
                    ("app/build.gradle", "targetSdk project.property('level').toInteger()"),
                    ("gradle.properties", "level=37"),
                ], 4
            ),
            (
                [
                    (
                        "app/src/main/AndroidManifest.xml",
                        "<manifest xmlns:android=\"x\"><uses-sdk android:targetSdkVersion=\"37\"/></manifest>"
                    )
                ], 4
            ),
            (
                [
                    (
                        "app/src/main/AndroidManifest.xml",
                        "<manifest xmlns:android=\"x\"><uses-sdk android:targetSdkVersion=\"37\"/></manifest>"
                    ), ("app/build.gradle.kts", "targetSdk = 36"),
                ], 0
            ),
            ([("app/build.gradle.kts", "compileSdk = 37\nminSdk = 37")], 0),
        ]
        for (index, (files, status)) in rows.enumerated() {
            let project = "project-\(index)"
            let config = "\(project)/app/src/main/res/xml/nsc.xml"
            for directory in ["app/src/main/res/xml", "gradle"] {
                _ = try TestCommand.run(["mkdir", "-p", "\(site.directory.path)/\(project)/\(directory)"])
            }
            let file = try site.directory.add(androidText([try site.root.key.pin, unknownPin]), name: config)
            for (name, text) in files { _ = try site.directory.add(text, name: "\(project)/\(name)") }
            #expect(await plan(site.chainFile, file) == status, "\(files)")
            #expect(await plan(site.chainFile, file, "--target-sdk", "36") == 0, "\(files)")
            #expect(await plan(site.chainFile, file, "--target-sdk", "37") == 4, "\(files)")
        }
        // A level that isn't a number anywhere is said.
        let unknown = try replace("project-0/app/build.gradle.kts", Array("targetSdk = compute()".utf8))
        let run = await pinctl(
            "plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--against",
            "\(site.directory.path)/project-0/app/src/main/res/xml/nsc.xml")
        #expect(run.errors.contains("\(unknown) sets isn't a number: give it with --target-sdk"), "\(run)")
    }
}
