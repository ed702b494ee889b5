import PinctlBasics

/// The hostname that a server must prove: a DNS name or an IP address. It is parsed once, and always compared as bytes.
///
/// A DNS name is stored as ASCII A-labels in lower case without a trailing dot (RFC 9525, section 2). An address is
/// stored as its 4 or 16 bytes. Everything that compares hostnames (certificates, pin rules, SNI) uses this type.
public struct ServerName: Sendable, Hashable {
    /// The kind of a hostname, with its value.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// A DNS name: labels joined by dots, lower case, at most 253 bytes.
        case dns(String)
        /// An IPv4 address: 4 bytes, network order.
        case ipv4([UInt8])
        /// An IPv6 address: 16 bytes, network order.
        case ipv6([UInt8])
    }

    /// The kind and value of the name.
    public let kind: Kind

    /// Parses a host as in a URL or policy: a DNS name, an IPv4 address, or an IPv6 address with or without brackets.
    /// The text must not have a scheme, port, wildcard, zone identifier or user part.
    ///
    /// A trailing dot is removed, and ASCII capitals are converted to lower case. Non-ASCII names are rejected: pass
    /// the A-label, which `URL.host(percentEncoded: false)` already contains.
    public init(_ text: String) throws(ServerNameError) {
        let bytes = Array(text.utf8)
        if let address = IPAddressText.parse(bytes) {
            kind = address.count == 4 ? .ipv4(address) : .ipv6(address)
        } else {
            kind = .dns(try Self.dnsName(bytes, text))
        }
    }

    /// Whether this is an IP address.
    public var isIPAddress: Bool {
        if case .dns = kind { false } else { true }
    }

    /// The 4 or 16 bytes of an address, or `nil` for a DNS name.
    package var addressBytes: [UInt8]? {
        switch kind {
        case .ipv4(let bytes), .ipv6(let bytes): bytes
        case .dns: nil
        }
    }

    /// The maximum length of a DNS name in bytes (RFC 1035, section 2.3.4).
    package static let maximumLength = 253

    /// The labels from the left. An address has none.
    package var labels: [Substring] {
        if case .dns(let name) = kind { name.split(separator: ".") } else { [] }
    }

    /// Whether this is `parent` with one or more labels before it. An address never is.
    package func isSubdomain(of parent: ServerName) -> Bool {
        guard case .dns(let name) = kind, case .dns(let suffix) = parent.kind else { return false }
        // mutant subdomain-dot: suffix for `"." + suffix` by CookieAttackTests CookieStorageTests PinReportSpoolTests
        return name.utf8.count > suffix.utf8.count + 1 && name.hasSuffix("." + suffix)
    }

    private static func dnsName(_ bytes: [UInt8], _ text: String) throws(ServerNameError) -> String {
        guard !bytes.isEmpty else { throw .empty }
        // mutant host-ascii: true by ServerNameTests/notASCII
        guard bytes.allSatisfy({ $0 < 0x80 }) else { throw .notASCII(text) }
        var lowered = HostText.lowered(bytes)
        if lowered.last == UInt8(ascii: "."), lowered.count > 1 { lowered.removeLast() }
        // mutant host-length: true by ServerNameTests/longest
        guard lowered.count <= maximumLength else { throw .tooLong(text) }
        let labels = lowered.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        for label in labels {
            guard (1...63).contains(label.count), label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-"),
                // mutant host-label: true by ServerNameTests/refused NameSpecificationTests
                label.allSatisfy(HostText.isLabelByte)
            else { throw .malformed(text) }
        }
        // A name whose last label is a number is another spelling of an address (WHATWG URL, "ends in a number"):
        // 127.1, 0x7f.1 and 2130706433 reach a host that no certificate check here would name.
        // mutant host-number: false for 2 by ServerNameTests/refused
        if let last = labels.last, isNumber(last) { throw .malformedAddress(text) }
        return String(decoding: lowered, as: UTF8.self)
    }

    private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        if label.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) { return true }
        guard label.starts(with: Array("0x".utf8)) else { return false }
        return label.dropFirst(2).allSatisfy {
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "f") ~= $0
        }
    }
}

extension ServerName: CustomStringConvertible {
    /// The canonical text: a DNS name in lower case, `192.0.2.1`, or `2001:db8::1` (RFC 5952) without brackets.
    public var description: String {
        switch kind {
        case .dns(let name): name
        case .ipv4(let bytes), .ipv6(let bytes): IPAddressText.format(bytes)
        }
    }
}

/// The reason why a text isn't a ``ServerName``.
@nonexhaustive
public enum ServerNameError: Error, Hashable, Sendable {
    /// The text is empty.
    case empty
    /// The text has a U-label or another non-ASCII character.
    case notASCII(String)
    /// The name has over 253 bytes.
    case tooLong(String)
    /// A label is empty, too long, or begins or ends with a hyphen, or a character isn't allowed in hostnames.
    case malformed(String)
    /// The last label is a number, but the text isn't a dotted quad: `127.1`, `0x7f.0.0.1`, `010.0.0.1`.
    case malformedAddress(String)
}

extension ServerNameError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .empty: "empty hostname: use a DNS name or an IP address"
        case .notASCII(let text):
            "hostname \"\(visibleText(text))\" is not ASCII: use its A-label, "
                + (Punycode.aLabels(ofHost: text).map { visibleText($0) } ?? "which starts with xn--")
        case .tooLong(let text):
            "hostname of \(text.utf8.count) bytes is too long: use at most \(ServerName.maximumLength)"
        case .malformed(let text):
            "\"\(visibleText(text))\" is not a hostname: remove any scheme, port, wildcard, path and spaces"
        case .malformedAddress(let text):
            "\"\(visibleText(text))\" is not an IP address: write IPv4 as four decimal numbers from 0 to 255"
        }
    }
}
