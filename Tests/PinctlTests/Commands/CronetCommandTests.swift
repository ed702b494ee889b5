import PinctlCommands
import PinctlTestPKI
import Testing

@Suite("pinctl with Cronet's pins in a program")
struct CronetCommandTests {
    let site: PinctlSite
    let file: String
    let pin: String

    init() throws {
        site = try PinctlSite()
        pin = try String(site.root.key.pin)
        file = try site.directory.add(Self.program([pin, unknownPin]), name: "Engine.kt")
    }

    /// A program that pins `api.test` until 2099.
    private static func program(_ pins: [String]) -> String {
        let digests = pins.map { "Base64.decode(\"\($0.dropFirst(7))\", Base64.DEFAULT)" }.joined(separator: ", ")
        return """
            val engine = CronetEngine.Builder(context)
                .addPublicKeyPins("api.test", setOf(\(digests)), true, Date(4070908800000L)).build()

            """
    }

    @Test("find, lint, import, explain and plan agree about the pins of a program")
    func commands() async throws {
        let found = await pinctl("find", site.directory.path)
        #expect(found.output.contains("Engine.kt:2:"), "\(found)")
        #expect(found.output.contains("(cronet, api.test and all below)"), "\(found)")
        let linted = await pinctl("lint", file)
        #expect(linted.status == 0 && linted.output.contains("[P027] Cronet doesn't compare pins if"), "\(linted)")
        #expect(linted.output.contains("P007"), "\(linted)")
        let imported = await pinctl("import", file)
        #expect(
            imported.status == 0 && imported.output.contains("\"subdomains\": true")
                && imported.output.contains("\"expires\": \"2099-01-01T00:00:00Z\"")
                && imported.output.contains("stop-pinning"), "\(imported)")
        let explained = await pinctl("explain", "www.api.test", "--policy", file)
        #expect(explained.status == 0 && explained.output.contains(pin), "\(explained)")
        func plan(_ file: String) async -> Run {
            await pinctl("plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--against", file)
        }
        let kept = await plan(file)
        #expect(kept.status == 0, "\(kept)")
        let other = try site.directory.add(Self.program([unknownPin]), name: "Other.kt")
        #expect(await plan(other).status == 1)
    }

    @Test("A policy is written for a new engine, and not into a program")
    func writing() async throws {
        let policy = try site.policy("\"\(pin)\", \"\(unknownPin)\"")
        let exported = await pinctl("export", "--to", "cronet", policy)
        #expect(exported.status == 0 && exported.output.contains("addPublicKeyPins("), "\(exported)")
        let written = try site.directory.add(exported.output, name: "Written.kt")
        #expect(await pinctl("lint", written).status == 0)
        let into = await pinctl("export", "--to", "cronet", "--into", file, "--lossy", policy)
        #expect(
            into.status != 0 && into.errors.contains("the calls of addPublicKeyPins in a program can't be replaced"),
            "\(into)")
    }
}
