import CertificatePinning
import PinctlBasics

/// Texts that say by a prefix that they are pins.
extension DigestShape {
    /// Finds the texts of a prefix and of digits that aren't in one piece: `whole` are the digests that a program joins
    /// from texts in quotation marks that follow each other, and `damaged` are those that are no digest, such as pins
    /// that are cut off.
    static func marked(in bytes: [UInt8]) -> (whole: [DigestShape], damaged: [Range<Int>]) {
        let marks = ["sha256/", "sha1/", "pin-sha256=", "pin-sha256:"]
        guard bytes.hasAny(of: marks, ignoringCase: true) else { return ([], []) }
        var whole: [DigestShape] = []
        var damaged: [Range<Int>] = []
        let ends = Set("\"'`\\ \t\r\n,;)]}<".utf8)
        for mark in marks.map({ Array($0.utf8) }) {
            var index = 0
            while index + mark.count <= bytes.count {
                guard bytes[index] | 0x20 == mark[0],
                    bytes[index..<index + mark.count].elementsEqual(mark, by: { $0 | 0x20 == $1 | 0x20 })
                else {
                    index += 1
                    continue
                }
                let start = index
                index += mark.count
                // A word before it makes it a path.
                if start > 0, bytes[start - 1].isWordByte || "/-.:".utf8.contains(bytes[start - 1]) { continue }
                while index < bytes.count, "\"\\".utf8.contains(bytes[index]) { index += 1 }
                var digits: [UInt8] = []
                var parts = 0
                while parts < mostParts {
                    let part = bytes[index...].prefix { isDigit($0) || "-_=".utf8.contains($0) }
                    digits += part
                    index = part.endIndex
                    parts += 1
                    // mutant find-joined: nil for `startOfNextText(after: index, in: bytes)` by PinSearchTests/settings
                    guard part.last != UInt8(ascii: "="), let next = startOfNextText(after: index, in: bytes) else {
                        break
                    }
                    index = next
                }
                guard index == bytes.count || ends.contains(bytes[index]), 16...60 ~= digits.count, isMixed(digits[...])
                else { continue }
                // The second slash of curl's prefix, or of JSON's, isn't part of the digits, unlike another one.
                let texts = digits.first == UInt8(ascii: "/") ? [digits[...], digits.dropFirst()] : [digits[...]]
                let digest: CanonicalPin.Digest = mark == Array("sha1/".utf8) ? .sha1 : .sha256
                let value = texts.lazy.compactMap { LenientBase64.decode($0, needsPadding: false) }
                    .first { $0.count == digest.length }
                guard let value else {
                    damaged.append(start..<index)
                    continue
                }
                guard parts > 1 else { continue }
                whole.append(
                    DigestShape(range: start..<index, form: .base64, digest: digest, value: value, hasPrefix: true))
            }
        }
        return (whole, damaged.sorted { $0.lowerBound < $1.lowerBound })
    }

    /// Returns the digests of TLSA records whose data is in several groups of digits, as `dig` prints them, or in
    /// several lines.
    static func grouped(in bytes: [UInt8]) -> [DigestShape] {
        var shapes: [DigestShape] = []
        var index = 0
        while let word = bytes.firstRange(of: "TLSA", from: index) {
            index = word.upperBound
            var numbers: [Int] = []
            var groups: [ArraySlice<UInt8>] = []
            var rest = bytes[index...].prefix(longestRecord)
            while groups.count <= mostParts {
                rest = rest.drop { $0.isBlank || $0.isLineEnd || $0.isQuote || "(\\".utf8.contains($0) }
                let part = rest.prefix(while: \.isWordByte)
                guard !part.isEmpty else { break }
                if numbers.count < 3 {
                    guard let number = Int(String(decoding: part, as: UTF8.self)) else { break }
                    numbers.append(number)
                } else {
                    guard Hexadecimal.decode(part) != nil else { break }
                    groups.append(part)
                }
                rest = rest[part.endIndex...]
            }
            let digest = [1: CanonicalPin.Digest.sha256, 2: .sha512][numbers.last ?? 0]
            // mutant find-groups: false for 2 by PinSearchTests/settings
            guard numbers.count == 3, let digest, let length = digest.length else { continue }
            var (count, used) = (0, 0)
            while used < groups.count, count < 2 * length { (count, used) = (count + groups[used].count, used + 1) }
            guard used > 1, count == 2 * length, let value = Hexadecimal.decode(groups.prefix(used).joined()) else {
                continue
            }
            shapes.append(
                DigestShape(
                    range: groups[0].startIndex..<groups[used - 1].endIndex, form: .hex, digest: digest, value: value,
                    hasPrefix: false))
        }
        return shapes
    }

    private static let longestRecord = 400

    /// The number of texts that a pin is joined from.
    private static let mostParts = 8

    /// Returns the position at which a text begins that a program joins with the one that ends at a position.
    private static func startOfNextText(after end: Int, in bytes: [UInt8]) -> Int? {
        guard end < bytes.count, bytes[end].isQuote else { return nil }
        let rest = bytes[(end + 1)...].prefix(200)
        let next = rest.drop { $0.isBlank || $0.isLineEnd || "+.\\@".utf8.contains($0) }
        guard next.startIndex > end + 1, next.first == bytes[end] else { return nil }
        return next.startIndex + 1
    }
}
