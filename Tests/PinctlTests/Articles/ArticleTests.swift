import FoundationEssentials
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// The commands of all articles, run as they stand by a user that isn't root, in a clone or, if cron runs them, in `/`
/// and at home. With `UPDATE=1` in the environment, the articles get the actual output: check the difference
/// afterwards.
@Suite("The articles' commands", .serialized)
struct ArticleTests {
    private static let isUpdating = ProcessInfo.processInfo.environment["UPDATE"] == "1"

    /// The articles whose blocks build on each other.
    private static let stories: Set = ["PinctlCommands", "PolicyUpdates"]

    @Test(
        "The commands of an article succeed, and print what it shows",
        .enabled(if: MemoryScan.isPossible, "a sanitizer's library must be loaded first"),
        .enabled(if: ArticleWorld.isPossible, "a network of its own takes namespaces"),
        .enabled(if: ArticleWorld.hasPrograms, "these programs are required: \(ArticleWorld.programs)"),
        arguments: Article.all)
    func runs(article: Article) async throws {
        let blocks = article.blocks.filter { $0.reasonNotToRun == nil && !$0.commands.isEmpty }
        guard !blocks.isEmpty else { return }
        let world = try ArticleWorld()
        // README is read in terminals too.
        let columns = article.name == "README" ? 80 : 120
        let runs = try await world.run(
            blocks.map { ($0, ArticleSituation.of($0)) }, inOneClone: Self.stories.contains(article.name),
            columns: columns)
        var digests = DigestNames()
        var changes: [(range: Range<Int>, lines: [String])] = []
        for (block, run) in zip(blocks, runs) {
            #expect(run.failure == nil, "\(block.key): \(run.failure ?? "")")
            guard block.form == .transcript else {
                let isCron = block.commands.first?.isForCron == true
                #expect(run.commands.count == block.commands.count * (isCron ? 2 : 1), "\(block.key): \(run)")
                for command in run.commands {
                    #expect(command.status == 0, "\(block.key): \(command)")
                    #expect(!isCron || command.lines.isEmpty, "\(block.key): \(command)")
                }
                continue
            }
            #expect(run.commands.count == block.commands.count, "\(block.key): \(run)")
            var found: [String] = []
            for (command, result) in zip(block.commands, run.commands) {
                found += block.lines[command.lines].map { world.replacingDigests($0, ArticleSituation.of(block)) }
                for line in result.lines {
                    // A terminal folds messages.
                    found += line.hasPrefix("pinctl: ") ? FoldedLine.fold(line, columns: columns) : [line]
                }
                #expect(result.status != 127, "\(block.key): \(result)")
            }
            found = Self.ordered(found, like: block.lines)
            guard !digests.matches(block.lines, found) else { continue }
            if Self.isUpdating {
                changes.append((block.range, found.map { digests.shown($0) }))
            } else {
                Issue.record("\(block.key):\n\(found.map { digests.shown($0) }.joined(separator: "\n"))")
            }
        }
        guard !changes.isEmpty else { return }
        var lines = article.lines
        for change in changes.reversed() { lines.replaceSubrange(change.range, with: change.lines) }
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: article.path))
    }

    /// Returns lines with their results in the order of a listing. pinctl prints results as they finish.
    private static func ordered(_ lines: [String], like listing: [String]) -> [String] {
        func name(_ line: String) -> Substring? {
            line.prefixMatch(of: #/(?:ok\*?|FAIL|\?\?) +(.+?)(?:  |$)/#)?.output.1
        }
        let names = listing.compactMap(name)
        var result: [String] = []
        var groups: [(place: Int, lines: [String])] = []
        for line in lines + [""] {
            if let name = name(line) {
                groups.append((names.firstIndex(of: name) ?? names.count, [line]))
            } else if !groups.isEmpty, line.hasPrefix(" ") {
                groups[groups.count - 1].lines.append(line)
            } else {
                result += groups.sorted { $0.place < $1.place }.flatMap(\.lines) + [line]
                groups = []
            }
        }
        return result.dropLast()
    }

    @Test("Every block with commands is run, or situations.txt has the reason why not")
    func completeness() {
        var unused = Set(ArticleSituation.table.keys)
        for article in Article.all {
            for block in article.blocks {
                unused.subtract(block.keys)
                let isRun = !block.commands.isEmpty
                let hasCommand = block.lines.contains { $0.contains("pinctl ") } && block.language != "swift"
                #expect(isRun || !hasCommand || block.reasonNotToRun != nil, "\(block.key)")
            }
            #expect(article.indentedCode.isEmpty, "\(article.name): write a fence: \(article.indentedCode)")
        }
        #expect(unused.isEmpty, "situations.txt has blocks that no article has")
        #expect(Article.all.count > 30)
    }

    @Test("The policies in the articles can be read")
    func policies() async throws {
        var count = 0
        for block in Article.all.flatMap(\.blocks) where block.language.hasPrefix("json") && block.article != "Runbook"
        {
            var text = block.lines.joined(separator: "\n")
            guard text.contains("\"domains\"") else { continue }
            count += 1
            let directory = try TestDirectory()
            _ = try directory.add(TestSigningRequest("api.example.com", key: TestKey()).pemText, name: "backup.csr")
            _ = try directory.add(
                String(contentsOfFile: Repository.root + "/pins/public-roots.jsonc", encoding: .utf8),
                name: "public-roots.jsonc")
            while let pin = text.firstRange(of: "sha256/…") {
                text.replaceSubrange(pin, with: try TestKey().pin)
            }
            let run = await pinctl("lint", try directory.add(text, name: "pins.jsonc"))
            #expect(run.status < 2, "\(block.key): \(run.output)\(run.errors)")
        }
        #expect(count >= 4)
    }
}

