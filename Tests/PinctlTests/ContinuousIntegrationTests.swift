import FoundationEssentials
import PinctlCommands
import TestPKI
import Testing

/// The listings of the page on continuous integration.
@Suite("The page on continuous integration")
struct ContinuousIntegrationTests {
    private static let page: String = {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().path
        let path = root + "/Sources/PinctlCommands/PinctlCommands.docc/InContinuousIntegration.md"
        return String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }()

    /// What stands between fences of a kind.
    private static func listings(_ kind: String) -> [String] {
        var listings: [String] = []
        var rest = page[...]
        while let start = rest.firstRange(of: "```\(kind)\n") {
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "```\n") else { break }
            listings.append(String(rest[..<end.lowerBound]))
            rest = rest[end.upperBound...]
        }
        return listings
    }

    @Test(
        "is YAML where it says so",
        .enabled(if: TestCommand.isPresent("python3", "-c", "import yaml"), "python3-yaml is not installed"))
    func yaml() throws {
        let listings = Self.listings("yaml")
        #expect(listings.count >= 2)
        for listing in listings {
            let run = try TestCommand.run(
                [
                    "python3", "-c",
                    "import sys, yaml; assert 'jobs' in (d := yaml.safe_load(sys.stdin)) or 'pins' in d",
                ],
                input: listing)
            #expect(run.status == 0, "\(run.text)")
        }
    }

    @Test("shows command lines that pinctl understands")
    func commandLines() throws {
        var count = 0
        for line in Self.page.split(separator: "\n") {
            guard let start = line.firstRange(of: " pinctl ") ?? line.firstRange(of: "pinctl check --policy") else {
                continue
            }
            let words = line[start.lowerBound...].split(separator: " ").dropFirst().map(String.init)
            guard line.contains("run: ") || line.hasPrefix("    - pinctl") || line.hasPrefix("17 ") else { continue }
            let command = try #require(CommandDefinition.all.first { $0.name == words.first }, "\(line)")
            _ = try Arguments(Array(words.dropFirst().prefix { $0 != ">" }), for: command)
            count += 1
        }
        #expect(count >= 6)
    }

    @Test("keeps the exit status where the file is moved into its place")
    func move() async throws {
        let site = try Site()
        let script = try #require(Self.listings("sh").first)
        try await site.serve { server in
            for (pin, status) in [(try site.leaf.key.pin, Int32(0)), (strangePin, 1)] {
                let policy = try site.folder.add(
                    """
                    { "version": 1, "domains": [ { "host": "api.test", "pins": ["\(pin)"],
                      "anchors": { "files": ["root.pem"] }, "check": { "targets": ["\(server.target())"] } } ] }
                    """)
                // The certificates of tests are valid at their time.
                let setUp = "policy=\(policy) file=pins.json; pinctl() { command pinctl \"$@\" --at 2026-11-20; }\n"
                let run = try await shell(setUp + script, in: site.folder)
                #expect(run.status == status, "\(run.errors)")
                let written = try await shell("cat pins.json; ls *.new", in: site.folder)
                #expect(written.output.contains("\"exit_code\":\(status)}"))
                #expect(written.errors.contains("No such file"))
            }
        }
    }
}
