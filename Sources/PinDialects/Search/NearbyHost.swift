import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The search for the host that a pin in a program or another text is for.
///
/// A host is only named if the structure of the text says that the pin is for it: it is in the line of the pin, or it
/// is that of an entry that encloses the pin, or the only one beside such an entry.
struct NearbyHost {
    let text: SearchedText
    let suffixes: PublicSuffixes
    /// The lines that have digests, whose hosts are for these.
    let taken: Set<Int>
    /// The positions at which the digests end, in order.
    private let ends: [Int]
    private var structure: TextStructure?
    /// The same with the comments read as text, for pins in comments.
    private var commented: TextStructure?
    /// Whether the lines of pins have a TLSA record.
    private var records: [Int: Bool] = [:]
    /// Whether the text has a setting for the names below a host.
    private lazy var namesSubdomains = text.bytes.hasAny(
        of: ["includesubdomains", "includessubdomains", "include_subdomains", "include-subdomains"], ignoringCase: true)
    /// Whether the text has owners of records, which are closer in meaning than other names.
    private(set) lazy var hasOwners = text.bytes.hasAny(of: ["._tcp", "._udp", "._sctp"])
    /// The hosts of pins in a line, and those of entries with what is beside them.
    private var known: [Bool: [Int: [HostPattern]]] = [:]
    private var knownAbove: [Bool: [Int: [HostPattern]]] = [:]

    init(text: SearchedText, suffixes: PublicSuffixes, shapes: [DigestShape]) {
        self.text = text
        self.suffixes = suffixes
        taken = Set(shapes.map { text.line(at: $0.range.lowerBound) })
        ends = shapes.map(\.range.upperBound)
    }

    /// The number of lines before and after a statement in which its host is looked for.
    static let reach = 10
    /// The number of other members of an object that are looked at.
    private static let mostMembers = 100
    /// The number of entries around a pin that are looked at.
    private static let mostParents = 60
    /// The part of a long line that is searched, in bytes on each side of a pin.
    static let lineReach = 400

    /// Returns the hosts of a pin: one in the same line, or that of the innermost entry around it that has one. Returns
    /// none if there are several, of which none is closer in meaning.
    mutating func hosts(ofPinAt range: Range<Int>) -> [HostPattern] {
        let line = text.line(at: range.lowerBound)
        let names = complete(names(ofPinAt: range, line), line)
        // mutant find-subdomains: false for `namesSubdomains && hasSubdomains(line)` by PinSearchTests/subdomains
        guard !names.isEmpty, namesSubdomains && hasSubdomains(line) else { return names }
        return names.map { $0.scope == .exact ? HostPattern($0.host, .exactAndBelow) : $0 }
    }

    private mutating func names(ofPinAt range: Range<Int>, _ line: Int) -> [HostPattern] {
        let whole = text.range(ofLine: line)
        let start = max(whole.lowerBound, range.lowerBound - Self.lineReach)
        let end = min(whole.upperBound, range.upperBound + Self.lineReach)
        // A comment is for the digest that follows it.
        let before = places(in: start..<range.lowerBound).filter { place in
            !text.isComment(place.range.lowerBound) || !hasDigest(in: place.range.upperBound..<range.lowerBound)
        }
        // mutant find-owner: before.last for `before.last(where: \.isOwner) ?? before.last` by PinSearchTests/records
        if let last = before.last(where: \.isOwner) ?? before.last {
            return isOneOfSeveral(last, among: before.dropLast()) ? [] : [pattern(last)]
        }
        // A record has its own host or none, whatever is around it.
        // mutant find-record-host: false by PinSearchTests/shapes
        if text.language == .zone || isPinRecord(line) { return [] }
        if let place = places(in: range.upperBound..<max(end, range.upperBound)).first { return [pattern(place)] }
        return hosts(aroundLine: line, readsComments: text.isComment(line: line))
    }

