/// Host names as bytes in lower case.
enum HostText {
    /// ASCII capitals lowered, and nothing else.
    static func lowered(_ bytes: [UInt8]) -> [UInt8] {
        bytes.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }
    }

    /// Labels of letters, digits, hyphens and underscores, no empty one.
    static func isHostName(_ host: ArraySlice<UInt8>) -> Bool {
        guard (1...253).contains(host.count) else { return false }
        return host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy(isLabelByte)
        }
    }

    /// Letters, digits, hyphen, and the underscore that real hosts use though RFC 952 does not know it.
    static func isLabelByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Whether `host` is `domain` or below it; the empty domain holds every host.
    static func isHost(_ host: [UInt8], within domain: [UInt8]) -> Bool {
        guard !domain.isEmpty else { return true }
        guard host.count >= domain.count, host.suffix(domain.count).elementsEqual(domain) else { return false }
        return host.count == domain.count || host[host.count - domain.count - 1] == UInt8(ascii: ".")
    }

    /// What stands behind the first label; nil for a single label.
    static func parent(_ host: [UInt8]) -> [UInt8]? {
        host.firstIndex(of: UInt8(ascii: ".")).map { Array(host[($0 + 1)...]) }
    }

    /// The host of an absolute URI (RFC 3986, section 3.2.2); nil when there is none or it is an address, to which
    /// constraints cannot apply (RFC 5280, section 4.2.1.10).
    static func host(ofURI uri: [UInt8]) -> [UInt8]? {
        let text = HostText.lowered(uri)
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")), colon > 0,
            text[(colon + 1)...].starts(with: "//".utf8)
        else { return nil }
        let authority = text[(colon + 3)...].prefix { !"/?#".utf8.contains($0) }
        let afterUser = authority.lastIndex(of: UInt8(ascii: "@")).map { authority[($0 + 1)...] } ?? authority
        let host = afterUser.prefix { $0 != UInt8(ascii: ":") }
        guard isHostName(host), IPAddressText.parse(Array(host)) == nil else { return nil }
        return Array(host)
    }
}
