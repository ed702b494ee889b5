import CertificatePinning
import PinctlBasics

/// TLSA records that a program or a configuration writes as a call or an object.
extension SearchedText {
    /// Returns what a digest in such a record is of, as in `TLSA("_443._tcp", 3, 1, 1, "…")`, or with `type = "TLSA"`
    /// and `selector = 1` beside the digest. Returns `nil` if it is in none, or if its record can't be used.
    func recordContent(of shape: DigestShape) -> CanonicalPin.Content? {
        let matchingType = shape.digest == .sha512 ? 2 : 1
        if let numbers = numbersOfCall(around: shape.range) {
            // Usage, selector and matching type.
            guard numbers.count == 3, 0...3 ~= numbers[0], numbers[2] == matchingType else { return nil }
            return Self.content(ofSelector: numbers[1])
        }
        let line = line(at: shape.range.lowerBound)
        var isRecord = false
        var selector: (number: Int, distance: Int)?
        for other in max(0, line - Self.recordLines)..<min(lineStarts.count, line + Self.recordLines) {
            let words = bytes[range(ofLine: other)].prefix(Self.longestCall).split { !$0.isWordByte }
                .map { String(decoding: $0, as: UTF8.self).lowercased() }
            // As in `nios_dns_record_tlsa`.
            if words.contains(where: { $0 == "tlsa" || $0.hasSuffix("_tlsa") }) { isRecord = true }
            guard let index = words.firstIndex(of: "selector"), index + 1 < words.count,
                let number = Int(words[index + 1]), abs(other - line) < selector?.distance ?? .max
            else { continue }
            selector = (number, abs(other - line))
        }
        guard isRecord, let selector else { return nil }
        return Self.content(ofSelector: selector.number)
    }

    private static func content(ofSelector selector: Int) -> CanonicalPin.Content? {
        selector == 1 ? .publicKey : selector == 0 ? .certificate : nil
    }

    /// The number of lines around a digest in which the other fields of its record are.
    private static let recordLines = 10
    private static let longestCall = 640

    /// Returns the numbers among the arguments of a call of a function named `tlsa` around a position, or `nil` if
    /// there is none.
    private func numbersOfCall(around range: Range<Int>) -> [Int]? {
        let before = bytes[max(0, range.lowerBound - Self.longestCall)..<range.lowerBound]
        let name = Array("tlsa(".utf8)
        guard
            let call = before.indices.last(where: { index in
                (before[index] | 0x20) == name[0] && before[index...].prefix(name.count).count == name.count
                    && zip(before[index...], name).allSatisfy { $0 | 0x20 == $1 | 0x20 }
                    && !(index > 0 && bytes[index - 1].isWordByte)
            })
        else { return nil }
        let first = before[(call + name.count)...]
        let isClosed = first.count { $0 == UInt8(ascii: ")") } > first.count { $0 == UInt8(ascii: "(") }
        guard !isClosed else { return nil }
        let rest = bytes[range.upperBound...].prefix(Self.longestCall).prefix { $0 != UInt8(ascii: ")") }
        return (Array(first) + Array(rest)).split(separator: UInt8(ascii: ",")).compactMap { part in
            Int(
                String(decoding: part.filter { !$0.isBlank && !$0.isLineEnd && $0 != UInt8(ascii: "(") }, as: UTF8.self)
            )
        }
    }
}
