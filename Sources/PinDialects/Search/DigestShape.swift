import CertificatePinning
import PinctlBasics

/// A text that has the form of a digest: 32 bytes in base64 or hexadecimal digits, or 20 bytes after `sha1/`.
struct DigestShape {
    enum Form { case base64, hex, colons }

    /// The positions of the digits, with a prefix such as `sha256/`.
    let range: Range<Int>
    let form: Form
    let digest: CanonicalPin.Digest
    let value: [UInt8]
    /// Whether a prefix such as `sha256/` is part of the text.
    let hasPrefix: Bool

    /// The length of the shortest form, which is `sha1/` with 27 digits. Every form has a digit at each multiple of it.
    private static let stride = 32

    /// Returns the digests of a text, in order.
    static func all(in bytes: [UInt8]) -> [DigestShape] {
        var shapes: [DigestShape] = []
        let (span, kinds) = (bytes.span, table.span)
        var (index, end) = (stride - 1, 0)
        while index < span.count {
            guard kinds[Int(span[index])] else {
                index += stride
                continue
            }
            var (start, stop) = (index, index + 1)
            while start > end, kinds[Int(span[start - 1])] { start -= 1 }
            while stop < span.count, kinds[Int(span[stop])] { stop += 1 }
            if stop - start >= stride { add(start..<stop, of: bytes, to: &shapes) }
            (index, end) = (stop + stride, stop)
        }
        return shapes
    }

    /// Whether each byte may be part of a digest or of its prefix: the digits of base64, and colons.
    private static let table: [Bool] = (0...255).map { isDigit(UInt8($0)) || $0 == UInt8(ascii: ":") }

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
    }

    /// Adds the digests of a run of digits and colons.
    private static func add(_ run: Range<Int>, of bytes: [UInt8], to shapes: inout [DigestShape]) {
        let parts = bytes[run].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let pairs = parts.reversed().prefix { $0.count == 2 && Hexadecimal.decode($0) != nil }
        // SHA-256 in pairs. SHA-1 in pairs is too often a fingerprint that nobody pins.
        if pairs.count == 32, let value = Hexadecimal.decode(pairs.reversed().joined()) {
            shapes.append(
                DigestShape(
                    range: run.upperBound - 95..<run.upperBound, form: .colons, digest: .sha256, value: value,
                    hasPrefix: false))
            return
        }
        for part in parts {
            if part.count == 64, let value = Hexadecimal.decode(part) {
                shapes.append(
                    DigestShape(range: part.indices, form: .hex, digest: .sha256, value: value, hasPrefix: false))
            }
        }
        let equals = UInt8(ascii: "=")
        guard let last = parts.last, last.endIndex < bytes.count, bytes[last.endIndex] == equals,
            last.endIndex + 1 == bytes.count
                || bytes[last.endIndex + 1] != equals && !isDigit(bytes[last.endIndex + 1])
        else { return }
        let forms: [(prefix: String, digits: Int, digest: CanonicalPin.Digest)] = [
            ("", 43, .sha256), ("sha256/", 43, .sha256), ("sha256//", 43, .sha256), ("sha1/", 27, .sha1),
            // JSON may escape the slash.
            ("/", 43, .sha256),
        ]
        for (prefix, digits, digest) in forms
        where last.count == prefix.utf8.count + digits
            && String(decoding: last.prefix(prefix.utf8.count), as: UTF8.self).lowercased() == prefix
        {
            var start = last.startIndex
            if prefix == "/" {
                guard start >= 7, String(decoding: bytes[(start - 7)..<start], as: UTF8.self) == "sha256\\" else {
                    continue
                }
                start -= 7
            }
            let text = last.suffix(digits) + [equals]
            // Text without a prefix may be anything, and only one of four texts has no bits to spare.
            let value = prefix.isEmpty ? Base64.decodeCanonical(Array(text)) : LenientBase64.decode(text)
            guard let value, value.count == digest.length, !prefix.isEmpty || isMixed(text) else { continue }
            shapes.append(
                DigestShape(
                    range: start..<last.endIndex + 1, form: .base64, digest: digest, value: value,
                    hasPrefix: !prefix.isEmpty))
        }
    }

    /// Whether a text has small and capital letters and something else, as nearly every random one has and no name.
    private static func isMixed(_ text: ArraySlice<UInt8>) -> Bool {
        let digits = text.dropLast()
        return digits.contains { $0 >= UInt8(ascii: "a") } && digits.contains { $0 <= UInt8(ascii: "9") }
            && digits.contains { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
    }
}
