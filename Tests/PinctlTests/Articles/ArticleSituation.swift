import FoundationEssentials

/// The files and servers that the text of an article's block assumes. `situations.txt` has those of the blocks that
/// need other ones than usual, and describes its format.
struct ArticleSituation: Sendable {
    /// Commands that run before the block, in its clone.
    var setUp = ""
    /// Commands that run after the block, and fail if the block didn't have its effect.
    var after = ""
    /// Commands of the block's own shell.
    var environment = ""
    /// Addresses of hosts that aren't the usual ones.
    var addresses: [String: String] = [:]
    /// The digests in the block's commands, each with the name of the digested object.
    var digests: [String: String] = [:]
    /// The reason why the block isn't run.
    var reasonNotToRun: String?
    /// The key exchange group without which the block isn't run.
    var group: String?

    static let table: [String: ArticleSituation] = read(
        (try? ArticleWorld.file("situations.txt")) ?? "")

    /// Returns the situation of a block. Most blocks take the repository as it is.
    static func of(_ block: ArticleBlock) -> ArticleSituation {
        block.keys.lazy.compactMap { table[$0] }.first ?? ArticleSituation()
    }

    private static func read(_ text: String) -> [String: ArticleSituation] {
        var table: [String: ArticleSituation] = [:]
        var key: String?
        var part = \ArticleSituation.setUp
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("== ") {
                key = String(line.dropFirst(3))
                part = \.setUp
            }
            guard let key, var situation = table.removeValue(forKey: key) ?? Optional(ArticleSituation()) else {
                continue
            }
            let words = line.split(separator: " ").map(String.init)
            let rest = words.dropFirst(2).joined(separator: " ")
            switch words.prefix(2) {
            case ["@", "unrun"]: situation.reasonNotToRun = rest
            case ["@", "unless"]: situation.group = rest
            case ["@", "address"]: situation.addresses[words[2]] = words[3]
            case ["@", "digest"]: situation.digests[words[2]] = words.dropFirst(3).joined(separator: " ")
            case ["@", "environment"]: part = \.environment
            case ["@", "after"]: part = \.after
            default: if words.first != "==" { situation[keyPath: part] += line + "\n" }
            }
            table[key] = situation
        }
        return table
    }
}
