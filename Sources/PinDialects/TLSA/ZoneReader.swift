import CertificatePinning
import PinctlBasics

/// A record of a zone file.
struct ZoneRecord {
    /// A word of the record's data.
    struct Word {
        let text: String
        let position: SourcePosition
    }

    /// The absolute owner name, without the final dot.
    let owner: String
    let position: SourcePosition
    let kind: ZoneRecordType.Kind
    let data: [Word]
    /// The name that the owner of a CNAME record is an alias of, absolute and in lower case.
    var target: String?
}

/// A parser of zone files (RFC 1035, section 5.1) that handles comments, parentheses, `$ORIGIN` and omitted owners.
///
/// A quoted string is one word; its contents aren't interpreted.
struct ZoneReader {
    private var cursor: TextCursor
    private var origin: String?
    private var owner: ZoneRecord.Word?
    /// The relative names of aliases in a zone that doesn't give the origin.
    private(set) var relativeAliases: [(name: String, position: SourcePosition)] = []

    init(_ cursor: TextCursor) { self.cursor = cursor }

    /// The words without which a text has no TLSA record.
    static let marks = ["tlsa", "type52", "._tcp"]
    private static let words = WordSearch(marks)

    /// Whether a line of a text begins as a TLSA record does: an owner or a blank, a lifetime and a class, the type,
    /// which may be misspelled, and the usage, which may be in a line of its own after a parenthesis.
    static func hasTLSARecord(_ bytes: [UInt8]) -> Bool {
        guard words.isIn(bytes) else { return false }
        let lines = bytes.split(whereSeparator: \.isLineEnd)
        return lines.indices.contains { index in
            let line = lines[index]
            guard var words = Self.typeAndData(of: line)?[...], let type = words.popFirst(),
                type.utf8.allSatisfy(\.isWordByte), type == "TYPE52" || suggestion(for: type, among: ["TLSA"]) != nil
            else { return false }
            var usage = words.first
            // mutant tlsa-lines: false for 2 by PinSearchTests/shapes
            if usage == nil, line.contains(UInt8(ascii: "(")) {
                usage = lines[(index + 1)...].prefix(longestBreak).lazy.compactMap { Self.words(of: $0).first }.first
            }
            return usage.map { $0.utf8.allSatisfy(\.isDigit) || $0 == "\\#" || $0.contains("-") } ?? false
        }
    }

    /// The number of lines with comments between a parenthesis and the data.
    private static let longestBreak = 20

    /// Returns the words of a line of a record in capitals, without a comment.
    private static func words(of line: ArraySlice<UInt8>) -> [String] {
        line.prefix { $0 != UInt8(ascii: ";") }.split(maxSplits: 6) { $0.isBlank || $0 == UInt8(ascii: "(") }
            .map { String(decoding: $0, as: UTF8.self).uppercased() }
    }

    /// Returns the type and what follows in a line, without the owner, the lifetime and the class.
    private static func typeAndData(of line: ArraySlice<UInt8>) -> [String]? {
        var words = words(of: line)[...]
        if line.first?.isBlank == false { words = words.dropFirst() }
        while let word = words.first, ["IN", "CH", "HS"].contains(word) || word.utf8.first?.isDigit == true {
            words = words.dropFirst()
        }
        return words.isEmpty ? nil : Array(words)
    }

