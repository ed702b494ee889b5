import CertificatePinning
import PinctlBasics

/// The text of a file with what its name says of it: its comments, and whether it is in use.
struct SearchedText {
    let bytes: [UInt8]
    /// The path in the tree that is searched.
    let name: String
    let language: Language
    /// The positions at which the lines start.
    let lineStarts: [Int]
    private let comments: [Range<Int>]

    /// The notation of a file's comments.
    enum Language {
        /// `//` and `/* */`.
        case code
        /// `#`, and `;` at the start of a line.
        case script
        /// `--`, as in Lua and SQL.
        case dashes
        /// `<!-- -->`.
        case markup
        case prose
        case patch
        /// `;`, in a file with DNS records.
        case zone
    }

    init(_ bytes: [UInt8], name: String) {
        self.bytes = bytes
        self.name = name
        // mutant find-zone: false for `ZoneReader.isZone(bytes, named: name)` by PinSearchTests/shapes
        let isZone = ZoneReader.isZone(bytes, named: name)
        language = isZone ? .zone : Self.isManual(bytes, name) ? .prose : Self.language(name)
        var starts = [0]
        let span = bytes.span
        for index in 0..<span.count where span[index] == UInt8(ascii: "\n") { starts.append(index + 1) }
        lineStarts = starts
        comments =
            switch language {
            case .code: Self.codeComments(bytes)
            case .script, .zone, .dashes: Self.lineComments(bytes, language)
            case .markup: Self.markupComments(bytes)
            case .prose, .patch: []
            }
    }

    /// The bytes, with blanks in place of the comments.
    var withoutComments: [UInt8] {
        var text = bytes
        for comment in comments {
            for index in comment where !text[index].isLineEnd { text[index] = UInt8(ascii: " ") }
        }
        return text
    }

    static func language(_ name: String) -> Language {
        languages[fileExtension(name)] ?? (isDocumentation(name) ? .prose : .script)
    }

    private static let languages: [String: Language] = {
        var languages: [String: Language] = [:]
        for name in [
            "swift", "kt", "kts", "java", "m", "mm", "h", "c", "cc", "cpp", "hpp", "js", "jsx", "mjs", "cjs", "ts",
            "tsx", "go", "rs", "cs", "dart", "gradle", "groovy", "scala", "php", "json", "jsonc", "json5", "vue",
            "svelte", "css",
        ] {
            languages[name] = .code
        }
        for name in ["xml", "plist", "xib", "storyboard", "xaml", "config", "csproj", "mobileconfig"] {
            languages[name] = .markup
        }
        for name in ["patch", "diff"] { languages[name] = .patch }
        for name in ["lua", "sql", "hs", "elm", "dhall"] { languages[name] = .dashes }
        return languages
    }()

    /// Whether a file is a program in a language whose comments begin with `#`, so that names in it are in quotes.
    static func isScript(_ name: String) -> Bool { scripts.contains(fileExtension(name)) }

    private static let scripts: Set = ["py", "rb", "pl", "r", "tf", "nix", "bzl"]

    /// Whether the text is a program, in which names are in quotes and statements follow each other.
    var isProgram: Bool { language == .code || language == .dashes || Self.isScript(name) }

    static func isDocumentation(_ name: String) -> Bool {
        // mutant find-shipped: false for 2 by PinSearchTests/shapes
        if fileExtension(name) == "txt", isShipped(name) { return false }
        let file = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { name[name.utf8.index(after: $0)...] } ?? name[...]
        return documents.contains(fileExtension(name))
            || file.utf8.count <= 9 && documentNames.contains(file.uppercased())
    }

    /// Whether a text is one that a program reads, judged by its path: a resource, or a list of pins.
    private static func isShipped(_ name: String) -> Bool {
        let parts = name.lowercased().split(separator: "/")
        return parts.dropLast().contains { ["raw", "resources", "assets", "res"].contains($0) }
            || parts.last.map { PinWords(Array($0.utf8)[...]).isSuperset(of: [.pin, .tls]) } ?? false
    }

    /// Whether a file is in a directory of documentation, where files of data are examples.
    static func isBesideDocumentation(_ name: String) -> Bool {
        let directories = name.lowercased().split(separator: "/").dropLast()
        return directories.contains { ["doc", "docs", "documentation", "man"].contains($0) }
            && ["json", "yaml", "yml", "xml", "plist", "conf", "example", "sample", "in"].contains(fileExtension(name))
    }