extension ArticleBlock {
    /// The reason why the block isn't run here, or `nil`.
    fileprivate var reasonNotToRun: String? {
        let situation = ArticleSituation.of(self)
        if let reason = situation.reasonNotToRun { return reason }
        if article == "Runbook" { return "RunbookTests runs it" }
        if let group = situation.group, (try? Transport.shared.keyExchangeGroups())?.contains(group) != true {
            return "OpenSSL lacks \(group)"
        }
        let words = Set(commands.map { $0.text.prefix { $0 != " " && $0 != "/" } })
        let isAboutSources = !words.isEmpty && words.isSubset(of: ["tools", "swift", "apt-get", "$"])
        return isAboutSources ? "it installs, builds or tests this project, which takes the network or minutes" : nil
    }
}

/// The digests of an article, which belong to other keys than those of a run. Each stands for the same digest
/// throughout the article.
private struct DigestNames {
    private var found: [Substring: Substring] = [:]
    private var shown: [Substring: Substring] = [:]

    private static var digest: Regex<Substring> { #/[A-Za-z0-9+/]{43}=/# }

    /// Returns whether a listing shows the lines that were found. A line that is an ellipsis stands for any lines.
    mutating func matches(_ listing: [String], _ lines: [String]) -> Bool {
        var copy = self
        guard copy.takes(listing[...], lines[...]) else { return false }
        self = copy
        return true
    }

    private mutating func takes(_ listing: ArraySlice<String>, _ lines: ArraySlice<String>) -> Bool {
        guard let line = listing.first else { return lines.isEmpty }
        if line.drop(while: { $0 == " " }) == "…" {
            for start in lines.startIndex...lines.endIndex {
                var copy = self
                if copy.takes(listing.dropFirst(), lines[start...]) {
                    self = copy
                    return true
                }
            }
            return false
        }
        guard let other = lines.first, takes(line, other) else { return false }
        return takes(listing.dropFirst(), lines.dropFirst())
    }

    private mutating func takes(_ line: String, _ other: String) -> Bool {
        let (left, right) = (line.matches(of: Self.digest), other.matches(of: Self.digest))
        guard left.count == right.count, line.replacing(Self.digest, with: "") == other.replacing(Self.digest, with: "")
        else { return false }
        for (name, value) in zip(left, right) {
            guard found[name.output] ?? value.output == value.output, shown[value.output] ?? name.output == name.output
            else { return false }
            found[name.output] = value.output
            shown[value.output] = name.output
        }
        return true
    }

    /// Returns a line with the article's digests.
    func shown(_ line: String) -> String {
        line.replacing(Self.digest) { shown[$0.output] ?? $0.output }
    }
}