    /// Whether a text is a zone with TLSA records, whatever its name: names of zones often end in a top-level domain,
    /// which may also be the extension of a document or a program, as in `db.example.org`.
    static func isZone(_ bytes: [UInt8], named name: String) -> Bool {
        guard mayBeZone(named: name) else { return false }
        let first = bytes.split(maxSplits: longestBreak, whereSeparator: \.isLineEnd).prefix(longestBreak).first {
            let first = $0.first { !$0.isBlank }
            return first != nil && first != UInt8(ascii: ";")
        }
        // A comment of another format can begin like a record, too.
        guard let first, let byte = first.first, !"#/<{[-".utf8.contains(byte) else { return false }
        if !first.starts(with: "$".utf8) {
            let type = typeAndData(of: first)?.first ?? ""
            // A sentence can begin like a record.
            guard ZoneRecordType.names.contains(type) || type == "TYPE52",
                words(of: first).contains("IN") || type == "TLSA" || type == "TYPE52"
            else { return false }
        } else if !["$ORIGIN", "$TTL", "$INCLUDE", "$GENERATE"].contains(words(of: first).first) {
            return false
        }
        return hasTLSARecord(bytes)
    }

    /// Whether a file may be a zone, judged by its name.
    static func mayBeZone(named name: String) -> Bool {
        [.script, .prose].contains(SearchedText.language(name)) || domains.contains(SearchedText.fileExtension(name))
    }

    /// Extensions of programs and documents that are top-level domains too.
    private static let domains: Set = ["org", "md", "rs", "pl", "py", "cc", "mm", "tf", "app", "dev", "me", "io", "sh"]

    /// Returns the TLSA and CNAME records, in order. Other types are irrelevant. A line that isn't a record, as name
    /// servers refuse it, is a problem.
    mutating func records(_ problems: inout PolicyProblems) -> [ZoneRecord] {
        var records: [ZoneRecord] = []
        while cursor.byte != nil {
            let startsBlank = cursor.byte.map(\.isBlank) ?? false
            guard let line = line(&problems), let first = line.first else { continue }
            if first.text.hasPrefix("$"), !startsBlank {
                directive(line, &problems)
                continue
            }
            var words = line[...]
            if !startsBlank { owner = words.removeFirst() }
            let other = takeTimeAndClass(&words)
            guard let word = words.popFirst() else {
                problems.add("the line has no record type: complete it or remove it", at: first.position)
                continue
            }
            guard let type = ZoneRecordType(word.text) else {
                problems.add(Self.unknown(word, in: line, startsBlank: startsBlank), at: word.position)
                continue
            }
            guard let kind = type.kind else { continue }
            if let other {
                problems.add("clients look for records of class IN, not \(other.text): write IN", at: other.position)
            }
            guard let owner else {
                if startsBlank { problems.add("the record has no owner: write its name in front", at: word.position) }
                continue
            }
            let position = startsBlank ? word.position : first.position
            guard let name = resolved(owner.text) else {
                // Only TLSA records and the names that lead to them need their names.
                // mutant tlsa-relative: true for `kind == .tlsa || owner.text.hasPrefix("_")` by TLSATests/origins
                if kind == .tlsa || owner.text.hasPrefix("_") {
                    problems.add(Self.relative(owner.text), at: owner.position)
                    records.append(ZoneRecord(owner: owner.text, position: position, kind: kind, data: Array(words)))
                } else {
                    relativeAliases.append((owner.text, owner.position))
                }
                continue
            }
            var record = ZoneRecord(owner: name, position: position, kind: kind, data: Array(words))
            if kind == .alias, let word = words.first { record.target = resolved(word.text)?.lowercased() }
            records.append(record)
        }
        return records
    }

    /// Consumes a time to live and a class, each at most once and in either order. Returns the class unless it is IN.
    private func takeTimeAndClass(_ words: inout ArraySlice<ZoneRecord.Word>) -> ZoneRecord.Word? {
        var (hasTime, hasClass) = (false, false)
        var other: ZoneRecord.Word?
        while let word = words.first {
            if !hasTime, Self.isTime(word.text) {
                hasTime = true
            } else if !hasClass, let number = Self.classNumber(word.text) {
                hasClass = true
                // mutant tlsa-class: false by TLSATests/rejected
                if number != 1 { other = word }
            } else {
                break
            }
            words.removeFirst()
        }
        return other
    }