    /// Whether a file is a manual page, such as `stubby.1.in`, judged by its name and its first request.
    private static func isManual(_ bytes: [UInt8], _ name: String) -> Bool {
        let end = fileExtension(name) == "in" ? fileExtension(String(name.dropLast(3))) : fileExtension(name)
        // mutant find-manual: false for 2 by PinSearchTests/standings
        guard end.utf8.count == 1, let section = Int(end), section > 0 else { return false }
        return bytes.starts(with: ".".utf8) || bytes.hasAny(of: ["\n.TH ", "\n.Dd "])
    }

    private static let documentNames: Set = ["README", "CHANGELOG", "CHANGES", "NEWS", "LICENSE", "NOTICE"]
    private static let documents: Set = [
        "md", "markdown", "mdx", "rst", "adoc", "asciidoc", "txt", "html", "htm", "org", "tex", "rtf", "svg", "man",
    ]

    /// Whether a file belongs to the tests of a project, judged by its path.
    static func isTest(_ name: String) -> Bool {
        let parts = name.split(separator: "/").map(String.init)
        let directories: Set<String> = [
            "test", "tests", "testing", "__tests__", "__mocks__", "spec", "specs", "fixtures", "testdata", "testutils",
            "androidtest", "sharedtest", "mocks", "e2e", "fuzz", "fuzzing", "corpus", "corpora",
        ]
        // The packages of a program may have any name.
        // mutant find-test-package: nil by UnreadPinningTests
        let main = parts.indices.dropLast().first { parts[$0] == "src" && parts[$0 + 1] == "main" }
        if parts.prefix(main ?? parts.count - 1).contains(where: {
            let part = $0.lowercased()
            // Modules and targets, such as AppTests or app-tests.
            return directories.contains(part) || $0.hasSuffix("Tests") || part.hasSuffix("-tests")
        }) {
            return true
        }
        guard let file = parts.last else { return false }
        let stem = file.prefix { $0 != "." }
        let rest = file.dropFirst(stem.count).lowercased()
        return stem.hasSuffix("Test") || stem.hasSuffix("Tests") || stem.hasSuffix("_test") || stem.hasPrefix("test_")
            || rest.hasPrefix(".test.") || rest.hasPrefix(".spec.")
            // mutant find-unittest: false by PinSearchTests/idle
            || (stem + rest).split(whereSeparator: { "._-".contains($0) }).contains("unittest")
            || stem.hasPrefix("test-") && testPrograms.contains(fileExtension(name))
    }

    private static let testPrograms: Set = ["c", "cc", "cpp", "go", "js", "mjs", "ts", "py", "rb", "rs", "sh"]

    /// Returns the extension of a file's name in lower case, or an empty text.
    static func fileExtension(_ name: String) -> String {
        let bytes = name.utf8
        guard let dot = bytes.lastIndex(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }),
            bytes[dot] == UInt8(ascii: "."), dot > bytes.startIndex,
            bytes[bytes.index(before: dot)] != UInt8(ascii: "/")
        else { return "" }
        return name[bytes.index(after: dot)...].lowercased()
    }
}

// MARK: - Lines

extension SearchedText {
    /// Returns the index of the line that contains a position.
    func line(at position: Int) -> Int {
        max(0, lineStarts.firstIndex(notBefore: { $0 <= position }) - 1)
    }

    /// Returns the positions of a line without its end.
    func range(ofLine line: Int) -> Range<Int> {
        var end = line + 1 < lineStarts.count ? lineStarts[line + 1] - 1 : bytes.count
        if end > lineStarts[line], bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return lineStarts[line]..<end
    }

    /// Returns the locations of positions in ascending order.
    func locations(of positions: [Int], path: String) -> [PolicyLocation] {
        var (last, column) = (0, 1)
        return positions.map { position in
            let line = line(at: position)
            if lineStarts[line] > last { (last, column) = (lineStarts[line], 1) }
            // A file may have a single line with thousands of pins.
            column += bytes[last..<position].count { $0 & 0xC0 != 0x80 }
            last = position
            return PolicyLocation(path: path, line: line + 1, column: column)
        }
    }

