/// A strict parser and a canonical formatter for IP addresses.
enum IPAddressText {
    /// Parses an address into 4 or 16 bytes, or returns `nil`. IPv4 is four decimal numbers without leading zeros (RFC
    /// 6943, section 3.1.1). IPv6 is as in RFC 4291, section 2.2, with or without brackets and without a zone.
    static func parse(_ text: [UInt8]) -> [UInt8]? {
        if text.contains(UInt8(ascii: ":")) {
            if text.first == UInt8(ascii: "[") || text.last == UInt8(ascii: "]") {
                guard text.first == UInt8(ascii: "["), text.last == UInt8(ascii: "]"), text.count > 2 else {
                    return nil
                }
                return parseIPv6(text[1..<(text.count - 1)])
            }
            return parseIPv6(text[...])
        }
        return parseIPv4(text[...])
    }

    private static func parseIPv4(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var bytes: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.count), part.count == 1 || part.first != UInt8(ascii: "0") else { return nil }
            var value = 0
            for digit in part {
                guard UInt8(ascii: "0")...UInt8(ascii: "9") ~= digit else { return nil }
                value = value * 10 + Int(digit - UInt8(ascii: "0"))
            }
            guard value < 256 else { return nil }
            bytes.append(UInt8(value))
        }
        return bytes
    }

    private static func parseIPv6(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        let colon = UInt8(ascii: ":")
        var head: [UInt8] = []
        var tail: [UInt8]?
        var index = text.startIndex
        if text.starts(with: [colon, colon]) {
            tail = []
            index += 2
        } else if text.first == colon {
            return nil
        }
        while index < text.endIndex {
            let stop = text[index...].firstIndex(of: colon) ?? text.endIndex
            let part = text[index..<stop]
            let group: [UInt8]
            if stop == text.endIndex, part.contains(UInt8(ascii: ".")) {
                guard let quad = parseIPv4(part) else { return nil }
                group = quad
            } else {
                guard (1...4).contains(part.count), let value = hexadecimalGroup(part) else { return nil }
                group = [UInt8(value >> 8), UInt8(value & 0xFF)]
            }
            if tail == nil { head += group } else { tail? += group }
            guard head.count + (tail?.count ?? 0) <= 16 else { return nil }
            if stop == text.endIndex { break }
            index = stop + 1
            if index < text.endIndex, text[index] == colon {
                guard tail == nil else { return nil }
                tail = []
                index += 1
            } else if index == text.endIndex {
                return nil
            }
        }
        guard let tail else { return head.count == 16 ? head : nil }
        // "::" represents at least one group.
        guard head.count + tail.count <= 14 else { return nil }
        return head + [UInt8](repeating: 0, count: 16 - head.count - tail.count) + tail
    }

    private static func hexadecimalGroup(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = value << 4 | Int(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = value << 4 | Int(digit - UInt8(ascii: "a") + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): value = value << 4 | Int(digit - UInt8(ascii: "A") + 10)
            default: return nil
            }
        }
        return value
    }

    /// Returns a dotted quad or RFC 5952 text. Other lengths, which only a malformed certificate has, are written in
    /// hexadecimal.
    static func format(_ bytes: [UInt8]) -> String {
        switch bytes.count {
        case 4: return bytes.map(String.init).joined(separator: ".")
        case 16: return formatIPv6(bytes)
        default: return bytes.map(hexadecimal).joined(separator: " ")
        }
    }

    private static func formatIPv6(_ bytes: [UInt8]) -> String {
        let groups = (0..<8).map { Int(bytes[$0 * 2]) << 8 | Int(bytes[$0 * 2 + 1]) }
        // The first of the longest runs of two or more zero groups is written "::".
        var longest = 0..<0
        var start = 0
        while start < 8 {
            guard groups[start] == 0 else {
                start += 1
                continue
            }
            var stop = start
            while stop < 8, groups[stop] == 0 { stop += 1 }
            if stop - start > max(longest.count, 1) { longest = start..<stop }
            start = stop
        }
        func join(_ range: Range<Int>) -> String {
            range.map { String(groups[$0], radix: 16) }.joined(separator: ":")
        }
        guard !longest.isEmpty else { return join(0..<8) }
        return join(0..<longest.lowerBound) + "::" + join(longest.upperBound..<8)
    }
}
