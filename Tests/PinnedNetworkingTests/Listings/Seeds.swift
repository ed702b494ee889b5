import Foundation
import Testing

/// Articles of others whose listings have to work as they stand; read when the tests run, and no part of the project.
enum Seeds {
    static let folder = Self.root + "/../shared/seeds"
    static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").path
    static let areThere = !files.isEmpty

    private static let files =
        (try? FileManager.default.contentsOfDirectory(atPath: folder))?.filter { $0.hasSuffix(".txt") } ?? []

    /// A program with its listings: the line `// 001: from "let url" through "let request"` stands for those lines of the
    /// article 001, from the first one that begins so. Articles indent no listing.
    static func complete(_ program: String) throws -> String {
        try program.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard let place = line.wholeMatch(of: /\s*\/\/ (\d+): from "(.*)" through "(.*)"/) else {
                return String(line)
            }
            return try listing(of: place.1, from: place.2, through: place.3)
        }.joined(separator: "\n")
    }

    private static func listing(of article: Substring, from first: Substring, through last: Substring) throws -> String
    {
        let file = try #require(files.first { $0.hasPrefix(article) }, "no article \(article) in \(folder)")
        let lines = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix(first) }, "no line \(first) in \(file)")
        let end = try #require(
            lines[start...].firstIndex { $0.hasPrefix(last) }, "no line \(last) behind \(first) in \(file)")
        return lines[start...end].joined(separator: "\n")
    }
}
