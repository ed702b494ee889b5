import FoundationEssentials
import PinctlTestPKI
import Testing

/// A document of this project in Markdown, with its fenced blocks.
struct Article: Sendable, CustomTestStringConvertible {
    /// The file's name without its extension, with its directory if several files have this name.
    let name: String
    let path: String
    let lines: [String]
    private(set) var blocks: [ArticleBlock] = []

    var testDescription: String { name }

    /// All documents that have commands for users or contributors.
    static let all: [Article] = paths.map { Article(path: $0) }

    private static var paths: [String] {
        func markdown(in directory: String) -> [String] {
            ((try? FileManager.default.contentsOfDirectory(atPath: Repository.root + "/" + directory)) ?? []).sorted()
                .filter { $0.hasSuffix(".md") }.map { directory + "/" + $0 }
        }
        let modules = (try? FileManager.default.contentsOfDirectory(atPath: Repository.root + "/Sources")) ?? []
        return ["README.md", "pins/README.md"] + markdown(in: ".github")
            + modules.sorted().flatMap { markdown(in: "Sources/\($0)/\($0).docc") }
    }

    static func named(_ name: String) -> Article? { all.first { $0.name == name } }

    private init(path: String) {
        self.path = Repository.root + "/" + path
        name = String(
            (path.hasPrefix("pins/") ? path : path.split(separator: "/").last.map(String.init) ?? path).dropLast(3))
        let text = String(decoding: FileManager.default.contents(atPath: self.path) ?? Data(), as: UTF8.self)
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var heading = ""
        var index = 0
        while index < lines.count {
            let line = lines[index].trimmed
            index += 1
            if line.hasPrefix("#") { heading = String(line.drop { "# ".contains($0) }) }
            guard line.hasPrefix("```") else { continue }
            let start = index
            while index < lines.count, !lines[index].hasSuffix("```") { index += 1 }
            blocks.append(
                ArticleBlock(
                    article: name, heading: heading, language: String(line.dropFirst(3)), range: start..<index,
                    lines: Array(lines[start..<index])))
            index += 1
        }
    }

    /// The lines outside of fences that Markdown shows as code, because they are indented and follow an empty line.
    var indentedCode: [String] {
        let fenced = Set(blocks.flatMap(\.range))
        return zip(lines, lines.dropFirst()).enumerated().compactMap { index, pair in
            pair.0.isEmpty && pair.1.hasPrefix("    ") && !fenced.contains(index + 1) ? pair.1 : nil
        }
    }
}

/// A fenced block of an article.
struct ArticleBlock: Sendable {
    let article: String
    let heading: String
    let language: String
    /// The lines between the fences, by their position in the article.
    let range: Range<Int>
    let lines: [String]

    /// The block's name.
    var key: String { "\(article), \(heading): \(first)" }
    /// The names by which `situations.txt` knows it, the most specific first.
    var keys: [String] { [key, "\(article): \(first)", "\(article), \(heading)", article] }
    private var first: String { (lines.first { !$0.isEmpty } ?? "").trimmed }

    enum Form: Sendable {
        /// Commands after `$ `, with what they print.
        case transcript
        /// Commands alone, one a line.
        case recipe
        /// One script of a shell.
        case script
        /// Settings of a CI system or a table for cron, which have commands in them.
        case settings
        /// Something else, such as Swift.
        case other
    }

    var form: Form {
        switch language {
        case "" where lines.contains { $0.hasPrefix("$ ") }: .transcript
        case "" where commandsInSettings.isEmpty: .recipe
        case "sh", "shell": lines.contains { $0.hasPrefix("#!") || $0.contains("=$(") } ? .script : .recipe
        case "", "yaml", "groovy": commandsInSettings.isEmpty ? .other : .settings
        default: .other
        }
    }

    /// A command, and its lines in the block.
    struct Command: Sendable {
        let text: String
        let lines: Range<Int>
        /// Whether cron runs it, in a directory without a policy.
        var isForCron = false
    }

    /// The commands of the block, in order.
    var commands: [Command] {
        switch form {
        case .transcript: joined { $0.hasPrefix("$ ") ? String($0.dropFirst(2)) : nil }
        case .recipe: joined { $0.isEmpty ? nil : $0 }
        case .script: [Command(text: lines.joined(separator: "\n"), lines: lines.indices)]
        case .settings: commandsInSettings
        case .other: []
        }
    }

    /// The commands that begin with these lines. A backslash continues a command on the next line.
    private func joined(_ start: (String) -> String?) -> [Command] {
        var commands: [Command] = []
        var index = 0
        while index < lines.count {
            let first = index
            index += 1
            guard var text = start(lines[first]) else { continue }
            while text.hasSuffix("\\"), index < lines.count {
                text += "\n" + lines[index]
                index += 1
            }
            commands.append(Command(text: text, lines: first..<index))
        }
        return commands
    }

    private var commandsInSettings: [Command] {
        lines.enumerated().compactMap { index, line in
            let line = line.trimmed
            if let cron = line.prefixMatch(of: #/[0-9*/]+( [0-9*/]+){4} +/#) {
                return Command(text: String(line[cron.range.upperBound...]), lines: index..<index + 1, isForCron: true)
            }
            guard !language.isEmpty, language != "sh", language != "shell",
                let start = line.prefixMatch(of: #/(- )?(run: |script: |sh ')?(?=pinctl )/#)
            else { return nil }
            return Command(
                text: String(line[start.range.upperBound...].prefix { $0 != "'" }), lines: index..<index + 1)
        }
    }
}

extension String {
    fileprivate var trimmed: String { String(drop { $0 == " " }) }
}
