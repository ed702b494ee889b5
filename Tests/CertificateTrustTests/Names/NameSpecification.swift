/// A second implementation of hostnames and of matching them, which is compared with the real one.
///
/// It is as plain as possible, and was written from RFC 9525, RFC 1123, RFC 4291 and the article on threats alone (HM1
/// to HM15).
enum NameSpecification {
    enum Host: Hashable {
        case dns([[UInt8]])
        case address([UInt8])
    }

    /// Returns the host that a text names. `nil` if it names none.
    static func host(_ text: [UInt8]) -> Host? {
        if let address = ipv4(text) ?? ipv6(text) { return .address(address) }
        guard let first = text.first, let last = text.last else { return nil }
        if first == UInt8(ascii: "["), last == UInt8(ascii: "]") {
            return ipv6(Array(text.dropFirst().dropLast())).map(Host.address)
        }
        // One trailing dot is the root's and isn't part of the name.
        let name = lowered(last == UInt8(ascii: ".") ? Array(text.dropLast()) : text)
        let labels = split(name)
        guard name.count <= 253, labels.allSatisfy(isLabel), let top = labels.last, !isNumber(top) else { return nil }
        return .dns(labels)
    }

    /// Whether a dNSName of a certificate covers a host: the same name, or `*` for exactly one label, above at least
    /// two more.
    static func matches(_ host: Host, dNSName: [UInt8]) -> Bool {
        guard case .dns(let labels) = host else { return false }
        let entry = split(lowered(dNSName))
        if entry == labels { return true }
        return entry.count >= 3 && entry.count == labels.count && entry[0] == [UInt8(ascii: "*")]
            && entry.dropFirst() == labels.dropFirst()
    }

    static func matches(_ host: Host, iPAddress: [UInt8]) -> Bool { host == .address(iPAddress) }

    /// Letters, digits, hyphens within, and underscores; 1 to 63 bytes.
    private static func isLabel(_ label: [UInt8]) -> Bool {
        guard (1...63).contains(label.count), label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-") else {
            return false
        }
        for byte in label {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                continue
            default: return false
            }
        }
        return true
    }

    /// Whether some reader takes a name that ends in this label for an address: a decimal or hexadecimal number.
    private static func isNumber(_ label: [UInt8]) -> Bool {
        if label.starts(with: Array("0x".utf8)) { return label.dropFirst(2).allSatisfy { hexadecimal($0) != nil } }
        return label.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    /// Four decimal numbers up to 255, without leading zeros.
    private static func ipv4(_ text: [UInt8]) -> [UInt8]? {
        let parts = split(text)
        guard parts.count == 4 else { return nil }
        var address: [UInt8] = []
        for part in parts {
            guard let number = UInt8(String(decoding: part, as: UTF8.self)), Array(String(number).utf8) == part else {
                return nil
            }
            address.append(number)
        }
        return address
    }

    /// Eight groups of one to four hexadecimal digits. `::` once for one or more groups of zeros. The last two may be
    /// an IPv4 address.
    private static func ipv6(_ text: [UInt8]) -> [UInt8]? {
        let colon = UInt8(ascii: ":")
        let gaps = text.indices.filter { $0 + 1 < text.count && text[$0] == colon && text[$0 + 1] == colon }
        guard gaps.count <= 1 else { return nil }
        func bytes(_ text: [UInt8], isEnd: Bool) -> [UInt8]? {
            guard !text.isEmpty else { return [] }
            var result: [UInt8] = []
            let groups = text.split(separator: colon, omittingEmptySubsequences: false).map(Array.init)
            for (index, group) in groups.enumerated() {
                if isEnd, index == groups.count - 1, let address = ipv4(group) {
                    result += address
                    continue
                }
                guard (1...4).contains(group.count) else { return nil }
                var value = 0
                for digit in group {
                    guard let digit = hexadecimal(digit) else { return nil }
                    value = value * 16 + digit
                }
                result += [UInt8(value / 256), UInt8(value % 256)]
            }
            return result
        }
        guard let gap = gaps.first else {
            guard !text.isEmpty, let address = bytes(text, isEnd: true), address.count == 16 else { return nil }
            return address
        }
        guard let front = bytes(Array(text[..<gap]), isEnd: false),
            let back = bytes(Array(text[(gap + 2)...]), isEnd: true), front.count + back.count <= 14
        else { return nil }
        return front + [UInt8](repeating: 0, count: 16 - front.count - back.count) + back
    }

    private static func hexadecimal(_ byte: UInt8) -> Int? {
        byte < 0x80 ? Character(UnicodeScalar(byte)).hexDigitValue : nil
    }

    private static func split(_ name: [UInt8]) -> [[UInt8]] {
        name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
    }

    private static func lowered(_ name: [UInt8]) -> [UInt8] {
        name.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 + 32 : $0 }
    }
}
