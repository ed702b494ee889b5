import CertificateTrust
import PinctlBasics

/// The search for the host that a pin in a program or another text is for.
struct NearbyHost {
    let text: SearchedText
    let suffixes: PublicSuffixes
    /// The lines that have digests, whose hosts are for these.
    let taken: Set<Int>
    /// Whether lines open more brackets than they close.
    private var groups: [Int: Bool] = [:]

    init(text: SearchedText, suffixes: PublicSuffixes, shapes: [DigestShape]) {
        self.text = text
        self.suffixes = suffixes
        taken = Set(shapes.map { text.line(at: $0.range.lowerBound) })
    }

    /// The number of lines before and after a pin in which its host is looked for, unless they enclose it.
    private static let reach = 10
    /// The part of a long line that is searched, in bytes on each side of a pin.
    private static let lineReach = 400

    /// Returns the host of a pin: one in the same line, or the nearest one above it that isn't inside of something
    /// else, or one below it in the same group.
    mutating func host(ofPinAt range: Range<Int>) -> String? {
        let line = text.line(at: range.lowerBound)
        let whole = text.range(ofLine: line)
        let start = max(whole.lowerBound, range.lowerBound - Self.lineReach)
        let end = min(whole.upperBound, range.upperBound + Self.lineReach)
        if let host = hosts(in: start..<range.lowerBound).last
            ?? hosts(in: range.upperBound..<max(end, range.upperBound)).first
        {
            return host
        }
        var least = text.indentation(ofLine: line) ?? 0
        for above in stride(from: line - 1, through: max(0, line - PinContext.enclosingLines), by: -1) {
            guard let indentation = text.indentation(ofLine: above), indentation <= least else { continue }
            if indentation == least, line - above > Self.reach || opensGroup(above) { continue }
            // What is enclosed by a line further out belongs to something else.
            least = indentation
            if let host = host(inLine: above) { return host }
            if least == 0, line - above > Self.reach { break }
        }
        for below in line + 1..<max(line + 1, min(line + Self.reach, text.lineStarts.count)) {
            guard let indentation = text.indentation(ofLine: below), indentation <= text.indentation(ofLine: line) ?? 0,
                !text.bytes[text.range(ofLine: below)].drop(while: \.isBlank).starts(with: [UInt8(ascii: "}")])
            else {
                if text.indentation(ofLine: below) ?? 0 > text.indentation(ofLine: line) ?? 0 { continue }
                break
            }
            if let host = host(inLine: below) { return host }
        }
        return nil
    }

    /// Whether a line opens more brackets than it closes, so that what is in it is for the lines that it encloses.
    private mutating func opensGroup(_ line: Int) -> Bool {
        if let known = groups[line] { return known }
        let depth = text.bytes[text.range(ofLine: line)].reduce(0) { depth, byte in
            "{[(".utf8.contains(byte) ? depth + 1 : "}])".utf8.contains(byte) ? depth - 1 : depth
        }
        groups[line] = depth > 0
        return depth > 0
    }

    private func host(inLine line: Int) -> String? {
        let range = text.range(ofLine: line)
        guard range.count <= 2 * Self.lineReach, !taken.contains(line), !PinWords(text.bytes[range]).contains(.report)
        else { return nil }
        return hosts(in: range).first
    }

    /// Returns the hostnames in a part of a line.
    private func hosts(in range: Range<Int>) -> [String] { places(in: range).map(\.host) }