    private func hasDigest(in range: Range<Int>) -> Bool {
        let index = ends.firstIndex(notBefore: { $0 < range.lowerBound })
        // mutant find-inline-comments: false by PinSearchTests/surroundings
        return index < ends.count && ends[index] < range.upperBound
    }

    /// Whether a pin's line has a TLSA record. A long one may have many digests.
    private mutating func isPinRecord(_ line: Int) -> Bool {
        if let known = records[line] { return known }
        let isRecord = isRecord(line, of: ["TLSA", "tlsa"])
        records[line] = isRecord
        return isRecord
    }

    /// Returns the hosts of the entries around a line.
    private mutating func hosts(aroundLine line: Int, readsComments: Bool) -> [HostPattern] {
        if let found = known[readsComments]?[line] { return found }
        let structure = structure(readsComments: readsComments)
        guard let own = structure.index(ofLine: line) else { return [] }
        let found: [HostPattern]
        if let above = structure.entries[own].previous, structure.entries[above].line == line - 1,
            let same = known[readsComments]?[line - 1]
        {
            // The pins of a list are for the same hosts.
            found = same
        } else {
            found =
                (hasOwners ? owner(beside: own, in: structure).map { [$0] } : nil)
                ?? hosts(beside: own, in: structure)
                ?? hosts(enclosing: own, in: structure, readsComments: readsComments)
        }
        known[readsComments, default: [:]][line] = found
        return found
    }

    private mutating func hosts(
        enclosing own: Int, in structure: TextStructure, readsComments: Bool
    ) -> [HostPattern] {
        var index = own
        var passed: [Int] = []
        var found: [HostPattern] = []
        while passed.count < Self.mostParents, let parent = structure.entries[index].parent {
            if let same = knownAbove[readsComments]?[parent] {
                found = same
                break
            }
            passed.append(parent)
            index = parent
            let entry = structure.entries[parent]
            // What is known by its address has no name from elsewhere.
            // mutant find-address-item: false for `hasAddress(entry.line)` by PinSearchTests/surroundings
            if entry.isItem, hasAddress(entry.line) { break }
            if hasOwners, let owner = owner(beside: index, in: structure) {
                found = [owner]
                break
            }
            if !entry.isItem, let place = place(inLine: entry.line) {
                found = list(from: place, inLine: entry.line)
                break
            }
            if let beside = hosts(beside: parent, in: structure) {
                found = beside
                break
            }
        }
        for parent in passed { knownAbove[readsComments, default: [:]][parent] = found }
        return found
    }

    private func hasAddress(_ line: Int) -> Bool {
        let words = text.bytes[text.range(ofLine: line)].split {
            !$0.isWordByte && !".:".utf8.contains($0) || $0 == UInt8(ascii: "_")
        }
        return words.contains { word in
            word.count > 2 && word.contains(where: \.isDigit)
                && (try? ServerName(String(decoding: word, as: UTF8.self)))?.isIPAddress ?? false
        }
    }

    mutating func structure(readsComments: Bool) -> TextStructure {
        if let known = readsComments ? commented : structure { return known }
        let new = TextStructure(text, readsComments: readsComments)
        if readsComments { commented = new } else { structure = new }
        return new
    }

    // MARK: - Beside an entry

