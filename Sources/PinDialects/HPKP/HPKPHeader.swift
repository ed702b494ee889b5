import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A header field Public-Key-Pins or Public-Key-Pins-Report-Only (RFC 7469, section 2.1), parsed into its directives.
struct HPKPHeader {
    var isReportOnly: Bool
    var pins: [CanonicalPin] = []
    /// The number of seconds for which a client keeps the pins.
    var maxAge: Int64?
    var includesSubdomains = false
    var reportURI: String?
    /// The parts of the header that clients ignore.
    var passedOver: [(message: String, direction: SecurityDirection, position: SourcePosition, rule: LintRule?)] = []

    /// The largest max-age in seconds. Larger values are reduced to it, since a number that overflows means the largest
    /// (RFC 9111, section 1.2.2).
    static let longestAge: Int64 = 1 << 31

    private static let directives = ["pin-sha256", "max-age", "includeSubDomains", "report-uri"]

    private enum Value: Equatable {
        case token(String)
        case quoted(String)
    }

    /// Parses the value of a field up to the end of the line, and adds its problems to `problems`.
    init(_ cursor: inout TextCursor, isReportOnly: Bool, problems: inout PolicyProblems) {
        self.isReportOnly = isReportOnly
        let start = cursor.position
        var names: Set<String> = []
        while let byte = cursor.byte, !byte.isLineEnd {
            if byte.isBlank || byte == UInt8(ascii: ";") {
                cursor.step()
            } else {
                directive(&cursor, &names, &problems)
            }
        }
        if pins.isEmpty, maxAge != 0 || isReportOnly {
            problems.add("the header has no pin: add pin-sha256=\"…\"", at: start)
        } else if !isReportOnly, maxAge != 0, Set(pins).count < 2 {
            problems.add("clients ignore a header without a backup pin: add the pin of a second key", at: start)
        }
        if isReportOnly, reportURI == nil {
            let message = "clients ignore a report-only header without a report-uri: add report-uri=\"https://…\""
            passedOver.append((message, .unchanged, start, .pinsNothing))
        }
        if !isReportOnly, maxAge == nil {
            problems.add("the header has no max-age: add max-age=5184000 for 60 days", at: start)
        }
    }

    /// Returns whether a client that receives the header over this chain stores the pins: at least one pin matches a
    /// key, and at least one other, the backup, matches none (RFC 7469, section 2.5).
    func isNoted(on keys: [[UInt8]]) -> Bool {
        pins.contains { keys.contains($0.value) } && pins.contains { !keys.contains($0.value) }
    }
}

extension HPKPHeader {
    private mutating func directive(
        _ cursor: inout TextCursor, _ names: inout Set<String>, _ problems: inout PolicyProblems
    ) {
        let position = cursor.position
        let spelling = String(decoding: cursor.take(while: Self.isTokenByte), as: UTF8.self)
        let name = spelling.lowercased()
        _ = cursor.take(while: \.isBlank)
        var value: Value?
        var isWhole = !name.isEmpty
        if isWhole, cursor.take("=") {
            _ = cursor.take(while: \.isBlank)
            value = Self.value(&cursor)
            isWhole = value != nil
        }
        _ = cursor.take(while: \.isBlank)
        guard isWhole, cursor.byte.map({ $0.isLineEnd || $0 == UInt8(ascii: ";") }) ?? true else {
            problems.add(
                "malformed directive: write name, name=token or name=\"text\" and a semicolon", at: cursor.position)
            _ = cursor.take { !$0.isLineEnd && $0 != UInt8(ascii: ";") }
            return
        }
        if !name.hasPrefix("pin-"), !names.insert(name).inserted {
            problems.add("duplicate directive \(quoted(spelling)): remove one", at: position)
            return
        }
        if let problem = take(name, spelling, value, position) { problems.add(problem, at: position) }
    }

    /// Applies a directive, or returns a description of the problem with it.
    private mutating func take(
        _ name: String, _ spelling: String, _ value: Value?, _ position: SourcePosition
    ) -> String? {
        switch name {
        case "pin-sha256":
            guard case .quoted(let text)? = value, let bytes = Base64.decodeCanonical(Array(text.utf8)),
                bytes.count == 32
            else { return "invalid pin: write pin-sha256=\"…\" with the base64 of 32 bytes, in quotes" }
            pins.append(CanonicalPin(.publicKey, .sha256, bytes))
        case "max-age":
            let text: String
            switch value {
            case .token(let value), .quoted(let value): text = value
            case nil: text = ""
            }
            guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else {
                return "invalid max-age: write max-age= and a number of seconds"
            }
            maxAge = min(Int64(text) ?? Self.longestAge, Self.longestAge)
        case "includesubdomains":
            guard value == nil else { return "\(quoted(spelling)) takes no value: remove it" }
            includesSubdomains = true
        case "report-uri":
            guard case .quoted(let text)? = value, Self.isAbsolute(text) else {
                return "invalid report-uri: write report-uri=\"https://…\", in quotes"
            }
            reportURI = text
        case _ where name.hasPrefix("pin-"):
            passedOver.append(
                ("clients ignore \(quoted(spelling)): use pin-sha256", .stricter, position, .ignoredSetting))
        default:
            let meant = suggestion(for: name, among: Self.directives)
            passedOver.append(
                (
                    "clients ignore \(quoted(spelling))" + (meant.map { ": did you mean \($0)?" } ?? ""),
                    meant == nil ? .unchanged : .weaker, position, meant.map { _ in .ignoredSetting }
                ))
        }
        return nil
    }

    private static func isAbsolute(_ text: String) -> Bool {
        ["http://", "https://"].contains { text.lowercased().hasPrefix($0) && text.utf8.count > $0.utf8.count }
            && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    private static func value(_ cursor: inout TextCursor) -> Value? {
        guard cursor.take("\"") else {
            let token = cursor.take(while: isTokenByte)
            return token.isEmpty ? nil : .token(String(decoding: token, as: UTF8.self))
        }
        var text: [UInt8] = []
        while let byte = cursor.byte, !byte.isLineEnd {
            cursor.step()
            if byte == UInt8(ascii: "\"") { return .quoted(String(decoding: text, as: UTF8.self)) }
            if byte == UInt8(ascii: "\\") {
                guard let escaped = cursor.byte, !escaped.isLineEnd else { return nil }
                cursor.step()
                text.append(escaped)
            } else {
                text.append(byte)
            }
        }
        return nil
    }

    /// Returns whether the byte may appear in a token (RFC 9110, section 5.6.2).
    static func isTokenByte(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte.isWordByte || "!#$%&'*+-.^`|~".utf8.contains(byte))
    }
}
