import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// The scripts in `Scripts`. `Scripts/hash.txt` describes their format. With `UPDATE=1` in the environment, the tests
/// write the actual results into the scripts: check the difference afterwards.
@Suite("Test scripts", .serialized)
struct ScriptTests {
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE"] == "1"

    @Test("The commands of a script print and return what the script expects", arguments: Script.names)
    func matches(name: String) async throws {
        var script = try Script(name)
        let world = try ScriptWorld()
        try await world.serving(script.servers[...]) {
            for index in script.lines.indices {
                switch script.lines[index] {
                case .file(let name, let lines): try world.write(lines, to: name)
                case .step(let step):
                    let run = try await world.run(step.command)
                    var found = Script.Step(command: step.command, status: run.status)
                    if !script.hasOnlyCodes {
                        found.output = Self.lines(world.generalized(run.output))
                        found.errors = Self.lines(world.generalized(run.errors))
                    }
                    if !Self.isUpdating { Self.compare(step, found, in: name, run) }
                    script.lines[index] = .step(found)
                case .text, .server, .onlyCodes: break
                }
            }
        }
        if Self.isUpdating { try Data(script.text.utf8).write(to: URL(fileURLWithPath: script.path)) }
    }

    private static func lines(_ text: String) -> [String] {
        // A last line without a line ending is shown with a mark.
        text.isEmpty
            ? []
            : (text.hasSuffix("\n") ? text.dropLast() : text + " (no end of line)")
                .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func compare(_ wanted: Script.Step, _ found: Script.Step, in name: String, _ run: Run) {
        func texts(_ step: Script.Step) -> [String] {
            step.output.map { Script.marked(">", $0) } + step.errors.map { Script.marked("!", $0) }
                + ["exit \(step.status.map { "\($0)" } ?? "missing")"]
        }
        let difference = texts(found).difference(from: texts(wanted)).map { change in
            switch change {
            case .remove(_, let line, _): "  - \(line)"
            case .insert(_, let line, _): "  + \(line)"
            }
        }
        #expect(
            difference.isEmpty,
            "\(name): $ \(wanted.command)\n\(difference.joined(separator: "\n"))\n\(run.output)\(run.errors)")
    }

    private struct Document: Decodable {
        struct Summary: Decodable {
            let exitCode: Int32
            let verdict: String
        }
        let schema: String
        let summary: Summary
    }

    private struct LastLine: Decodable {
        let type: String
        let schema: String
        let exitCode: Int32
    }

    @Test("CL4: The JSON of every command agrees with its exit code", arguments: Script.names)
    func json(name: String) async throws {
        for flag in ["--json", "--ndjson"] {
            let script = try Script(name)
            let world = try ScriptWorld()
            try await world.serving(script.servers[...]) {
                for line in script.lines {
                    if case .file(let name, let lines) = line { try world.write(lines, to: name) }
                    guard case .step(let step) = line else { continue }
                    let words = try ScriptWorld.words(step.command).dropFirst()
                    let command = CommandDefinition.all.first { $0.name == words.first }
                    // Help has no result, and some commands ask for a JSON form already.
                    let others = ["--help", "-h", "--json", "--ndjson"]
                    guard let command, !words.contains(where: others.contains) else { continue }
                    let run = try await world.run(step.command, with: flag)
                    #expect(run.status == step.status, "\(step.command)")
                    if flag == "--json" {
                        let document = try run.decoded(as: Document.self)
                        #expect(document.schema == "pinctl.\(command.name)/1")
                        #expect(document.summary.exitCode == run.status, "\(step.command)")
                    } else {
                        let end = Run(status: 0, output: try #require(run.lines.last), errors: "")
                        let last = try end.decoded(as: LastLine.self)
                        #expect(last.type == "summary" && last.schema == "pinctl.\(command.name)/1")
                        #expect(last.exitCode == run.status, "\(step.command)")
                        for line in run.lines { _ = try JSONDecoder().decode(JSONObject.self, from: Data(line.utf8)) }
                    }
                }
            }
        }
    }

    @Test("Every command has a script, and exit-codes.txt has at least forty steps")
    func completeness() throws {
        for command in CommandDefinition.all { #expect(Script.names.contains("\(command.name).txt")) }
        let codes = try Script("exit-codes.txt")
        #expect(codes.hasOnlyCodes)
        #expect(codes.steps.count >= 40)
        for code in [0, 1, 2, 3, 4] { #expect(codes.steps.contains { $0.status == Int32(code) }) }
        for command in CommandDefinition.all {
            #expect(codes.steps.contains { $0.command.hasPrefix("pinctl \(command.name)") }, "\(command.name)")
        }
    }
}

/// A JSON object with any members.
private struct JSONObject: Decodable {
    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws { _ = try decoder.container(keyedBy: Key.self) }
}