    /// Returns the number of columns before the first character of a line, or `nil` for a blank line.
    func indentation(ofLine line: Int) -> Int? {
        var column = 0
        var range = range(ofLine: line)
        // The first character of a patch's line says what happens to it.
        if language == .patch { range = min(range.lowerBound + 1, range.upperBound)..<range.upperBound }
        for byte in bytes[range] {
            switch byte {
            case UInt8(ascii: " "): column += 1
            case UInt8(ascii: "\t"): column += 8 - column % 8
            default: return column
            }
        }
        return nil
    }
}

// MARK: - Names

extension SearchedText {
    /// Returns the name before a value, as in `name: value`, `"name": ["value"]` and `--name value`, or `nil` if
    /// something else is before it.
    func name(before position: Int) -> ArraySlice<UInt8>? {
        var end = position
        let least = max(0, position - Self.longestName)
        if bytes[least..<end].suffix(7).elementsEqual("sha256:".utf8) { end -= 7 }
        while end > least, !bytes[end - 1].isWordByte {
            guard bytes[end - 1].isBlank || bytes[end - 1].isLineEnd || "\"'`\\([{<=:@-|>".utf8.contains(bytes[end - 1])
            else { return nil }
            end -= 1
        }
        let name = bytes[least..<end].reversed().prefix { $0.isWordByte || $0 == UInt8(ascii: "-") }
        return name.isEmpty ? nil : bytes[(end - name.count)..<end]
    }

    private static let longestName = 160

    /// Whether a text in quotes is a key, which a colon follows.
    func isKey(_ range: Range<Int>) -> Bool {
        let rest = bytes[range.upperBound...]
        guard let quote = rest.first, "\"'".utf8.contains(quote) else { return false }
        return rest.dropFirst().first { !$0.isBlank } == UInt8(ascii: ":")
    }

    /// Returns the lines that contain a text, in order.
    func lines(with word: String) -> [Int] {
        var lines: [Int] = []
        var index = 0
        while let found = bytes.firstRange(of: word, from: index) {
            let line = line(at: found.lowerBound)
            lines.append(line)
            index = line + 1 < lineStarts.count ? lineStarts[line + 1] : bytes.count
        }
        return lines
    }

    /// Whether a line has a word that isn't part of another one.
    func hasWord(_ word: String, inLine line: Int) -> Bool {
        let name = Array(word.utf8)
        return bytes[range(ofLine: line)].split { !$0.isWordByte && $0 != UInt8(ascii: "$") }.contains {
            $0.elementsEqual(name)
        }
    }

    /// Whether nothing but a comment is in a line.
    func isComment(line: Int) -> Bool {
        range(ofLine: line).first { !bytes[$0].isBlank }.map { isComment($0) } ?? false
    }
}

// MARK: - Standing

extension SearchedText {
    /// Returns whether a text at a position is in use.
    func standing(at position: Int) -> PinSighting.Standing {
        if language == .patch, bytes[lineStarts[line(at: position)]] == UInt8(ascii: "-") { return .removed }
        // mutant find-documents: false for `Self.isBesideDocumentation(name)` by PinSearchTests/standings
        if language == .prose || Self.isBesideDocumentation(name) { return .documentation }
        if isComment(position) { return .comment }
        return Self.isTest(name) ? .test : .inForce
    }

    /// Whether a text at a position is an example in a message, as in `"a pin (e.g. sha256/…)"`.
    func isExample(at position: Int) -> Bool {
        let before = bytes[lineStarts[line(at: position)]..<position].suffix(60)
        // mutant find-example: false by PinSearchTests/idle
        return Array(before).hasAny(of: ["e.g."], ignoringCase: true)
    }

    /// Whether a text at a position is in a header that only reports mismatches.
    func isReportOnly(at position: Int) -> Bool {
        let before = String(decoding: bytes[max(0, position - 500)..<position], as: UTF8.self).lowercased()
        let header = Array(before.utf8)
        var rest: Range<Int>?
        while let next = header.firstRange(of: "public-key-pins", from: rest?.upperBound ?? 0) { rest = next }
        // mutant find-report-only: false by PinSearchTests/idle
        return rest.map { header[$0.upperBound...].starts(with: "-report-only".utf8) } ?? false
    }

    func isComment(_ position: Int) -> Bool {
        let index = firstComment(endingAfter: position)
        return index < comments.count && comments[index].contains(position)
    }

