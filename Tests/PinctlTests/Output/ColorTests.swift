import PinctlCommands
import PinctlTestPKI
import Testing

@Suite("Color")
struct ColorTests {
    struct Row: CustomTestStringConvertible {
        var flags: [String] = []
        var variables: [String: String] = [:]
        var isTerminal = true
        let isColored: Bool
        var testDescription: String { "\(flags) \(variables) \(isTerminal ? "terminal" : "file")" }
    }

    static let rows = [
        Row(isColored: true), Row(isTerminal: false, isColored: false),
        Row(flags: ["--color", "always"], isTerminal: false, isColored: true),
        Row(flags: ["--color=never"], isColored: false), Row(flags: ["--color=auto"], isColored: true),
        Row(variables: ["NO_COLOR": "1"], isColored: false), Row(variables: ["NO_COLOR": ""], isColored: true),
        Row(variables: ["TERM": "dumb"], isColored: false),
        Row(variables: ["FORCE_COLOR": "1"], isTerminal: false, isColored: true),
        Row(variables: ["CLICOLOR_FORCE": "1"], isTerminal: false, isColored: true),
        Row(variables: ["CLICOLOR_FORCE": "0"], isTerminal: false, isColored: false),
        Row(variables: ["NO_COLOR": "1", "FORCE_COLOR": "1"], isColored: false),
        Row(flags: ["--color=always"], variables: ["NO_COLOR": "1"], isColored: true),
        Row(flags: ["--json", "--color=always"], isColored: false),
        Row(flags: ["--ndjson", "--color=always"], isColored: false),
    ]

    @Test("Only verdicts are colored, on a terminal or on request", arguments: rows)
    func verdict(row: Row) async throws {
        let site = try PinctlSite()
        let words = ["verify", site.chainFile, "--ca-file", site.rootFile, "--host", "www.test"] + row.flags
        let plain = await pinctl(words + (row.flags.contains { $0.hasPrefix("--color") } ? [] : ["--color=never"]))
        let run = await pinctl(
            words, variables: row.variables, terminal: Terminal(columns: row.isTerminal ? 300 : nil))
        #expect(run.status == 4)
        #expect(run.output.contains("\u{1B}") == row.isColored)
        if row.isColored { #expect(run.output.hasPrefix("\u{1B}[1;31mFAIL\u{1B}[0m  www.test  ")) }
        // The text without escape sequences is the same.
        let stripped = run.output.replacing("\u{1B}[1;31m", with: "").replacing("\u{1B}[0m", with: "")
        #expect(stripped == plain.output.replacing("\u{1B}[1;31m", with: "").replacing("\u{1B}[0m", with: ""))
    }

    @Test("CL1: Escape sequences in certificate names stay escaped with --color=always")
    func hostile() async throws {
        let root = try TestCertificate.root("\u{1B}[31mFAIL\u{1B}[0m")
        let directory = try TestDirectory()
        let file = try directory.add(root.pemText)
        let run = await pinctl("hash", "-l", "--color=always", file)
        #expect(!run.output.contains("\u{1B}"))
        #expect(run.output.contains("\\u{1B}[31mFAIL"))
    }

    @Test("lint colors the severity of a finding")
    func lint() async throws {
        let site = try PinctlSite()
        let file = try site.policy("\"\(unknownPin)\"", rule: "\"x-backup-slot\": \"none\",")
        let run = await pinctl("lint", "--color=always", file)
        #expect(run.output.contains(": \u{1B}[1;31merror\u{1B}[0m[P020] "))
    }
}
