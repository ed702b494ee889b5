import FoundationEssentials
import PinctlTestPKI
import Testing

/// The commands of the article on changing a pinned key, run as they are. With `UPDATE=1` in the environment, the
/// article gets the actual output: check the difference afterwards.
@Suite("The runbook", .serialized, .enabled(if: TestCommand.isPresent("git", "--version"), "git is not installed"))
struct RunbookTests {
    private static let path = Repository.root + "/Sources/PinctlCommands/PinctlCommands.docc/Runbook.md"
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE"] == "1"

    /// A fenced listing. Its lines are between the fences.
    private struct Listing {
        let language: Substring
        let lines: ArraySlice<String>

        /// The name of a policy file, which the first line has, and its lines.
        var policy: (name: String, lines: [String])? {
            guard language == "jsonc", let first = lines.first else { return nil }
            return (String(first.dropFirst("// ".count)), Array(lines.dropFirst()))
        }
    }

    /// The article in sections of lines.
    private static func sections() throws -> [[String]] {
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var sections: [[String]] = [[]]
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("## ") { sections.append([]) }
            sections[sections.count - 1].append(line)
        }
        return sections
    }

    @Test(
        "The commands of a section print what the article shows, in order",
        arguments: ["Rotate a pinned key", "The CA rotates", "The key leaked"])
    func section(title: String) async throws {
        var sections = try Self.sections()
        let overview = try #require(sections.first { $0.first == "## Overview" })
        let index = try #require(sections.firstIndex { $0.first == "## " + title })
        var world = try await RunbookWorld(overview: Self.listings(in: overview).compactMap(\.policy))
        var result: [String] = []
        var rest = sections[index][...]
        while let line = rest.popFirst() {
            result.append(line)
            guard line.hasPrefix("```") else { continue }
            let end = try #require(rest.firstIndex(of: "```"))
            let listing = Listing(language: line.dropFirst(3), lines: rest[..<end])
            rest = rest[end...].dropFirst()
            if let policy = listing.policy {
                try await world.write(policy)
                result += listing.lines
            } else {
                let shown = try await world.run(
                    listing.lines.filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) })
                if !Self.isUpdating { #expect(shown == Array(listing.lines), "\(title)") }
                result += shown
            }
            result.append("```")
        }
        guard Self.isUpdating else { return }
        sections[index] = result
        try Data(sections.joined().joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: Self.path))
    }

    private static func listings(in lines: [String]) -> [Listing] {
        var listings: [Listing] = []
        var rest = lines[...]
        while let start = rest.firstIndex(where: { $0.hasPrefix("```") }) {
            let inner = rest[(start + 1)...]
            guard let end = inner.firstIndex(of: "```") else { break }
            listings.append(Listing(language: rest[start].dropFirst(3), lines: inner[..<end]))
            rest = rest[(end + 1)...]
        }
        return listings
    }
}
