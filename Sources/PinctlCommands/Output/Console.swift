import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The output of a command and its outcome. The rules are the same for every command:
///
/// - Standard output contains only results. Problems go to standard error.
/// - Text is for people. Every line is escaped as a whole, so that nothing from a file or server can affect the
///   terminal. Verdicts are words. No line depends on color, which is added after the escaping.
/// - With `--json`, standard output is one document, which is valid even if the command fails: the results in order
///   with any problems among them, then the summary with the exit code.
/// - With `--ndjson`, each result is a line, and the summary, `"type":"summary"`, is the last one.
/// - With `--quiet`, standard output stays empty, and standard error contains only problems.
/// - A result that can't be written ends the program with exit code 2, or quietly if the reader closed the pipe.
/// - A signal ends the program at once. The output so far stays, with whole lines, and a JSON document has no end. The
///   exception is SIGINT during `check`, which prints what is known and the summary.
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
    /// Whether the verdicts in the text output are colored.
    var isColored = false
    /// Whether a CI runner reads the output (`GITHUB_ACTIONS`) and interprets some texts as commands.
    var isReadByRunner = false
    /// The width of the terminal that lines are folded to, or `nil` if they may have any length.
    var columns: Int?
    /// The width of the terminal that standard error is, or `nil` for another file.
    var noteColumns: Int?
    /// The end of each line of the results.
    private var lineEnd: StaticString = "\n"
    private var summary: [(String, JSON)] = []
    /// The most severe outcome so far.
    package private(set) var status = ExitCode.good
    /// The number of rows of text that were printed.
    private(set) var rowCount = 0
    /// The outcome before flags changed it, or `nil` if they didn't.
    private var found: ExitCode?
    /// The number of bundles whose signatures weren't verified.
    private var unverifiedBundles = 0
    /// Whether notes are omitted too.
    private var isQuiet = false
    /// Whether a progress line is shown on the terminal.
    private var showsProgress = false

    /// Creates a console. `schema` names the format of the JSON document, such as `pinctl.hash/1`.
    package init(schema: String, format: Format, output: OutputBuffer, diagnostics: OutputBuffer) {
        self.format = format
        self.output = output
        self.diagnostics = diagnostics
        self.schema = schema
        if format == .json {
            self.output.write(Self.documentHead(schema: schema))
        }
    }

    /// Returns the beginning of the `--json` document.
    static func documentHead(schema: String) -> String {
        "{\"schema\":\(JSON.string(schema).text),\"tool\":\(tool.text),\"results\":["
    }

    private static let tool: JSON = ["name": "pinctl", "version": .string(Version.current)]

    /// Whether results are written as JSON, in a document or in lines.
    private var isJSON: Bool { format == .json || format == .ndjson }

    /// Prints a result, as lines or as an element of the document's `results`, and records its outcome.
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

    /// Prints a result as a line, which `write` appends directly to the output, since a list may have millions of
    /// lines.
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

    /// Reports a problem on standard error and records its outcome, after writing all earlier results.
    ///
    /// In JSON it is also an element of `results`, which begins with `members` that give its position.
    mutating func problem(
        _ message: String, _ status: ExitCode, members: @autoclosure () -> [(String, JSON)] = []
    ) {
        self.status.record(status)
        if isJSON { writeElement(.object(members() + [("error", .string(message))])) }
        diagnose(message)
    }

    /// Prints a note on standard error that isn't a problem.
    mutating func note(_ message: String) {
        if !isQuiet { diagnose(message) }
    }

    private mutating func diagnose(_ message: String) {
        output.flush()
        let line = "pinctl: \(visible(message))"
        for line in noteColumns.map({ FoldedLine.fold(line, columns: $0) }) ?? [line] { diagnostics.write(line + "\n") }
        diagnostics.flush()
    }

    /// Prints a line of help on standard error, for a command line that isn't complete.
    mutating func note(help line: String) {
        output.flush()
        diagnostics.write(line + "\n")
        diagnostics.flush()
    }

    /// Prints text besides the results, such as their number. It isn't printed in JSON.
    mutating func text(_ lines: [String]) {
        text(lines, isColored: false)
    }

    /// Prints a page of help or a script as it is. It isn't printed in JSON.
    mutating func page(_ lines: [String]) {
        columns = nil
        text(lines)
    }

    private mutating func text(_ lines: [String], isColored: Bool) {
        guard format == .text else { return }
        for (index, line) in lines.enumerated() {
            let folded = columns.map { FoldedLine.fold(visible(line), columns: $0) } ?? [visible(line)]
            rowCount += folded.count
            for (part, line) in folded.enumerated() {
                // The verdict is in the first line.
                output.write(isColored && index == 0 && part == 0 ? Severity.colored(line) : line)
                output.write(lineEnd.description)
            }
        }
    }

    /// Returns a line that can't affect the terminal or a CI runner. A runner obeys `##[` anywhere in a line and `::`
    /// at its start, regardless of the source of the text.
    private func visible(_ line: String) -> String {
        let line = visibleText(line)
        guard isReadByRunner, line.contains("##[") || line.contains("::") else { return line }
        let parts = line.split(separator: "##[", omittingEmptySubsequences: false).joined(separator: "#\\u{23}[")
        let start = parts.prefix { $0 == " " }
        let rest = parts.dropFirst(start.count)
        return rest.hasPrefix("::") ? "\(start)\\u{3A}\(rest.dropFirst())" : parts
    }

    /// Prints a requested file, or an element of the document's `results`. Tabs are kept, and all other control
    /// characters are escaped.
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

    /// Prints a requested document instead of the results. It isn't escaped, since its writer has done that.
    mutating func document(_ text: String) { output.write(text) }

    /// Prints a command for the program that runs this one, already escaped. It goes to standard error, because
    /// standard output contains results.
    mutating func command(_ line: String) {
        output.flush()
        diagnostics.write(line + "\n")
        diagnostics.flush()
    }

    /// Prints the age and the limit of what is known about a provider.
    mutating func note(of pool: ProviderPools.Pool, at time: Date) {
        if let aging = pool.agingNote(at: time) { note("note: \(aging)") }
        if let limit = pool.note { note("note: \(pool.title): \(limit)") }
    }

    /// Prints what a command doesn't know about a policy if it is in a bundle, and counts the bundle.
    mutating func note(of file: PolicyFile) {
        if file.bundle != nil { noteUnverifiedBundle() }
        for note in file.bundleNotes { self.note("note: \(note)") }
    }

    /// Counts a bundle whose signatures weren't verified.
    mutating func noteUnverifiedBundle() { unverifiedBundles += 1 }

    /// Returns a closing line that also says how many bundles weren't verified.
    func closing(_ line: String) -> String {
        unverifiedBundles == 0 ? line : line + "; signatures of \(plural(unverifiedBundles, "bundle")) not verified"
    }

    /// Prints the line that ends a list, and stores the members of the document's `summary` other than the exit code.
    mutating func summarize(_ line: String, _ members: [(String, JSON)]) {
        text([line])
        summary = members
    }

    /// Sets the outcome of a run that decides how its results count.
    ///
    /// `counted` is the outcome, and `found` the outcome without the flags that excuse failures. `forgiving` changes
    /// exit codes 1, 3 and 4 to 0, but not those for bad input and defects.
    mutating func settle(_ counted: ExitCode, found: ExitCode, forgiving: Bool = false) {
        var worst = status
        worst.record(found)
        status.record(counted)
        if forgiving, [.finding, .couldNotCheck, .notTrusted].contains(status) { status = .good }
        if worst != status { self.found = worst }
    }

    /// Shows a progress line on the terminal, or erases it for `nil`.
    mutating func progress(_ line: String?) {
        guard line != nil || showsProgress else { return }
        output.flush()
        diagnostics.write("\r\u{1B}[K" + (line.map { visibleText($0) } ?? ""))
        diagnostics.flush()
        showsProgress = line != nil
    }

    /// Ends each further line of the results with NUL, for `xargs -0`.
    mutating func endLinesWithNUL() {
        lineEnd = "\0"
        columns = nil
    }

    /// Keeps standard output empty from now on, except for requested documents.
    mutating func silence() {
        if format == .text { format = .quiet }
    }

    /// Also omits notes from now on, so that a good run prints nothing.
    mutating func quiet() {
        silence()
        isQuiet = true
    }

    /// Writes the buffered output, for runs whose results take time.
    mutating func flush() { output.flush() }

    /// The document's `summary` as far as it is known.
    var ending: [(String, JSON)] {
        summary + (unverifiedBundles > 0 ? [("unverified_bundles", .integer(unverifiedBundles))] : [])
            + [("verdict", .string(status.word)), ("exit_code", .integer(Int(status.rawValue)))]
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

/// A buffer for the text of one descriptor, so that a hundred thousand lines need only a few hundred writes.
package struct OutputBuffer {
    private var bytes: [UInt8] = []
    private let sink: ([UInt8]) -> Void

    private static let capacity = 64 * 1024

    /// Creates a buffer. The sink must accept all bytes or end the program.
    package init(to sink: @escaping ([UInt8]) -> Void) {
        self.sink = sink
    }

    mutating func write(_ text: String) {
        write { $0 += text.utf8 }
    }

    /// Adds the bytes that `body` appends to the buffer, which may contain earlier bytes.
    mutating func write(_ body: (inout [UInt8]) -> Void) {
        body(&bytes)
        if bytes.count >= Self.capacity { flush() }
    }

    mutating func flush() {
        guard !bytes.isEmpty else { return }
        sink(bytes)
        bytes.removeAll(keepingCapacity: true)
    }
}