    /// Returns the comments in a range, in order.
    func comments(in range: Range<Int>) -> [Range<Int>] {
        comments[firstComment(endingAfter: range.lowerBound)...].prefix { $0.lowerBound < range.upperBound }
            .map { $0.clamped(to: range) }
    }

    private func firstComment(endingAfter position: Int) -> Int {
        comments.firstIndex(notBefore: { $0.upperBound <= position })
    }

    /// Returns the comments outside of quotes in a language whose comments end with their lines, but for `--[[ ]]` of
    /// Lua and `/* */` of SQL.
    private static func lineComments(_ bytes: [UInt8], _ language: Language) -> [Range<Int>] {
        var comments: [Range<Int>] = []
        var (index, quote, isStart) = (0, UInt8?.none, true)
        while index < bytes.count {
            let byte = bytes[index]
            if byte.isLineEnd {
                (quote, isStart) = (nil, true)
            } else if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") && language != .zone {
                quote = byte
            } else if let end = endOfComment(at: index, isStart: isStart, language) {
                let rest = bytes[index...]
                let last =
                    end.isEmpty
                    ? rest.firstIndex(where: \.isLineEnd) : bytes.firstRange(of: end, from: index)?.upperBound
                comments.append(index..<(last ?? bytes.count))
                index = last ?? bytes.count
                continue
            }
            if !byte.isBlank, !byte.isLineEnd { isStart = false }
            index += 1
        }
        return comments

        /// Returns the text that ends the comment that begins at a position, which is empty for the end of the line.
        func endOfComment(at index: Int, isStart: Bool, _ language: Language) -> String? {
            let rest = bytes[index...]
            switch language {
            case .zone: return rest.first == UInt8(ascii: ";") ? "" : nil
            case .dashes:
                if rest.starts(with: "/*".utf8) { return "*/" }
                return rest.starts(with: "--[[".utf8) ? "]]" : rest.starts(with: "--".utf8) ? "" : nil
            default:
                let isHash = rest.first == UInt8(ascii: "#") && (isStart || bytes[index - 1].isBlank)
                return isHash || isStart && rest.first == UInt8(ascii: ";") ? "" : nil
            }
        }
    }

    private static func markupComments(_ bytes: [UInt8]) -> [Range<Int>] {
        var comments: [Range<Int>] = []
        var index = 0
        while let start = bytes.firstRange(of: "<!--", from: index) {
            let end = bytes.firstRange(of: "-->", from: start.upperBound)?.upperBound ?? bytes.count
            comments.append(start.lowerBound..<end)
            index = end
        }
        return comments
    }

    /// Returns the comments of a program, in order. Texts end with their line, so that an apostrophe hides no more.
    private static func codeComments(_ bytes: [UInt8]) -> [Range<Int>] {
        var comments: [Range<Int>] = []
        var (index, quote) = (0, UInt8?.none)
        while index < bytes.count {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            if byte == UInt8(ascii: "\""), quote == nil, bytes[index...].starts(with: textBlock) {
                // A text of several lines.
                index = bytes.firstRange(of: "\"\"\"", from: index + 3)?.upperBound ?? bytes.count
                continue
            }
            if byte.isLineEnd {
                quote = nil
            } else if let open = quote {
                if byte == UInt8(ascii: "\\") { index += 1 } else if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") || byte == UInt8(ascii: "`") {
                quote = byte
            } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "*") {
                let end = bytes.firstRange(of: "*/", from: index + 2)?.upperBound ?? bytes.count
                comments.append(index..<end)
                index = end
                continue
            } else if byte == UInt8(ascii: "/"), next == UInt8(ascii: "/"),
                index == 0 || startsComment(after: bytes[index - 1])
            {
                let end = bytes[index...].firstIndex(where: \.isLineEnd) ?? bytes.count
                comments.append(index..<end)
                index = end
                continue
            }
            index += 1
        }
        return comments
    }

    private static let textBlock = [UInt8](repeating: UInt8(ascii: "\""), count: 3)

    /// Whether `//` after a byte begins a comment: it doesn't in `https://` and `sha256//`.
    private static func startsComment(after byte: UInt8) -> Bool {
        !byte.isWordByte && byte != UInt8(ascii: ":")
    }
}
