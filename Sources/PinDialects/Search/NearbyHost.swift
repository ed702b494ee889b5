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

    /// Returns the hosts of a pin: one in the same line, or the nearest ones above it that aren't inside of something
    /// else, or those below it in the same group. Returns none if there are several URLs, of which none is closer in
    /// meaning.
    mutating func hosts(ofPinAt range: Range<Int>) -> [String] {
        let line = text.line(at: range.lowerBound)
        let whole = text.range(ofLine: line)
        let start = max(whole.lowerBound, range.lowerBound - Self.lineReach)
        let end = min(whole.upperBound, range.upperBound + Self.lineReach)
        let before = places(in: start..<range.lowerBound)
        if let last = before.last {
            return isOneOfSeveral(last, among: before.dropLast()) ? [] : [last.host]
        }
        // A record has its own host or none, whatever is around it.
        // mutant find-record-host: false by PinSearchTests/shapes
        if text.language == .zone { return [] }
        if let place = places(in: range.upperBound..<max(end, range.upperBound)).first { return [place.host] }
        var least = text.indentation(ofLine: line) ?? 0
        for above in stride(from: line - 1, through: max(0, line - PinContext.enclosingLines), by: -1) {
            guard let indentation = text.indentation(ofLine: above), indentation <= least else { continue }
            if indentation == least, line - above > Self.reach || opensGroup(above) { continue }
            // What is enclosed by a line further out belongs to something else.
            least = indentation
            if let place = place(inLine: above) {
                return isOneOfSeveral(place, inLine: above, of: line, by: -1) ? [] : list(from: place, inLine: above)
            }
            if least == 0, line - above > Self.reach { break }
        }
        for below in line + 1..<max(line + 1, min(line + Self.reach, text.lineStarts.count)) {
            guard let indentation = text.indentation(ofLine: below), indentation <= text.indentation(ofLine: line) ?? 0,
                !text.bytes[text.range(ofLine: below)].drop(while: \.isBlank).starts(with: [UInt8(ascii: "}")])
            else {
                if text.indentation(ofLine: below) ?? 0 > text.indentation(ofLine: line) ?? 0 { continue }
                break
            }
            if let place = place(inLine: below) {
                return isOneOfSeveral(place, inLine: below, of: line, by: 1) ? [] : list(from: place, inLine: below)
            }
        }
        return []
    }

    /// Returns the names of a line that begin with a place and are listed one after another, as in
    /// `server_name a.example.com b.example.com;`.
    private func list(from first: Place, inLine line: Int) -> [String] {
        var names = [first.host]
        var last = first
        for place in places(in: first.range.upperBound..<text.range(ofLine: line).upperBound) {
            let between = text.bytes[last.range.upperBound..<place.range.lowerBound]
            // mutant find-names: false by PinSearchTests/severalHosts
            guard between.allSatisfy({ $0.isBlank || $0.isQuote || $0 == UInt8(ascii: ",") }) else { break }
            if !names.contains(place.host) { names.append(place.host) }
            last = place
        }
        return names
    }

    // MARK: - Several URLs

    /// Whether a host in the line of a pin is that of one of several URLs in the same brackets.
    private func isOneOfSeveral(_ place: Place, among others: ArraySlice<Place>) -> Bool {
        // mutant find-urls-inline: false for 2 by PinSearchTests/hosts
        guard let other = others.last, place.isURL, other.isURL, other.host != place.host else { return false }
        let between = text.bytes[other.range.upperBound..<place.range.lowerBound]
        return !between.contains { "{}[]()".utf8.contains($0) } && between.count < Self.lineReach
    }

    /// Whether the host in a line beside a pin is that of one of several URLs, each in a line of its own. A name such
    /// as `serverURL` makes it the one that is meant.
    private mutating func isOneOfSeveral(_ place: Place, inLine line: Int, of pin: Int, by step: Int) -> Bool {
        let own = text.indentation(ofLine: line)
        guard place.isURL, !opensGroup(line), !namesServer(line) else { return false }
        var other = line + step
        while text.lineStarts.indices.contains(other), abs(other - pin) <= Self.reach,
            text.indentation(ofLine: other) == own, !taken.contains(other)
        {
            // mutant find-urls: false for 2 by PinSearchTests/hosts
            if let next = self.place(inLine: other), next.isURL, next.host != place.host { return true }
            other += step
        }
        return false
    }

    /// Whether the name of a value is one of those by which maps name hosts.
    private func namesServer(_ line: Int) -> Bool {
        let name =
            text.bytes[text.range(ofLine: line)].prefix { !":=".utf8.contains($0) }
            .split { !$0.isWordByte && $0 != UInt8(ascii: "-") }.last ?? []
        return PinMapReader.isHostKey(String(decoding: name, as: UTF8.self))
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

    private func place(inLine line: Int) -> Place? {
        let range = text.range(ofLine: line)
        guard range.count <= 2 * Self.lineReach, !taken.contains(line), !PinWords(text.bytes[range]).contains(.report)
        else { return nil }
        return places(in: range).first
    }

    /// A hostname in a text.
    typealias Place = (host: String, range: Range<Int>, isURL: Bool)

    /// Returns the hostnames in a part of a line with their positions.
    func places(in range: Range<Int>) -> [Place] {
        var hosts: [Place] = []
        var index = range.lowerBound
        while index < range.upperBound {
            guard Self.isPart(text.bytes[index]) else {
                index += 1
                continue
            }
            let start = index
            while index < range.upperBound, Self.isPart(text.bytes[index]) { index += 1 }
            if let host = host(start..<index) { hosts.append((host, start..<index, isURL(start))) }
        }
        return hosts
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        byte.isWordByte && byte < 0x80 || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: "*")
    }

    private func isURL(_ start: Int) -> Bool { text.bytes[..<start].suffix(3).elementsEqual("://".utf8) }

    /// Returns the hostname that a word is, judged by its form and by what is around it.
    private func host(_ range: Range<Int>) -> String? {
        let bytes = text.bytes
        guard bytes[range].contains(UInt8(ascii: ".")), range.count <= 253 else { return nil }
        let before = range.lowerBound > 0 ? bytes[range.lowerBound - 1] : UInt8(ascii: " ")
        let after = range.upperBound < bytes.count ? bytes[range.upperBound] : UInt8(ascii: " ")
        let isURL = isURL(range.lowerBound)
        let quotes: [UInt8] = [UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`")]
        if isURL {
            // A link in a comment leads to an explanation.
            guard !text.isComment(range.lowerBound) || text.language == .prose, !isDocumentation(range) else {
                return nil
            }
        } else if quotes.contains(before) {
            guard after == before || after == UInt8(ascii: ":") || after == UInt8(ascii: "\\") else { return nil }
        } else {
            let ends = before.isBlank || before == UInt8(ascii: "\n") || "=(>,[@".utf8.contains(before)
            let isEnd = after.isBlank || after.isLineEnd || ":,;)]<\"'=".utf8.contains(after)
            guard ends, isEnd, allowsBareNames || text.isComment(range.lowerBound), !isPartOfName(range.lowerBound)
            else { return nil }
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

    /// Whether a URL leads to an explanation, judged by its host and by the first directory of its path.
    private func isDocumentation(_ range: Range<Int>) -> Bool {
        let name = String(decoding: text.bytes[range], as: UTF8.self).lowercased()
        let path = text.bytes[range.upperBound...].prefix(40).prefix { !$0.isBlank && !$0.isQuote && !$0.isLineEnd }
        let parts = path.drop { $0 != UInt8(ascii: "/") }.split(separator: UInt8(ascii: "/"))
        let directory = parts.first.map { String(decoding: $0, as: UTF8.self).lowercased() } ?? ""
        // mutant find-documentation: false by PinSearchTests/hosts
        return Self.explanations.contains(directory)
            || path.first == UInt8(ascii: "/") && parts.count > 0
                && (Self.explanations.contains(name.split(separator: ".").first.map(String.init) ?? "")
                    || Self.libraries.contains { name == $0 || name.hasSuffix(".\($0)") })
    }

    /// Directories and first labels of hosts with documentation.
    private static let explanations: Set<String> = [
        "doc", "docs", "documentation", "wiki", "blog", "guide", "guides", "help", "manual", "reference", "developer",
        "developers", "rfc",
    ]
    /// Hosts with explanations and sources of programs.
    private static let libraries = [
        "github.com", "gitlab.com", "stackoverflow.com", "wikipedia.org", "ietf.org", "rfc-editor.org", "medium.com",
        "npmjs.com", "pub.dev",
    ]

    /// Whether a word is a part of a certificate's name that isn't a hostname, such as that of an organization:
    /// `OU=www.example.com`.
    private func isPartOfName(_ start: Int) -> Bool {
        let before = text.bytes[..<start].suffix(12).reversed().drop(while: \.isBlank)
        // mutant find-subject-host: false by PinSearchTests/hosts
        guard before.first == UInt8(ascii: "=") else { return false }
        let type = before.dropFirst().drop(while: \.isBlank).prefix(while: \.isWordByte).reversed()
        return ["OU", "O", "L", "ST", "DC", "STREET", "E"].contains(String(decoding: type, as: UTF8.self).uppercased())
    }

    /// Whether names without quotes can be hosts, as they can in files that aren't programs.
    private var allowsBareNames: Bool {
        switch text.language {
        case .prose, .markup, .patch, .zone: true
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