    /// Returns the hosts of what is beside an entry in the same one, first above it and then below it. Returns `nil` if
    /// there are none, and an empty list if there are several of which none is meant.
    private func hosts(beside own: Int, in structure: TextStructure) -> [HostPattern]? {
        let entries = structure.entries
        let line = entries[own].line
        let isMember =
            !text.isProgram && text.language != .prose && entries[own].parent != nil
            || SearchedText.fileExtension(text.name).hasPrefix("json") || beginsMember(line)
        for step in [\TextStructure.Entry.previous, \TextStructure.Entry.next] {
            let isBelow = step == \TextStructure.Entry.next
            var next = entries[own][keyPath: step]
            var (count, last, fences) = (0, line, 0)
            var found: [(place: Place, line: Int)] = []
            while let index = next, count < Self.mostMembers {
                let entry = entries[index]
                guard isMember || abs(entry.line - line) <= Self.reach else { break }
                // What is in another block of a document is about something else.
                if isFence(entry.line) { fences += 1 }
                // mutant find-fence: false by PinSearchTests/surroundings
                if fences > 1 { break }
                // A comment after a blank line begins another group.
                // mutant find-group: false for `beginsGroup(entry.line)` by PinSearchTests/surroundings
                if !isBelow, found.isEmpty, beginsGroup(entry.line) { return nil }
                if isBelow, !isMember, endsStatement(from: last, to: entry.line) { break }
                let isComment = text.isComment(line: entry.line)
                // The items and members beside an entry that enclose something have hosts of their own, and a comment
                // is for what follows it.
                // mutant find-other-entry: false by PinSearchTests/entries
                let isOther =
                    isComment
                    ? isBelow || entry.hasParts
                    : entry.isItem || entry.hasParts && text.language != .prose
                        || isMember && text.bytes[text.range(ofLine: entry.line)].contains(UInt8(ascii: "{"))
                let place = isOther ? nil : place(inLine: entry.line)
                if !found.isEmpty {
                    // The hosts of several values in a row.
                    let isNext = abs(entry.line - last) == 1 && isComment == text.isComment(line: last)
                    guard let place, isNext, !taken.contains(entry.line) else { break }
                    found.append((place, entry.line))
                } else if let place {
                    if isComment, namesSeveral(entry.line) { return [] }
                    found.append((place, entry.line))
                }
                (last, count, next) = (entry.line, count + 1, entry[keyPath: step])
            }
            if found.count > 1, found.allSatisfy({ isServerName($0.line) }) {
                return found.reversed().flatMap { list(from: $0.place, inLine: $0.line) }
            }
            if let first = found.first {
                return isOneOfSeveral(found) ? [] : list(from: first.place, inLine: first.line)
            }
        }
        return nil
    }

    /// Whether a line begins with a name in quotation marks, as a member of an object does in JSON and other languages.
    private func beginsMember(_ line: Int) -> Bool {
        text.bytes[text.range(ofLine: line)].first { !$0.isBlank }?.isQuote ?? false
    }

    /// Whether a line begins or ends a block of code in Markdown.
    private func isFence(_ line: Int) -> Bool {
        text.language == .prose
            && text.bytes[text.range(ofLine: line)].drop(while: \.isBlank).starts(with: "```".utf8)
    }

    /// Whether a comment without a host follows a blank line.
    private func beginsGroup(_ line: Int) -> Bool {
        line > 0 && text.isComment(line: line) && text.indentation(ofLine: line - 1) == nil
            && places(in: text.range(ofLine: line)).isEmpty
    }

    /// Whether a line has a name of a virtual host in Apache's configuration, which can have several.
    private func isServerName(_ line: Int) -> Bool {
        let word = text.bytes[text.range(ofLine: line)].drop(while: \.isBlank).prefix(while: \.isWordByte)
        // mutant find-server-alias: false by PinSearchTests/surroundings
        return ["servername", "serveralias"].contains(String(decoding: word, as: UTF8.self).lowercased())
    }

    /// Whether a blank line or the end of a block is between two lines.
    private func endsStatement(from line: Int, to other: Int) -> Bool {
        (line + 1..<max(line + 1, other)).contains { text.indentation(ofLine: $0) == nil }
            || text.bytes[text.range(ofLine: other)].drop(while: \.isBlank).first == UInt8(ascii: "}")
    }

    /// Whether the first of the hosts of several values in a row is one of several. A name such as `serverURL` makes it
    /// the one that is meant.
    private func isOneOfSeveral(_ places: [(place: Place, line: Int)]) -> Bool {
        guard let first = places.first, places.contains(where: { $0.place.host != first.place.host }) else {
            return false
        }
        // mutant find-urls: true by PinSearchTests/hosts
        guard namesServer(first.place, inLine: first.line) else { return true }
        // mutant find-servers: false by PinSearchTests/hosts
        return places.contains { $0.place.host != first.place.host && namesServer($0.place, inLine: $0.line) }
    }

