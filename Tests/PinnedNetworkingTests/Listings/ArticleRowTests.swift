import Foundation
import PinctlTestPKI
import Testing

/// The claims of an article about this package, each with its section: table rows by their first cell, and list items
/// by their first sentence.
private struct Claims {
    /// The names of the tests that show a claim. An article itself names none.
    private(set) var tests: [String: [String]] = [:]
    private(set) var repeated: [String] = []

    /// Reads the register: sections after `==`, claims, and indented names of tests. `#` begins a comment.
    init(register text: String) {
        var (section, claim) = ("", "")
        for line in text.split(separator: "\n").map(String.init) where !line.hasPrefix("#") {
            if line.hasPrefix("== ") {
                section = String(line.dropFirst(3))
            } else if line.hasPrefix("    ") {
                tests["\(section): \(claim)", default: []].append(String(line.dropFirst(4)))
            } else {
                claim = line
                add(claim, section)
            }
        }
    }

    /// Reads an article in Markdown without the sections in `omitted`.
    init(article text: String, omitting omitted: Set<String>) {
        let lines = text.components(separatedBy: "\n")
        var section = ""
        var isCode = false
        var item: String?
        for (line, next) in zip(lines, lines.dropFirst() + [""]) {
            if line.hasPrefix("```") { isCode.toggle() }
            if isCode { continue }
            if line.hasPrefix("#") { section = String(line.drop { $0 == "#" || $0 == " " }) }
            if omitted.contains(section) { continue }
            // The head of a table has a line of dashes below it.
            if line.hasPrefix("| "), !next.hasPrefix("|---") {
                add(line.dropFirst(2).components(separatedBy: " | ")[0], section)
            }
            if line.hasPrefix("- ") {
                item = String(line.dropFirst(2))
            } else if item != nil {
                item? += " " + line.trimmingCharacters(in: .whitespaces)
            }
            if let whole = item, !next.hasPrefix("  ") {
                let sentence = whole.components(separatedBy: ". ")[0]
                add(sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence, section)
                item = nil
            }
        }
    }

    private mutating func add(_ claim: String, _ section: String) {
        let key = "\(section): \(claim)"
        if tests.updateValue([], forKey: key) != nil { repeated.append(key) }
    }
}

/// The tests behind the claims of the article on moving from URLSession, which `ArticleRows.txt` lists.
@Suite struct ArticleRowTests {
    @Test("Each claim about what is different from URLSession is shown by tests that exist")
    func register() throws {
        let article = try String(
            contentsOfFile: "\(Repository.root)/Sources/PinnedNetworking/PinnedNetworking.docc/MovingFromURLSession.md",
            encoding: .utf8)
        let register = try String(
            contentsOfFile: "\(Repository.root)/Tests/PinnedNetworkingTests/Listings/ArticleRows.txt", encoding: .utf8)
        let claims = Claims(article: article, omitting: ["Packages that were tried"])
        let entries = Claims(register: register)
        #expect(claims.repeated == [] && entries.repeated == [])
        let missing = claims.tests.keys.filter { entries.tests[$0] == nil }
        #expect(missing.sorted() == [], "claims without an entry in ArticleRows.txt")
        let outdated = entries.tests.keys.filter { claims.tests[$0] == nil }
        #expect(outdated.sorted() == [], "entries without a claim in the article")
        let names = try Self.testNames()
        for (claim, tests) in entries.tests.sorted(by: { $0.key < $1.key }) {
            #expect(!tests.isEmpty, "\(claim): names no test")
            #expect(tests.filter { !names.contains($0) } == [], "\(claim): names tests that don't exist")
        }
        // The article has more than a hundred. Fewer would mean that it isn't read as it is written.
        #expect(claims.tests.count > 100)
    }

    /// The names of all tests, also of the module Security.
    private static func testNames() throws -> Set<String> {
        var names: Set<String> = []
        for directory in ["Tests", "tools/security/Tests"] {
            let files = try #require(FileManager.default.enumerator(atPath: "\(Repository.root)/\(directory)"))
            while let file = files.nextObject() as? String {
                guard file.hasSuffix(".swift") else { continue }
                let source = try String(contentsOfFile: "\(Repository.root)/\(directory)/\(file)", encoding: .utf8)
                for part in source.components(separatedBy: "@Test(").dropFirst() {
                    let rest = part.drop(while: \.isWhitespace)
                    guard rest.first == "\"" else { continue }
                    // A quotation mark in a name has a backslash before it.
                    names.insert(rest.dropFirst().components(separatedBy: "\"")[0])
                }
            }
        }
        return names
    }
}
