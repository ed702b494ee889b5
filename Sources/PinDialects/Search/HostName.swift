import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The hostnames in a text.
extension NearbyHost {
    /// A hostname in a text.
    struct Place {
        let host: String
        let range: Range<Int>
        let isURL: Bool
        /// Whether it is the address of a server, which is only named for pins in the same line.
        let isAddress: Bool
        /// Whether it is the owner of a record for a service, such as `_443._tcp.www`, which may be relative to a zone.
        /// The host is the whole name then.
        let isOwner: Bool
    }

    /// Returns the names that a place in a text stands for.
    func pattern(_ place: Place) -> HostPattern {
        if place.isOwner { return HostPattern(place.host, .exact) }
        let name = String(decoding: text.bytes[place.range], as: UTF8.self)
        let hasAllBelow = name.hasPrefix("**.") || name.hasPrefix(".")
        return HostPattern(place.host, hasAllBelow ? .exactAndBelow : name.hasPrefix("*.") ? .oneLabelBelow : .exact)
    }

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
            let (range, isURL) = (start..<index, isURL(start))
            if text.language != .zone, RecordOwner.isOwner(text.bytes[range]) {
                let owner = String(decoding: text.bytes[range], as: UTF8.self)
                hosts.append(Place(host: owner, range: range, isURL: false, isAddress: false, isOwner: true))
            } else if let host = host(range) {
                hosts.append(Place(host: host, range: range, isURL: isURL, isAddress: false, isOwner: false))
            } else if let address = address(range) {
                hosts.append(Place(host: address, range: range, isURL: isURL, isAddress: true, isOwner: false))
            }
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
            guard !text.isComment(range.lowerBound) || text.language == .prose, !isDocumentation(range), !isLink(range),
                !isReport(range), !isCertificateFile(range)
            else { return nil }
        } else if quotes.contains(before) {
            guard after == before || after == UInt8(ascii: ":") || after == UInt8(ascii: "\\") else { return nil }
        } else {
            let ends = before.isBlank || before == UInt8(ascii: "\n") || "=(>,[@".utf8.contains(before)
            let isEnd = after.isBlank || after.isLineEnd || ":,;)]<\"'=".utf8.contains(after)
            // The content of an element, as in a configuration in a program's text.
            // mutant find-element: false by PinSearchTests/surroundings
            let isElement = before == UInt8(ascii: ">") && after == UInt8(ascii: "<")
            guard ends, isEnd, isElement || allowsBareNames || text.isComment(range.lowerBound),
                !isPartOfName(range.lowerBound)
            else { return nil }
            // An address of mail, or a user of a proxy.
            // mutant find-author: false for 1 by PinSearchTests/hosts
            if before == UInt8(ascii: "@"), !isInURL(range.lowerBound) { return nil }
            // mutant find-ca-name: false for `isPartOfCAName(range)` by PinSearchTests/surroundings
            if isPartOfCAName(range) { return nil }
            // Without quotes, as in a sentence, it is rather a file.
            let ending = String(decoding: bytes[range], as: UTF8.self).split(separator: ".").last ?? ""
            // mutant find-file-name: true by PinSearchTests/found
            guard !Self.fileEndings.contains(ending.lowercased()) else { return nil }
        }
        // mutant find-option: false by PinSearchTests/surroundings
        if isValueOfOption(range.lowerBound) { return nil }
        var name = String(decoding: bytes[range], as: UTF8.self)
        // A name in a zone is below the zone's own name, unless it ends with a dot.
        // mutant find-relative: false for 1 by PinSearchTests/shapes
        if text.language == .zone, !name.hasSuffix(".") { return nil }
        // The owner of a TLSA record.
        while name.hasPrefix("_"), let dot = name.firstIndex(of: ".") { name = String(name[name.index(after: dot)...]) }
        let key = isURL ? [] : text.name(before: range.lowerBound) ?? []
        let words = Set(PinWords.words(key))
        // The name of an app's package, and the server that a report about pins is from.
        // mutant find-package: false by PinSearchTests/hosts
        guard words.isDisjoint(with: Self.packageWords) || words.isSuperset(of: ["proxy", "server"]) else { return nil }
        return Self.hostname(name, isURL: isURL, isNamed: Self.namesHost(key), suffixes)
    }

    /// The words of names of values that have the form of hosts and aren't hosts of pins.
    private static let packageWords: Set<String> = [
        "package", "bundle", "application", "namespace", "import", "class", "activity", "component", "noted", "user",
        "username", "login", "email", "author", "proxy", "realm", "authgroup", "referer", "referrer", "local",
    ]

    /// Whether a name says that its value is a host.
    static func namesHost(_ name: ArraySlice<UInt8>) -> Bool {
        !Set(PinWords.words(name)).isDisjoint(with: hostWords)
    }

    private static let hostWords: Set<String> = ["host", "hostname", "domain", "url", "server", "endpoint", "auth"]

    /// Whether a name is the value of an option of a command that isn't its server: `-u joe@example.com`,
    /// `-x proxy:3128`, `--proxy=…` and `--referer=…`.
    private func isValueOfOption(_ start: Int) -> Bool {
        let bytes = text.bytes
        var word = start
        while word > 0, start - word < 80, !bytes[word - 1].isBlank, !bytes[word - 1].isLineEnd { word -= 1 }
        let before = bytes[..<word].suffix(4)
        if before.count == 4, before.first?.isBlank ?? false, before.last?.isBlank ?? false,
            before.dropFirst().first == UInt8(ascii: "-"), "uxedAbgsoU".utf8.contains(before[before.startIndex + 2])
        {
            return true
        }
        let option = bytes[word..<start].prefix { $0 != UInt8(ascii: "=") }
        return option.starts(with: "--".utf8) && !Self.packageWords.isDisjoint(with: PinWords.words(option))
    }

    /// Whether a position is in a URL after its user.
    private func isInURL(_ start: Int) -> Bool {
        let word = text.bytes[..<start].suffix(80).reversed().prefix { !$0.isBlank && !$0.isLineEnd && !$0.isQuote }
        return Array(word.reversed()).hasAny(of: ["://"])
    }

    /// Whether a URL is a link of a document, which leads to something else.
    private func isLink(_ range: Range<Int>) -> Bool {
        let before = text.bytes[..<range.lowerBound].suffix(16)
        let scheme = before.lastIndex(of: UInt8(ascii: ":")).map { before[..<$0] } ?? before
        let rest = scheme.reversed().drop { $0.isWordByte }
        // mutant find-link: false by PinSearchTests/shapes
        return text.language == .prose && ["(]", "<"].contains { rest.starts(with: $0.utf8) }
            || rest.starts(with: "\"=ferh".utf8)
    }

    /// Whether a URL is that for reports about pins.
    private func isReport(_ range: Range<Int>) -> Bool {
        let name = text.bytes[..<range.lowerBound].suffix(Self.schemeReach)
        // mutant find-report: false by PinSearchTests/surroundings
        return PinWords(name).contains(.report)
    }

    /// The bytes of a scheme and of the name before it.
    private static let schemeReach = 28

    /// Whether a URL is that of a certificate.
    private func isCertificateFile(_ range: Range<Int>) -> Bool {
        let path = text.bytes[range.upperBound...].prefix(120).prefix { !$0.isBlank && !$0.isQuote && !$0.isLineEnd }
        let ending = String(decoding: path.suffix(4), as: UTF8.self).lowercased()
        // mutant find-certificate-url: false by PinSearchTests/surroundings
        return path.contains(UInt8(ascii: "/")) && [".crt", ".pem", ".cer", ".der"].contains(ending)
    }

    /// Whether a word in a comment is the beginning of a CA's name, as in `// SSL.com TLS ECC Root CA 2022`.
    private func isPartOfCAName(_ range: Range<Int>) -> Bool {
        guard text.isComment(range.lowerBound) || text.language == .prose || text.language == .patch else {
            return false
        }
        let rest = text.bytes[range.upperBound...].prefix(60).prefix { !$0.isLineEnd }
        guard let next = rest.first(where: { !$0.isBlank }), next.isWordByte, rest.first?.isBlank ?? false else {
            return false
        }
        return !Set(PinWords.words(rest)).isDisjoint(with: ["root", "ca"])
    }

    /// Returns the address of a server that is written with a port or in a URL, so that it isn't a version.
    private func address(_ range: Range<Int>) -> String? {
        let rest = text.bytes[range.upperBound...].prefix(2)
        let hasPort = rest.first == UInt8(ascii: ":") && rest.last.map { "0123456789".utf8.contains($0) } ?? false
        guard range.count <= 15,
            hasPort || isURL(range.lowerBound) || Self.namesHost(text.name(before: range.lowerBound) ?? []),
            let name = try? ServerName(String(decoding: text.bytes[range], as: UTF8.self)), name.isIPAddress
        else { return nil }
        return name.description
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
        case .code, .dashes: false
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
    /// First labels of names of packages, which are hostnames in reverse: those that hosts hardly begin with, and those
    /// that some hosts begin with, too.
    private static let reversedDomains: Set<String> = ["com", "org", "net", "edu", "gov"]
    private static let ambiguousDomains: Set<String> = ["io", "co", "de", "uk"]
    /// Country codes that are also words at the end of names of packages.
    private static let shortWords: Set<String> = ["io", "id", "tv", "ws", "ai", "me", "im"]

    /// Whether a name is rather that of a package. Both can be read as names of hosts in one direction, so the usual
    /// ends decide.
    private static func isPackage(_ labels: [Substring], suffix: String) -> Bool {
        let (first, last) = (labels.first.map(String.init) ?? "", labels.last.map(String.init) ?? "")
        let isDomain = ["com", "net", "org"].contains(last)
        if suffix.contains(".") { return false }
        if reversedDomains.contains(first) {
            let isOwn = isDomain && ["edu", "gov"].contains(first)
            return !isOwn && (last.utf8.count > 2 || shortWords.contains(last))
        }
        // mutant find-reversed: false by PinSearchTests/hostnames
        return ambiguousDomains.contains(first) && !isDomain && last.utf8.count > 2
    }

    /// Returns a name without its wildcard and final dot if it is a hostname, and not the name of a file or a package.
    /// `isNamed` is whether it is the value of a setting for a host.
    static func hostname(
        _ text: String, isURL: Bool, isNamed: Bool = false, _ suffixes: PublicSuffixes
    ) -> String? {
        var name = text.lowercased()[...]
        for wildcard in ["**.", "*.", "."] where name.hasPrefix(wildcard) { name = name.dropFirst(wildcard.count) }
        if name.hasSuffix(".") { name = name.dropLast() }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count > 1, let last = labels.last, last.utf8.count > 1,
            last.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }) || last.hasPrefix("xn--"),
            labels.allSatisfy({ label in
                !label.isEmpty && label.utf8.count <= 63 && !label.hasPrefix("-") && !label.hasSuffix("-")
                    && label.utf8.allSatisfy { $0.isWordByte && $0 != UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
            })
        else { return nil }
        guard isURL || labels.count > 2 || !fileEndings.contains(String(last)) else { return nil }
        guard let server = try? ServerName(String(name)), !server.isIPAddress else { return nil }
        let suffix = specialDomains.contains(String(last)) ? String(last) : suffixes.registry(of: server)
        guard let suffix, isURL || isNamed || !isPackage(labels, suffix: suffix) else { return nil }
        return String(name)
    }
}
