import CertificatePinning
import CertificateTrust

/// What a command says, and how its outcome is kept. The rules, for every command:
///
/// - Standard output holds results and nothing else; what went wrong goes to standard error.
/// - Text is for people. Every line is escaped as a whole, so nothing that comes from a file or a server can act on the
///   terminal. Verdicts are words; no line depends on colour, which is added behind the escaping.
/// - With `--json` standard output is one document, valid also when the command fails: the results as they come, what
///   went wrong among them, then the summary with the exit code.
/// - With `--ndjson` each result is a line, and the summary, `"type":"summary"`, the last one.
/// - With `--quiet` standard output stays empty.
/// - A result that cannot be written ends the program: exit 2, or quietly when the reader went away.
/// - A signal ends it at once: what was printed stays, lines whole, and a JSON document has no end.
package struct Console {
    package enum Format: Sendable {
        case text
        case json
        case ndjson
        case quiet
    }

    private var format: Format
    private var output: OutputBuffer
    private var diagnostics: OutputBuffer
    private let schema: String
    private var elementCount = 0
    /// Whether the verdicts of text have colour.
    var isColored = false
    /// Whether the runner of a job reads along (`GITHUB_ACTIONS`), which takes some texts for its commands.
    var isReadByRunner = false
    /// What stands behind each line of the results.
    private var lineEnd: StaticString = "\n"
    private var summary: [(String, JSON)] = []
    /// The worst outcome so far.
    package private(set) var status = ExitCode.good
    /// The outcome before flags changed it; nil where they did not.
    private var found: ExitCode?
    /// Whether a line of progress stands on the terminal.
    private var showsProgress = false

    /// `schema` names the form of the JSON document: `pinctl.hash/1`.
    package init(schema: String, format: Format, output: OutputBuffer, diagnostics: OutputBuffer) {
        self.format = format
        self.output = output
        self.diagnostics = diagnostics
        self.schema = schema
        if format == .json {
            self.output.write(Self.documentHead(schema: schema))
        }
    }

    /// What the document of `--json` begins with.
    static func documentHead(schema: String) -> String {
        "{\"schema\":\(JSON.string(schema).text),\"tool\":\(tool.text),\"results\":["
    }

    private static let tool: JSON = ["name": "pinctl", "version": .string(Version.current)]

    /// Whether results are written as JSON, as a document or as lines.
    private var isJSON: Bool { format == .json || format == .ndjson }

    /// Prints one result, as lines or as an element of the document's `results`, and records its outcome.
    mutating func result(
        _ lines: @autoclosure () -> [String], _ json: @autoclosure () -> JSON, _ status: ExitCode = .good
    ) {
        self.status.record(status)
        switch format {
        case .quiet: break
        case .text: text(lines(), isColored: isColored)
        case .json, .ndjson: writeElement(json())
        }
    }

    /// Prints one result as a line, which `write` appends to the bytes of the output: a list may have millions.
    mutating func result(line write: (inout [UInt8]) -> Void, _ json: @autoclosure () -> JSON) {
        guard format == .text, !isColored, !isReadByRunner else {
            return result([String(appending: write)], json())
        }
        let lineEnd = lineEnd
        output.write { bytes in
            let start = bytes.count
            write(&bytes)
            if !isPlainASCII(bytes.span.extracting(start...)) {
                let line = visibleText(String(decoding: bytes[start...], as: UTF8.self))
                bytes.replaceSubrange(start..., with: line.utf8)
            }
            bytes.append(lineEnd)
        }
    }

    /// Says on standard error what went wrong and records it; in JSON it is an element of `results` too, with `members`
    /// in front that say where. Results before it are written first.
    mutating func problem(
        _ message: String, _ status: ExitCode, members: @autoclosure () -> [(String, JSON)] = []
    ) {
        self.status.record(status)
        if isJSON { writeElement(.object(members() + [("error", .string(message))])) }
        note(message)
    }

    /// Says something on standard error that is no problem of its own.
    mutating func note(_ message: String) {
        output.flush()
        diagnostics.write("pinctl: \(visible(message))\n")
        diagnostics.flush()
    }

    /// Prints text that is no result of its own, such as a help page; not in JSON.
    mutating func text(_ lines: [String]) {
        text(lines, isColored: false)
    }

    private mutating func text(_ lines: [String], isColored: Bool) {
        guard format == .text else { return }
        for (index, line) in lines.enumerated() {
            let line = visible(line)
            // The verdict stands in the first line.
            output.write(isColored && index == 0 ? VerdictColor.colored(line) : line)
            output.write(lineEnd.description)
        }
    }

    /// A line in which nothing acts on the terminal, or on the runner of a job: that one obeys `##[` anywhere in a line,
    /// and `::` at the beginning, whoever wrote it.
    private func visible(_ line: String) -> String {
        let line = visibleText(line)
        guard isReadByRunner, line.contains("##[") || line.contains("::") else { return line }
        let parts = line.split(separator: "##[", omittingEmptySubsequences: false).joined(separator: "#\\u{23}[")
        let start = parts.prefix { $0 == " " }
        let rest = parts.dropFirst(start.count)
        return rest.hasPrefix("::") ? "\(start)\\u{3A}\(rest.dropFirst())" : parts
    }

    /// Prints a file that was asked for, or an element of the document's `results`. Its tabs stay, nothing else that
    /// acts on a terminal does.
    mutating func file(_ text: String, _ json: @autoclosure () -> JSON) {
        switch format {
        case .quiet: break
        case .text:
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
                line.split(separator: "\t", omittingEmptySubsequences: false).map { visibleText(String($0)) }
                    .joined(separator: "\t")
            }
            output.write(lines.joined(separator: "\n") + (text.hasSuffix("\n") ? "" : "\n"))
        case .json, .ndjson: writeElement(json())
        }
    }

    /// Prints a document that was asked for in place of the results, as it is: its writer let nothing in it act.
    mutating func document(_ text: String) { output.write(text) }

    /// Prints a line for the program that runs this one, escaped by its writer, on standard error: what reads standard
    /// output reads results.
    mutating func command(_ line: String) {
        output.flush()
        diagnostics.write(line + "\n")
        diagnostics.flush()
    }

    /// Prints the line that ends a list, and keeps what the document's `summary` says besides the exit code.
    mutating func summarize(_ line: String, _ members: [(String, JSON)]) {
        text([line])
        summary = members
    }

    /// Ends a run that says itself what its results count for: `counted` is the outcome, `found` what it is without the
    /// flags that excuse something. `forgiving` makes 0 of 1, 3 and 4; bad input and defects stay what they are.
    mutating func settle(_ counted: ExitCode, found: ExitCode, forgiving: Bool = false) {
        var worst = status
        worst.record(found)
        status.record(counted)
        if forgiving, [.finding, .couldNotCheck, .notTrusted].contains(status) { status = .good }
        if worst != status { self.found = worst }
    }

    /// Shows how far a run is, on a terminal; nil wipes it away.
    mutating func progress(_ line: String?) {
        guard line != nil || showsProgress else { return }
        output.flush()
        diagnostics.write("\r\u{1B}[K" + (line.map { visibleText($0) } ?? ""))
        diagnostics.flush()
        showsProgress = line != nil
    }

    /// Ends each line of the results with NUL from here on, for `xargs -0`.
    mutating func endLinesWithNUL() { lineEnd = "\0" }

    /// Leaves standard output empty from here on; a document that was asked for is still written.
    mutating func silence() {
        if format == .text { format = .quiet }
    }

    /// Sends what was printed on its way, for results that take their time.
    mutating func flush() { output.flush() }

    /// The `summary` of the document, as far as is known.
    var ending: [(String, JSON)] {
        summary + [("verdict", .string(status.word)), ("exit_code", .integer(Int(status.rawValue)))]
            + (found.map { [("found", .string($0.word))] } ?? [])
    }

    package mutating func finish() {
        switch format {
        case .json: output.write("\n],\"summary\":\(JSON.object(ending).text)}\n")
        case .ndjson:
            let frame: [(String, JSON)] = [("type", "summary"), ("schema", .string(schema)), ("tool", Self.tool)]
            output.write(JSON.object(frame + ending).text + "\n")
        case .text, .quiet: break
        }
        output.flush()
    }

    private mutating func writeElement(_ element: JSON) {
        if format == .ndjson {
            output.write(element.text + "\n")
        } else {
            output.write((elementCount == 0 ? "\n" : ",\n") + element.text)
        }
        elementCount += 1
    }
}
