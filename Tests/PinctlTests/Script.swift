import FoundationEssentials
import PinctlTestPKI

/// A text that contains command lines with their expected results. `Scripts/hash.txt` describes the format.
struct Script: Sendable {
    enum Line: Sendable {
        /// A comment or an empty line, kept as it is.
        case text(String)
        case server(name: String, chain: [String])
        case file(name: String, lines: [String])
        case onlyCodes
        case step(Step)
    }

    /// One command line and its expected result.
    struct Step: Sendable {
        /// The command line as written, with its variables.
        var command: String
        var output: [String] = []
        var errors: [String] = []
        var status: Int32?
    }

    let path: String
    var lines: [Line] = []

    static let directory = Repository.root + "/Tests/PinctlTests/Scripts"

    static var names: [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).filter { $0.hasSuffix(".txt") }
            .sorted()
    }

    init(_ name: String) throws {
        path = Self.directory + "/" + name
        let bytes = FileManager.default.contents(atPath: path)
        guard let bytes else { throw ScriptError("there is no script \(path)") }
        var texts = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        if texts.last == "" { texts.removeLast() }
        for text in texts { try take(text) }
    }

    private mutating func take(_ text: String) throws {
        let words = text.split(separator: " ").map(String.init)
        if text.isEmpty || text.hasPrefix("#") {
            lines.append(.text(text))
        } else if text.hasPrefix("$ pinctl") {
            lines.append(.step(Step(command: String(text.dropFirst(2)))))
        } else if words.first == "server", words.count > 2 {
            lines.append(.server(name: words[1], chain: Array(words[2...])))
        } else if words.first == "file", words.count == 2 {
            lines.append(.file(name: words[1], lines: []))
        } else if text == "only codes" {
            lines.append(.onlyCodes)
        } else if text == "|" || text.hasPrefix("| ") {
            guard case .file(let name, let held) = lines.last else { throw ScriptError("\(path): \(text)") }
            lines[lines.count - 1] = .file(name: name, lines: held + [String(text.dropFirst(2))])
        } else {
            guard case .step(var step) = lines.last, step.status == nil else { throw ScriptError("\(path): \(text)") }
            switch words.first {
            case ">": step.output.append(String(text.dropFirst(2)))
            case "!": step.errors.append(String(text.dropFirst(2)))
            case "exit": step.status = words.count == 2 ? Int32(words[1]) : nil
            default: throw ScriptError("\(path): \(text)")
            }
            lines[lines.count - 1] = .step(step)
        }
    }

    var steps: [Step] {
        lines.compactMap { line in if case .step(let step) = line { step } else { nil } }
    }

    var hasOnlyCodes: Bool {
        lines.contains { line in if case .onlyCodes = line { true } else { false } }
    }

    var servers: [(name: String, chain: [String])] {
        lines.compactMap { line in if case .server(let name, let chain) = line { (name, chain) } else { nil } }
    }

    /// The text as written to the script's file.
    var text: String {
        var texts: [String] = []
        for line in lines {
            switch line {
            case .text(let text): texts.append(text)
            case .server(let name, let chain): texts.append((["server", name] + chain).joined(separator: " "))
            case .file(let name, let lines): texts += ["file \(name)"] + lines.map { Self.marked("|", $0) }
            case .onlyCodes: texts.append("only codes")
            case .step(let step):
                texts.append("$ \(step.command)")
                texts += step.output.map { Self.marked(">", $0) } + step.errors.map { Self.marked("!", $0) }
                texts.append("exit \(step.status ?? 0)")
            }
        }
        return texts.map { $0 + "\n" }.joined()
    }

    static func marked(_ mark: String, _ text: String) -> String { text.isEmpty ? mark : "\(mark) \(text)" }
}

/// An error of a script that can't be read, or that refers to something undefined.
struct ScriptError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