    /// Whether the name of a value is one of those by which maps name hosts, such as `API_HOST` and `serverURL`.
    private func namesServer(_ place: Place, inLine line: Int) -> Bool {
        let left = text.bytes[text.range(ofLine: line)].prefix { !":=".utf8.contains($0) }
        let name = left.split { !$0.isWordByte && $0 != UInt8(ascii: "-") }.last ?? []
        return [name, text.name(before: place.range.lowerBound) ?? []].contains {
            PinMapReader.isHostKey(String(decoding: $0, as: UTF8.self)) || Self.namesHost($0)
        }
    }

    /// Whether a comment is a sentence with several hosts, rather than a list of them.
    private func namesSeveral(_ line: Int) -> Bool {
        let range = text.range(ofLine: line)
        guard let first = places(in: range).first else { return false }
        let names = list(from: first, inLine: line).map(\.host)
        return places(in: range).contains { !names.contains($0.host) }
    }

    /// Returns the names of a line that begin with a place and are listed one after another, as in
    /// `server_name a.example.com b.example.com;`.
    private func list(from first: Place, inLine line: Int) -> [HostPattern] {
        var names = [pattern(first)]
        var last = first
        for place in places(in: first.range.upperBound..<text.range(ofLine: line).upperBound) {
            let between = text.bytes[last.range.upperBound..<place.range.lowerBound]
            // mutant find-names: false by PinSearchTests/severalHosts
            guard between.allSatisfy({ $0.isBlank || $0.isQuote || $0 == UInt8(ascii: ",") }) else { break }
            if !names.contains(pattern(place)) { names.append(pattern(place)) }
            last = place
        }
        return names
    }

    /// Whether a host in the line of a pin is that of one of several URLs in the same brackets.
    private func isOneOfSeveral(_ place: Place, among others: ArraySlice<Place>) -> Bool {
        // mutant find-urls-inline: false for 2 by PinSearchTests/hosts
        guard let other = others.last, place.isURL, other.isURL, other.host != place.host else { return false }
        let between = text.bytes[other.range.upperBound..<place.range.lowerBound]
        return !between.contains { "{}[]()".utf8.contains($0) } && between.count < Self.lineReach
    }

    private func place(inLine line: Int) -> Place? {
        let range = text.range(ofLine: line)
        guard range.count <= 2 * Self.lineReach, !taken.contains(line), !PinWords(text.bytes[range]).contains(.report)
        else { return nil }
        // The names of a record aren't those of a pin beside it, but for the owner of a TLSA record.
        let isRecord = isRecord(line)
        // An address is that of the server of a command, which can have several lines.
        let isCommand =
            text.bytes[range].last == UInt8(ascii: "\\")
            || Array(text.bytes[range]).hasAny(of: ["discovery-token-ca-cert-hash"])
        return places(in: range).first { place in
            // mutant find-endpoint: false for `namesServer(place, inLine: line)` by PinSearchTests/surroundings
            (!place.isAddress || isCommand || place.isURL || namesServer(place, inLine: line))
                && (!isRecord || place.isOwner)
        }
    }

    /// Whether a line has a record of DNS.
    private func isRecord(_ line: Int, of types: [String] = recordTypes) -> Bool {
        let words = text.bytes[text.range(ofLine: line)].split { !$0.isWordByte }
        // mutant find-record-names: false by PinSearchTests/entries
        return words.contains { word in types.contains { word.elementsEqual($0.utf8) } }
    }

    private static let recordTypes = ["CAA", "SOA", "CNAME", "DNAME", "MX", "NS", "SRV", "PTR", "TXT", "TLSA"]
}
