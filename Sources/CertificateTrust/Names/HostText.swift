/// Functions on hostnames as bytes in lower case.
enum HostText {
    /// Converts ASCII capitals to lower case and leaves all other bytes unchanged.
    static func lowered(_ bytes: [UInt8]) -> [UInt8] { bytes.map(lowered) }

    private static func lowered(_ byte: UInt8) -> UInt8 {
        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }

    /// Whether `bytes` spell a lower-case host, ignoring ASCII case.
    static func isHost(_ host: String, spelled bytes: [UInt8]) -> Bool {
        let text = host.utf8.span
        // mutant ascii-case: String(decoding: bytes, as: UTF8.self).lowercased() == host by ServerNameTests/matching
        return bytes.count == text.count && bytes.indices.allSatisfy { lowered(bytes[$0]) == text[$0] }
    }

    /// Whether the text consists of non-empty labels of letters, digits, hyphens and underscores.
    static func isHostName(_ host: ArraySlice<UInt8>) -> Bool {
        guard (1...ServerName.maximumLength).contains(host.count) else { return false }
        return host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.allSatisfy(isLabelByte)
        }
    }

    /// Whether a label may contain the byte: a letter, digit, hyphen or underscore. RFC 952 doesn't allow underscores,
    /// but real hosts use them.
    static func isLabelByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// Whether `host` is `domain` or below it. Every host is within the empty domain.
    static func isHost(_ host: [UInt8], within domain: [UInt8]) -> Bool {
        guard !domain.isEmpty else { return true }
        guard host.count >= domain.count, host.suffix(domain.count).elementsEqual(domain) else { return false }
        // mutant constraint-label: true for `host[host.count - domain.count - 1] == UInt8(ascii: ".")` by
        //   ServerTrustTests/nameConstraints
        return host.count == domain.count || host[host.count - domain.count - 1] == UInt8(ascii: ".")
    }

    /// Returns the name after the first label, or `nil` for a single label.
    static func parent(_ host: [UInt8]) -> [UInt8]? {
        host.firstIndex(of: UInt8(ascii: ".")).map { Array(host[($0 + 1)...]) }
    }

    /// Returns the host of an absolute URI (RFC 3986, section 3.2.2). Returns `nil` if there is none or it is an
    /// address, to which constraints can't apply (RFC 5280, section 4.2.1.10).
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
