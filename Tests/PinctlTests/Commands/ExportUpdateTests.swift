import Foundation
import PinctlTestPKI
import Testing

@Suite("export --update")
struct ExportUpdateTests {
    private let directory: TestDirectory
    private let now = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    private let next = "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
    private let old = "sha256/AwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwM="

    init() throws { directory = try TestDirectory() }

    /// Adds the policy with these exports, and the files of three systems, which have an old pin.
    private func addFiles(exports: String = "") throws -> String {
        _ = try directory.add(
            "export default { 'a.example.com': { pins: ['\(old)', '\(now)'] } }", name: "pins.ts")
        _ = try directory.add(
            """
            let c = [kTSKPinnedDomains: ["a.example.com": [kTSKEnforcePinning: true, kTSKDisableDefaultReportUri: true,
                kTSKPublicKeyHashes: ["\(old.dropFirst(7))", "\(now.dropFirst(7))"]]]]
            """, name: "TrustKit.swift")
        _ = try directory.add(
            "val c = CertificatePinner.Builder().add(\"a.example.com\", \"\(old)\", \"\(now)\").build()",
            name: "Pins.kt")
        return try directory.add(
            """
            { "version": 1,
              "domains": [{ "host": "a.example.com", "pins": ["\(now)", { "pin": "\(next)", "backup": true }] }],
              "exports": [
                { "to": "map", "file": "pins.ts" }, { "to": "trustkit", "file": "TrustKit.swift" },
                { "to": "okhttp", "file": "Pins.kt" }\(exports) ] }
            """, name: "pins.jsonc")
    }

    private func contents(_ name: String) throws -> String {
        try String(contentsOfFile: directory.path + "/" + name, encoding: .utf8)
    }

    @Test("Every exported file gets the pins of the policy, and the files agree then")
    func updated() async throws {
        let policy = try addFiles()
        let drift = await pinctl("export", "--check", policy)
        #expect(drift.status == 1)
        #expect(drift.errors.contains("note: pinctl export --update \(policy) changes all of these files"))
        let result = await pinctl("export", "--update", policy)
        #expect(result.lines.map { $0.split(separator: "/").last } == ["pins.ts", "TrustKit.swift", "Pins.kt"])
        #expect(result.status == 0, "\(result.errors)")
        for name in ["pins.ts", "TrustKit.swift", "Pins.kt"] {
            let text = try contents(name)
            #expect(text.contains(next.dropFirst(7)) && text.contains(now.dropFirst(7)))
            #expect(!text.contains(old.dropFirst(7)), "\(text)")
        }
        #expect(await pinctl("export", "--check", policy).status == 0)
        let again = await pinctl("export", "--update", policy)
        #expect(again.lines.allSatisfy { $0.hasSuffix("already matches the policy") })
    }

