import Foundation
import PinctlTestPKI
import Testing

/// Published articles whose listings have to work unchanged. They are read when the tests run and aren't part of the
/// project.
enum Seeds {
    static let directory = Repository.root + "/../shared/seeds"
    static let areThere = !files.isEmpty

    private static let files =
        (try? FileManager.default.contentsOfDirectory(atPath: directory))?.filter { $0.hasSuffix(".txt") } ?? []

    /// A program with its listings inserted. The line `// 001: from "let url" through "let request"` stands for those
    /// lines of article 001, starting at the first line that begins with the text; `// 001 in Swift: from` stands for
    /// their translation. Articles don't indent their listings.
    static func complete(_ program: String) throws -> String {
        try program.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            guard let place = line.wholeMatch(of: /\s*\/\/ (\d+)( in Swift)?: from "(.*)" through "(.*)"/) else {
                return String(line)
            }
            let listing = try listing(of: place.1, from: place.3, through: place.4)
            return place.2 == nil ? listing : inSwift(listing)
        }.joined(separator: "\n")
    }

    private static func listing(of article: Substring, from first: Substring, through last: Substring) throws -> String
    {
        let file = try #require(files.first { $0.hasPrefix(article) }, "no article \(article) in \(directory)")
        let lines = try String(contentsOfFile: "\(directory)/\(file)", encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasPrefix(first) }, "no line \(first) in \(file)")
        let end = try #require(
            lines[start...].firstIndex { $0.hasPrefix(last) }, "no line \(last) behind \(first) in \(file)")
        return lines[start...end].joined(separator: "\n")
    }

    /// Objective-C translated the way its interfaces are imported into Swift: patterns applied in order, for methods,
    /// messages and types of challenges. Anything the patterns don't cover fails to compile.
    private static func inSwift(_ objectiveC: String) -> String {
        let spellings = [
            (
                #"-\(void\)(\w+):\((\w+) \*\)(\w+)\s+didReceiveAuthenticationChallenge:\((\w+) \*\)(\w+)"#,
                "func $1(_ $3: $2, didReceive $5: $4)"
            ),
            (#"\[(\w+) (\w+)\]"#, "$1.$2"),
            (#"\[NSURLCredential credentialWithUser:(\S+)\s+password:"#, "URLCredential(user: $1, password: "),
            (#"\s+persistence:NSURLCredentialPersistenceNone\]"#, ", persistence: .none)"),
            (#"\[(\S+) useCredential:(\w+)\s+forAuthenticationChallenge:(\w+)\]"#, "$1?.use($2, for: $3)"),
            (#"\[(\S+) cancelAuthenticationChallenge:(\w+)\]"#, "$1?.cancel($2)"),
            (#"\[(\w+) (\w+):(\w+)\]"#, "$1.$2($3)"),
            (#"(\w+) \*(\w+);"#, "let $2: $1"),
            (#"NS(URLCredential|URLAuthenticationChallenge)\b"#, "$1"),
            (";", ""),
        ]
        return spellings.reduce(objectiveC) { text, spelling in
            text.replacingOccurrences(of: spelling.0, with: spelling.1, options: .regularExpression)
        }
    }
}
