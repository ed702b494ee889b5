import CertificateTrust

/// What a command says, and how its outcome is kept. The rules, for every command:
///
/// - Standard output holds results and nothing else; what went wrong goes to standard error.
/// - Text is for people. Every line is escaped as a whole, so nothing that comes from a file or a server can act on the
///   terminal. Verdicts are words; no line depends on colour.
/// - With `--json` standard output is one document, valid also when the command fails: the results as they come, then
///   the summary with the exit code.
/// - With `--quiet` standard output stays empty.
/// - A result that cannot be written ends the command: exit 2, or quietly when the reader went away.
package struct Console {
    package enum Format: Sendable {
        case text
        case json
        case quiet
    }

    private var format: Format
    private var output: OutputBuffer
    private var diagnostics: OutputBuffer
    private var resultCount = 0
    private var summary: [(String, JSONValue)] = []
    /// The worst outcome so far.
    package private(set) var status = ExitStatus.good

    /// `schema` names the form of the JSON document: `pinctl.hash/1`.
    package init(schema: String, format: Format, output: OutputBuffer, diagnostics: OutputBuffer) {
        self.format = format
        self.output = output
        self.diagnostics = diagnostics
        if format == .json {
            let tool: JSONValue = ["name": "pinctl", "version": .string(Version.current)]
            self.output.write("{\"schema\":\(JSONValue.string(schema).text),\"tool\":\(tool.text),\"results\":[")
        }
    }

    /// Whether anybody can still read the results; a command that makes many looks here and stops.
    var isWritable: Bool { output.error == nil }

    /// Prints one result, as lines or as an element of the document's `results`, and records its outcome.
    mutating func result(
        _ status: ExitStatus = .good, _ lines: @autoclosure () -> [String], _ json: @autoclosure () -> JSONValue
    ) {
        self.status.record(status)
        switch format {
        case .quiet: break
        case .text: for line in lines() { write(line) }
        case .json: writeElement(json())
        }
    }

    /// Prints text that is no result of its own, such as a help page; not in JSON.
    mutating func text(_ lines: [String]) {
        guard format == .text else { return }
        for line in lines { write(line) }
    }

    /// Prints the line that ends a list, and keeps what the document's `summary` says besides the exit code.
    mutating func summarize(_ line: String?, _ members: [(String, JSONValue)]) {
        if let line { text([line]) }
        summary = members
    }

    /// Leaves standard output empty from here on; a document that was asked for is still written.
    mutating func silence() {
        if format == .text { format = .quiet }
    }

    /// Says on standard error what went wrong and records it; in JSON it is an element of `results` too, with `members`
    /// in front that say where. Results before it are written first.
    mutating func problem(
        _ message: String, _ status: ExitStatus, members: @autoclosure () -> [(String, JSONValue)] = []
    ) {
        self.status.record(status)
        if format == .json { writeElement(.object(members() + [("error", .string(message))])) }
        output.flush()
        diagnostics.write("pinctl: \(visible(message))\n")
        diagnostics.flush()
    }

    /// Sends what was printed on its way, for results that take their time.
    mutating func flush() { output.flush() }

    /// Ends the output. A write that failed becomes part of the outcome, unless the reader just went away.
    package mutating func finish() {
        if format == .json {
            let tally: [(String, JSONValue)] = [
                ("results", .integer(resultCount)), ("verdict", .string(status.word)),
                ("exit_code", .integer(Int(status.rawValue))),
            ]
            output.write("\n],\"summary\":\(JSONValue.object(summary + tally).text)}\n")
        }
        output.flush()
        if case .failed(let reason) = output.error {
            status.record(.badInput)
            diagnostics.write("pinctl: standard output cannot be written: \(reason)\n")
            diagnostics.flush()
        }
    }

    /// Whether the reader of standard output went away.
    package var isPipeClosed: Bool { output.error == .closedPipe }

    private mutating func write(_ line: String) { output.write(visible(line) + "\n") }

    private mutating func writeElement(_ element: JSONValue) {
        output.write((resultCount == 0 ? "\n" : ",\n") + element.text)
        resultCount += 1
    }

    /// Most lines are plain ASCII and need no look at each character's properties.
    private func visible(_ line: String) -> String {
        line.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? line : visibleText(line)
    }
}