    @Test(
        "If one file can't be changed, none is",
        arguments: [
            (#"{ "to": "map", "file": "missing.ts" }"#, "missing.ts", 2),
            (#"{ "to": "android", "file": "pins.ts" }"#, "pins.ts", 2),
            (#"{ "to": "tlsa", "file": "pins.ts" }"#, "pins.ts", 2),
            (#"{ "to": "envoy", "file": "pins.ts" }"#, "role-lost", 1),
        ])
    func refused(_ export: String, _ message: String, _ status: Int32) async throws {
        let policy = try addFiles(exports: ", " + export)
        let before = try ["pins.ts", "TrustKit.swift", "Pins.kt"].map(contents)
        let result = await pinctl("export", "--update", policy)
        #expect(result.output == "")
        #expect(result.errors.contains(message))
        #expect(result.errors.contains("no file was changed, because 1 can't be"), "\(result.errors)")
        // Errors name the element of "exports".
        #expect(status == 1 || result.errors.contains("pins.jsonc:"), "\(result.errors)")
        #expect(result.status == status)
        #expect(try ["pins.ts", "TrustKit.swift", "Pins.kt"].map(contents) == before)
    }

    @Test("A mode is written where the format has it, and elsewhere it needs to be allowed")
    func modes() async throws {
        let policy = try addFiles()
        #expect(await pinctl("export", "--update", policy).status == 0)
        let enforced = try ["pins.ts", "TrustKit.swift", "Pins.kt"].map(contents)

        let refused = await pinctl("export", "--update", "--mode", "report", policy)
        #expect(refused.errors.contains("a map of hosts to pins always enforces pins"))
        #expect(refused.errors.contains("OkHttp always enforces pins"))
        #expect(refused.errors.contains("no file was changed, because 2 can't be"))
        #expect(refused.status == 1)
        #expect(try ["pins.ts", "TrustKit.swift", "Pins.kt"].map(contents) == enforced)

        let allowed = await pinctl("export", "--update", "--mode", "report", "--allow", "mode-lost", policy)
        #expect(allowed.status == 0)
        #expect(
            allowed.lines.filter { $0.hasSuffix("already matches the policy, but goes on rejecting servers") }.count
                == 2)
        #expect(allowed.errors.contains("pins.jsonc is unchanged, so programs that load it"))
        #expect(try contents("TrustKit.swift") == enforced[1].replacing("Pinning: true", with: "Pinning: false"))
        #expect(try contents("pins.ts") == enforced[0])
        #expect(await pinctl("export", "--check", policy).status == 1)
        #expect(await pinctl("export", "--check", "--mode", "report", policy).status == 0)

        let enforcing = await pinctl("export", "--update", "--mode", "enforce", policy)
        #expect(enforcing.status == 0 && !enforcing.output.contains("rejecting"))
        #expect(try ["pins.ts", "TrustKit.swift", "Pins.kt"].map(contents) == enforced)
    }

    @Test(
        "A file with the pins of two systems gets both, also by another path, and one that can't have both is refused")
    func twice() async throws {
        func list(_ pins: String) -> String {
            """
            <plist version="1.0"><dict>
              <key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key><dict><key>a.example.com</key><dict>
                <key>NSPinnedLeafIdentities</key><array>
                  <dict><key>SPKI-SHA256-BASE64</key><string>\(pins)</string></dict></array></dict></dict></dict>
              <key>TSKConfiguration</key><dict><key>TSKPinnedDomains</key><dict><key>a.example.com</key><dict>
                <key>TSKDisableDefaultReportUri</key><true/>
                <key>TSKPublicKeyHashes</key><array><string>\(pins)</string><string>\(old.dropFirst(7))</string></array>
                </dict></dict></dict>
            </dict></plist>
            """
        }
        _ = try directory.add(list("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="), name: "Info.plist")
        let policy = try directory.add(
            """
            { "version": 1, "domains": [{ "host": "a.example.com", "pins": [
                { "pin": "\(now)", "role": "leaf" }, { "pin": "\(next)", "role": "leaf", "backup": true }] }],
              "exports": [
                { "to": "apple", "file": "Info.plist" },
                { "to": "trustkit", "file": "./Info.plist", "allow": ["role-lost"] }] }
            """, name: "two.jsonc")
        let result = await pinctl("export", "--update", policy)
        #expect(result.status == 0, "\(result.errors)")
        let text = try contents("Info.plist")
        #expect(text.components(separatedBy: now.dropFirst(7)).count == 3)
        #expect(text.components(separatedBy: next.dropFirst(7)).count == 3)
        #expect(!text.contains(old.dropFirst(7)))
        #expect(await pinctl("export", "--check", policy).status == 0)
    }

    @Test("A file that can't be written leaves all as they were")
    func fullDisk() async throws {
        let policy = try addFiles()
        let before = try ["pins.ts", "TrustKit.swift", "Pins.kt"].map(contents)
        // Files may have no bytes.
        let result = try await shell(
            "(ulimit -f 0; trap '' XFSZ; pinctl export --update \(policy) 2>&1); echo $?", in: directory)
        #expect(result.output.hasSuffix("2\n"), "\(result.output)")
        #expect(try ["pins.ts", "TrustKit.swift", "Pins.kt"].map(contents) == before)
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(!names.contains { $0.hasSuffix(".new") }, "\(names)")
    }

    @Test("A rule that is off stays off in any mode")
    func off() async throws {
        let policy = try directory.add(
            """
            { "version": 1, "domains": [{ "host": "a.example.com", "pins": ["\(now)", "\(next)"], "mode": "off" },
              { "host": "b.example.com", "pins": ["\(now)", "\(next)"] }] }
            """, name: "off.jsonc")
        let result = await pinctl("export", "--to", "policy", "--mode", "report", policy)
        #expect(result.output.split(separator: "\n").count { $0.contains("\"mode\": \"off\"") } == 1)
        #expect(result.output.split(separator: "\n").count { $0.contains("\"mode\": \"report\"") } == 1)
    }

    @Test("Flags that contradict each other are refused, and so are a policy without exports and other modes")
    func usage() async throws {
        let policy = try addFiles()
        for arguments in [
            ["--update", "--check"], ["--update", "--to", "map"], ["--update", "--into", "pins.ts"],
            ["--update", "--output", "new.ts"], ["--update", "--mode", "off"],
        ] {
            #expect(await pinctl(["export", policy] + arguments).status == 2, "\(arguments)")
        }
        let alone = try directory.add(
            "{ \"version\": 1, \"domains\": [{ \"host\": \"a.example.com\", \"pins\": [\"\(now)\"] }] }",
            name: "a.jsonc")
        let result = await pinctl("export", "--update", alone)
        #expect(result.errors.contains("lists no exports"))
        #expect(result.status == 2)
    }
}
