import PinctlBasics

/// An entry of a certificate that was probably meant for a host, although no client accepts it for that host.
struct NameMiss {
    /// The fault of the entry, such as `api.test is only in the common name, which is ignored`.
    let reason: String

    /// Finds the entry that was probably meant for a host. Returns `nil` if there is none, which is the case if the
    /// certificate is for other hosts.
    init?(_ name: ServerName, in certificate: X509Certificate) {
        let names = certificate.subjectAlternativeNames.prefix(Self.limit)
        if let reason = names.lazy.compactMap({ Self.reason(name, $0) }).first {
            self.reason = reason
        } else if certificate.subject.commonNames.contains(where: { Self.isText($0, of: name) }) {
            reason = "\(name) is only in the common name, which is ignored"
        } else {
            return nil
        }
    }

    /// The maximum number of entries that are looked at.
    private static let limit = 1_000

    private static func reason(_ name: ServerName, _ entry: SubjectAlternativeName) -> String? {
        switch entry {
        case .dns(let bytes): return reason(name, dns: bytes)
        case .ipAddress(let bytes):
            guard let address = name.addressBytes else { return nil }
            let text = String(decoding: bytes, as: UTF8.self)
            guard bytes.count != 4, bytes.count != 16, isText(text, of: name) || bytes.starts(with: address) else {
                return nil
            }
            return "its IP address entry for \(name) has \(bytes.count) bytes instead of \(address.count)"
        case .other(let tag, let contents):
            guard let kind = GeneralNameKind(rawValue: tag), kind == .uri || kind == .email,
                case let text = String(decoding: contents, as: UTF8.self),
                isText(text, of: name) || kind == .uri && host(in: text).map({ isText($0, of: name) }) == true
            else { return nil }
            return "\(name) is in subjectAltName as \(kind == .uri ? "a URI" : "an email address"), which is ignored"
        }
    }

    private static func reason(_ name: ServerName, dns bytes: [UInt8]) -> String? {
        let text = String(decoding: bytes, as: UTF8.self)
        let shown = quoted(text)
        if name.isIPAddress {
            let isNamed = isText(text, of: name) || host(in: text).map { isText($0, of: name) } == true
            return isNamed ? "\(name) is in subjectAltName as a DNS name, not as an IP address" : nil
        }
        // A wildcard covers exactly one label. One below a single label covers nothing, which is another reason.
        if let parent = SubjectAlternativeName.dns(bytes).wildcardParent,
            let domain = try? ServerName(String(decoding: parent, as: UTF8.self)),
            name == domain || name.isSubdomain(of: domain),
            parent.contains(UInt8(ascii: ".")) || name.labels.count != domain.labels.count + 1
        {
            return "\(shown) covers exactly one label in place of the *, so it doesn't cover \(name)"
        }
        let trimmed = trimmed(text)
        if trimmed != text[...], isMatch(trimmed, name) { return "the DNS name \(shown) has a blank or line end" }
        let list = trimmed.split { $0 == "," || $0 == ";" || $0.isWhitespace }
        if list.count > 1, list.contains(where: { isMatch($0, name) }) {
            return "the DNS name \(shown) has several names in one entry"
        }
        if trimmed.lowercased().hasPrefix("dns:"), isMatch(trimmed.dropFirst(4), name) {
            return "the DNS name \(shown) has the prefix DNS:"
        }
        guard let host = host(in: String(trimmed)), isMatch(host, name) else {
            return Punycode.aLabels(ofHost: text).map { isMatch($0[...], name) } == true && !isASCII(bytes)
                ? "the DNS name \(shown) isn't in ASCII" : nil
        }
        return "the DNS name \(shown) \(trimmed.contains("/") ? "is a URL" : "has a port or a user")"
    }

    /// Returns the host in a URL, an email address, or a host with a port, or `nil` for other texts.
    private static func host(in text: String) -> Substring? {
        var rest = text[...]
        if let scheme = rest.firstRange(of: "://") { rest = rest[scheme.upperBound...] }
        rest = rest.prefix { !"/?#".contains($0) }
        if let sign = rest.lastIndex(of: "@") { rest = rest[rest.index(after: sign)...] }
        if rest.hasPrefix("["), let end = rest.firstIndex(of: "]") {
            return rest[rest.index(after: rest.startIndex)..<end]
        }
        if let colon = rest.lastIndex(of: ":"), rest[rest.index(after: colon)...].allSatisfy(\.isNumber) {
            rest = rest[..<colon]
        }
        return rest[...] == text[...] ? nil : rest
    }

    /// Returns whether a DNS name in this spelling would match.
    private static func isMatch(_ text: Substring, _ name: ServerName) -> Bool {
        name.matches(.dns(Array(text.utf8))) || isText(String(text), of: name)
    }

    /// Returns whether a text is the name, in the spelling of the command line.
    private static func isText(_ text: some StringProtocol, of name: ServerName) -> Bool {
        (try? ServerName(String(trimmed(String(text))))) == name
    }

    private static func isASCII(_ bytes: [UInt8]) -> Bool { bytes.allSatisfy { $0 < 0x80 } }

    /// Returns the text without white space and NUL around it.
    private static func trimmed(_ text: String) -> Substring {
        var rest = text[...].drop { $0.isWhitespace || $0 == "\0" }
        while let last = rest.last, last.isWhitespace || last == "\0" { rest.removeLast() }
        return rest
    }
}

extension ServerName {
    /// The name as an entry of subjectAltName, as OpenSSL's configuration spells it.
    var entryText: String { isIPAddress ? "IP:\(self)" : "DNS:\(self)" }
}