    /// Returns the hostnames in a part of a line with their positions.
    func places(in range: Range<Int>) -> [(host: String, range: Range<Int>)] {
        var hosts: [(String, Range<Int>)] = []
        var index = range.lowerBound
        while index < range.upperBound {
            guard Self.isPart(text.bytes[index]) else {
                index += 1
                continue
            }
            let start = index
            while index < range.upperBound, Self.isPart(text.bytes[index]) { index += 1 }
            if let host = host(start..<index) { hosts.append((host, start..<index)) }
        }
        return hosts
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        byte.isWordByte && byte < 0x80 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "*")
    }

    /// Returns the hostname that a word is, judged by its form and by what is around it.
    private func host(_ range: Range<Int>) -> String? {
        let bytes = text.bytes
        guard bytes[range].contains(UInt8(ascii: ".")), range.count <= 253 else { return nil }
        let before = range.lowerBound > 0 ? bytes[range.lowerBound - 1] : UInt8(ascii: " ")
        let after = range.upperBound < bytes.count ? bytes[range.upperBound] : UInt8(ascii: " ")
        let isURL = bytes[..<range.lowerBound].suffix(3).elementsEqual("://".utf8)
        let quotes: [UInt8] = [UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`")]
        if isURL {
            // A link in a comment leads to an explanation.
            guard !text.isComment(range.lowerBound) || text.language == .prose else { return nil }
        } else if quotes.contains(before) {
            guard after == before || after == UInt8(ascii: ":") || after == UInt8(ascii: "\\") else { return nil }
        } else {
            let ends = before.isBlank || before == UInt8(ascii: "\n") || "=(>,[@".utf8.contains(before)
            let isEnd = after.isBlank || after.isLineEnd || ":,;)]<\"'=".utf8.contains(after)
            guard ends, isEnd, allowsBareNames || text.isComment(range.lowerBound) else { return nil }
            // Without quotes, as in a sentence, it is rather a file.
            let ending = String(decoding: bytes[range], as: UTF8.self).split(separator: ".").last ?? ""
            // mutant find-file-name: true by PinSearchTests/found
            guard !Self.fileEndings.contains(ending.lowercased()) else { return nil }
        }
        var name = String(decoding: bytes[range], as: UTF8.self)
        // The owner of a TLSA record.
        while name.hasPrefix("_"), let dot = name.firstIndex(of: ".") { name = String(name[name.index(after: dot)...]) }
        return Self.hostname(name, isURL: isURL, suffixes)
    }

    /// Whether names without quotes can be hosts, as they can in files that aren't programs.
    private var allowsBareNames: Bool {
        switch text.language {
        case .prose, .markup, .patch: true
        case .code: false
        case .script: !SearchedText.isScript(text.name)
        }
    }

    // MARK: - Names

    /// Endings of files that are also top-level domains, or that no top-level domain has.
    private static let fileEndings: Set<String> = [
        "sh", "md", "py", "rs", "so", "cc", "ps", "zip", "mov", "java", "kt", "swift", "js", "ts", "json", "xml",
        "plist", "pem", "cer", "crt", "der", "key", "csr", "html", "css", "yaml", "yml", "toml", "txt", "lock", "conf",
        "cfg",
    ]
    /// Top-level domains that the public suffix list doesn't have, and that are used inside of networks and examples.
    private static let specialDomains: Set<String> = [
        "test", "example", "invalid", "localhost", "local", "internal", "lan", "corp", "home", "intranet", "private",
    ]
    /// First labels of names of packages, which are hostnames in reverse.
    private static let reversedDomains: Set<String> = [
        "com", "org", "net", "edu", "gov", "io", "dev", "app", "co", "de", "uk", "me",
    ]

    /// Returns a name without its wildcard and final dot if it is a hostname, and not the name of a file or a package.
    static func hostname(_ text: String, isURL: Bool, _ suffixes: PublicSuffixes) -> String? {
        var name = text.lowercased()[...]
        for wildcard in ["**.", "*.", "."] where name.hasPrefix(wildcard) { name = name.dropFirst(wildcard.count) }
        if name.hasSuffix(".") { name = name.dropLast() }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let first = labels.first, let last = labels.last, last.utf8.count > 1,
            last.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }) || last.hasPrefix("xn--"),
            labels.allSatisfy({ label in
                !label.isEmpty && label.utf8.count <= 63 && !label.hasPrefix("-") && !label.hasSuffix("-")
                    && label.utf8.allSatisfy { $0.isWordByte && $0 != UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
            })
        else { return nil }
        if !isURL {
            guard labels.count > 2 || !fileEndings.contains(String(last)) else { return nil }
            let isReversed = reversedDomains.contains(String(first))
            guard !isReversed || ["com", "net", "org"].contains(last) && !["com", "net", "org"].contains(first) else {
                return nil
            }
        }
        guard let server = try? ServerName(String(name)), !server.isIPAddress else { return nil }
        guard specialDomains.contains(String(last)) || suffixes.registry(of: server) != nil else { return nil }
        return String(name)
    }
}