    /// Returns whether a word is a time to live: seconds, or numbers with units such as `1h30m`.
    private static func isTime(_ text: String) -> Bool {
        var rest = text.lowercased().utf8[...]
        var count = 0
        while let first = rest.first, first.isDigit {
            rest = rest.drop(while: \.isDigit)
            count += 1
            guard let unit = rest.first else { return count == 1 }
            guard "smhdw".utf8.contains(unit) else { return false }
            rest = rest.dropFirst()
        }
        return rest.isEmpty && count > 0
    }

    private static func classNumber(_ text: String) -> Int? {
        let name = text.uppercased()
        if let number = ["IN": 1, "CS": 2, "CH": 3, "HS": 4][name] { return number }
        return name.hasPrefix("CLASS") ? ZoneRecordType.number(name.dropFirst("CLASS".count)) : nil
    }

    private static func unknown(_ word: ZoneRecord.Word, in line: [ZoneRecord.Word], startsBlank: Bool) -> String {
        let isOwner = startsBlank && word.text == line.first?.text && word.text.contains(".")
        guard !isOwner else {
            return "the line begins with a blank, so \(quoted(word.text)) is read as a record type: write it at the "
                + "beginning of the line"
        }
        let meant = suggestion(for: word.text, among: ZoneRecordType.names)
        return "unknown record type \(quoted(word.text)): "
            + (meant.map { "did you mean \($0)?" } ?? "correct it or remove the line")
    }

    private mutating func directive(_ line: [ZoneRecord.Word], _ problems: inout PolicyProblems) {
        switch line[0].text.uppercased() {
        case "$ORIGIN" where line.count == 2:
            origin = resolved(line[1].text)
            if origin == nil { problems.add(Self.relative(line[1].text), at: line[1].position) }
        case "$TTL": break
        default:
            problems.add(
                "unsupported directive \(quoted(line[0].text)): write the records themselves", at: line[0].position)
        }
    }

    private static func relative(_ name: String) -> String {
        "\(quoted(name)) is relative, but the zone has no $ORIGIN: end it with a dot, or write $ORIGIN first"
    }

    /// Returns the absolute form of a name, or `nil` if the name is relative and the file doesn't give the origin.
    private func resolved(_ name: String) -> String? {
        if name.hasSuffix(".") { return String(name.dropLast()) }
        return origin.map { name == "@" ? $0 : "\(name).\($0)" }
    }

    /// Returns the words of a line, which parentheses may extend over several lines, or `nil` at the end of the text.
    private mutating func line(_ problems: inout PolicyProblems) -> [ZoneRecord.Word]? {
        var words: [ZoneRecord.Word] = []
        var open: SourcePosition?
        while let byte = cursor.byte {
            switch byte {
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                cursor.step()
                if open == nil { return words }
            case UInt8(ascii: " "), UInt8(ascii: "\t"): cursor.step()
            case UInt8(ascii: ";"): _ = cursor.take { !$0.isLineEnd }
            case UInt8(ascii: "("):
                open = cursor.position
                cursor.step()
            case UInt8(ascii: ")"):
                if open == nil { problems.add("unmatched closing parenthesis: remove it", at: cursor.position) }
                open = nil
                cursor.step()
            case UInt8(ascii: "\""):
                let position = cursor.position
                cursor.step()
                let text = cursor.take { $0 != UInt8(ascii: "\"") && !$0.isLineEnd }
                _ = cursor.take("\"")
                words.append(ZoneRecord.Word(text: String(decoding: text, as: UTF8.self), position: position))
            default:
                let position = cursor.position
                let text = cursor.take { !$0.isBlank && !$0.isLineEnd && !"();\"".utf8.contains($0) }
                words.append(ZoneRecord.Word(text: String(decoding: text, as: UTF8.self), position: position))
            }
        }
        if let open { problems.add("unclosed parenthesis: close it", at: open) }
        return words.isEmpty ? nil : words
    }
}
