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
    /// The record type, in upper case.
    let type: String
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
    private var owner: String?

    init(_ cursor: TextCursor) { self.cursor = cursor }

    /// Returns the records of the given types, in order. A type may be given by name or number.
    mutating func records(ofType types: Set<String>, _ problems: inout PolicyProblems) -> [ZoneRecord] {
        var records: [ZoneRecord] = []
        while cursor.byte != nil {
            let startsBlank = cursor.byte.map(\.isBlank) ?? false
            guard let line = line(&problems), let first = line.first else { continue }
            if first.text.hasPrefix("$") {
                directive(line, &problems)
                continue
            }
            var words = line[...]
            if !startsBlank {
                owner = absolute(words.removeFirst(), &problems)
            }
            // Skip a time to live and a class, in either order.
            while let word = words.first, Self.isTimeOrClass(word.text) { words.removeFirst() }
            guard let type = words.popFirst(), types.contains(type.text.uppercased()) else { continue }
            guard let owner else {
                if startsBlank { problems.add("the record has no owner: write its name in front", at: type.position) }
                continue
            }
            var record = ZoneRecord(
                owner: owner, position: startsBlank ? type.position : first.position, type: type.text.uppercased(),
                data: Array(words))
            if record.type == "CNAME", let word = words.first { record.target = resolved(word.text)?.lowercased() }
            records.append(record)
        }
        return records
    }

    private static func isTimeOrClass(_ text: String) -> Bool {
        ["IN", "CH", "HS"].contains(text.uppercased())
            || text.utf8.first.map(\.isDigit) == true
                && text.utf8.allSatisfy { $0.isDigit || "smhdwSMHDW".utf8.contains($0) }
    }

    private mutating func directive(_ line: [ZoneRecord.Word], _ problems: inout PolicyProblems) {
        switch line[0].text.uppercased() {
        case "$ORIGIN" where line.count == 2: origin = absolute(line[1], &problems)
        case "$TTL": break
        default:
            problems.add(
                "unsupported directive \(quoted(line[0].text)): write the records themselves", at: line[0].position)
        }
    }

    /// Returns the absolute form of a name. Reports a problem and returns `nil` if the name is relative and the file
    /// doesn't give the origin.
    private func absolute(_ word: ZoneRecord.Word, _ problems: inout PolicyProblems) -> String? {
        let name = resolved(word.text)
        if name == nil {
            problems.add(
                "\(quoted(word.text)) is relative, but the zone has no $ORIGIN: end it with a dot, or write $ORIGIN "
                    + "first",
                at: word.position)
        }
        return name
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
