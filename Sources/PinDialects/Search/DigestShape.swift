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

    /// The length of the shortest form, which is `sha1/` with 27 digits.
    private static let shortest = 32
    /// The length of 20 pairs of digits with a space between them.
    private static let spacedLength = 59

    /// Whether the text stands for another digest: it has a few characters again and again, or those of the alphabet in
    /// order.
    func isPlaceholder(in bytes: [UInt8]) -> Bool {
        Self.isOrdered(bytes[range].filter(\.isWordByte)) || Set(value).count < Self.leastBytes
    }

    /// Whether most of the digits at the end of a text follow each other in the alphabet.
    private static func isOrdered(_ text: some BidirectionalCollection<UInt8>) -> Bool {
        let digits = text.dropLast().suffix(26)
        // mutant find-alphabet: false by PinSearchTests/placeholders
        return zip(digits, digits.dropFirst()).count { $1 == $0 &+ 1 } * 3 >= digits.count * 2
    }

    /// The number of different bytes that nearly every digest exceeds by far. Texts in the form of one that have fewer
    /// are placeholders or small numbers.
    static let leastBytes = 12

    /// Returns the digests of a text, in order.
    static func all(in bytes: Span<UInt8>) -> [DigestShape] {
        find(in: bytes, onlyFirst: false).sorted { $0.range.lowerBound < $1.range.lowerBound }
    }

    /// Whether a text has a digest.
    static func isAny(in bytes: Span<UInt8>) -> Bool { !find(in: bytes, onlyFirst: true).isEmpty }

    private static func find(in bytes: Span<UInt8>, onlyFirst: Bool) -> [DigestShape] {
        var shapes: [DigestShape] = []
        func hasEnough(_ run: Range<Int>, _ add: (Range<Int>, [UInt8], inout [DigestShape]) -> Void) -> Bool {
            // With what may be before and after a digest.
            let start = max(0, run.lowerBound - surroundings)
            let part = [UInt8](copying: bytes.extracting(start..<min(run.upperBound + surroundings, bytes.count)))
            var found: [DigestShape] = []
            add(run.lowerBound - start..<run.upperBound - start, part, &found)
            shapes += found.map { $0.moved(by: start) }.filter { $0.mayBePin(in: bytes) }
            return onlyFirst && !shapes.isEmpty
        }
        if digits.hasRun(of: shortest, in: bytes, where: { hasEnough($0, add) }) { return shapes }
        // mutant find-spaced: 1_000_000 for `spacedLength` by PinSearchTests/shapes
        _ = spacedDigits.hasRun(of: spacedLength, in: bytes) { run in
            // Most of these runs are blanks alone.
            let digitCount = run.count { bytes[$0] != UInt8(ascii: " ") }
            return digitCount >= 40 && hasEnough(run, addSpaced)
        }
        return shapes
    }

    /// The number of bytes around a run that say what it is: the longest is an escaped prefix.
    private static let surroundings = 8

    /// Whether the digest can be a pin. SHA-1 is also the name of a commit, and SHA-512 a checksum, so that they are
    /// only looked at beside a word without which they are never pins.
    private func mayBePin(in bytes: Span<UInt8>) -> Bool {
        guard !hasPrefix else { return true }
        switch digest {
        case .sha256, .full: return true
        case .sha512: return Self.recordsAndFingerprints.isIn(bytes)
        case .sha1:
            let start = max(0, range.lowerBound - Self.nameReach)
            let words = form == .colons ? Self.fingerprintLists : Self.fingerprints
            // The label of a field in a form follows its value.
            let end = form == .colons ? min(bytes.count, range.upperBound + 4 * Self.nameReach) : range.lowerBound
            // mutant find-sha1: false for `words.isIn(bytes.extracting(start..<end))` by
            //   PinSearchTests/shapes
            return words.isIn(bytes.extracting(start..<end))
        }
    }

    /// The number of bytes before a digest in which its name is.
    private static let nameReach = 48
    private static let recordsAndFingerprints = WordSearch(["tlsa", "fingerprint"])
    private static let fingerprints = WordSearch(["fingerprint", "thumbprint", "servercert"])
    private static let fingerprintLists = WordSearch(["print", "hash", "sha1", "pins"])

    private func moved(by offset: Int) -> DigestShape {
        DigestShape(
            range: range.lowerBound + offset..<range.upperBound + offset, form: form, digest: digest, value: value,
            hasPrefix: hasPrefix)
    }

    /// The bytes that may be part of a digest or of its prefix: the digits of base64, and colons.
    private static let digits = ByteSet(lettersTo: 0x7A, 0x2F...0x3A, 0x2B...0x2B)
    /// Hexadecimal digits and spaces.
    private static let spacedDigits = ByteSet(lettersTo: 0x66, 0x30...0x39, 0x20...0x20)

    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"): true
        default: false
        }
    }

    /// Adds the digests of a run of hexadecimal digits and spaces: 32 pairs, as some tools print fingerprints.
    private static func addSpaced(_ run: Range<Int>, of bytes: [UInt8], to shapes: inout [DigestShape]) {
        var pairs: [ArraySlice<UInt8>] = []
        func end() {
            if let digest = pairDigests[pairs.count], let first = pairs.first, let last = pairs.last,
                let value = Hexadecimal.decode(Array(pairs.joined()))
            {
                shapes.append(
                    DigestShape(
                        range: first.startIndex..<last.endIndex, form: .colons, digest: digest, value: value,
                        hasPrefix: false))
            }
            pairs = []
        }
        var isFirst = true
        for part in bytes[run].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false) {
            // The last letter of a word can be before the first pair.
            let isCut = isFirst && part.startIndex > 0 && bytes[part.startIndex - 1].isWordByte
            let isOpen = part.endIndex < bytes.count && bytes[part.endIndex].isWordByte
            isFirst = false
            if part.count == 2, !isCut, !isOpen { pairs.append(part) } else { end() }
        }
        end()
    }

    private static let pairDigests: [Int: CanonicalPin.Digest] = [32: .sha256, 20: .sha1]

    /// Adds the digests of a run of digits and colons.
    private static func add(_ run: Range<Int>, of bytes: [UInt8], to shapes: inout [DigestShape]) {
        let parts = bytes[run].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        let pairs = parts.reversed().prefix { $0.count == 2 && Hexadecimal.decode($0) != nil }
        if let pairDigest = pairDigests[pairs.count], let value = Hexadecimal.decode(pairs.reversed().joined()) {
            let start = run.upperBound - (3 * pairs.count - 1)
            shapes.append(
                DigestShape(
                    range: start..<run.upperBound, form: .colons, digest: pairDigest, value: value, hasPrefix: false))
            return
        }
        for part in parts {
            let digest = [64: CanonicalPin.Digest.sha256, 128: .sha512, 40: .sha1][part.count]
            guard let digest, let value = Hexadecimal.decode(part) else { continue }
            shapes.append(DigestShape(range: part.indices, form: .hex, digest: digest, value: value, hasPrefix: false))
        }
        let equals = UInt8(ascii: "=")
        guard let last = parts.last else { return }
        let isPadded = last.endIndex < bytes.count && bytes[last.endIndex] == equals
        let end = last.endIndex + (isPadded ? 1 : 0)
        let next = end < bytes.count ? bytes[end] : 0
        guard next != equals, !isDigit(next), isPadded || next != UInt8(ascii: "-") else { return }
        let forms: [(prefix: String, digits: Int, digest: CanonicalPin.Digest)] = [
            ("", 43, .sha256), ("sha256/", 43, .sha256), ("sha256//", 43, .sha256), ("sha1/", 27, .sha1),
            // JSON may escape the slash.
            ("/", 43, .sha256),
        ]
        for (prefix, digits, digest) in forms
        // Some clients don't need the padding after a prefix.
        where (isPadded || !prefix.isEmpty) && last.count == prefix.utf8.count + digits
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
            // Text without a prefix may be anything, and only one of four texts has no bits to spare. The same
            // character again and again stands for a digest.
            let isDummy = Set(last.suffix(digits)).count <= 4
            // Browsers accept spare bits in a directive of RFC 7469.
            let isDirective = bytes[..<start].reversed().drop { "\"\\".utf8.contains($0) }.starts(with: "=652".utf8)
            let isLenient = isDummy || isDirective || !prefix.isEmpty
            let value = isLenient ? LenientBase64.decode(text) : Base64.decodeCanonical(Array(text))
            guard let value, value.count == digest.length, isLenient || isMixed(text) else { continue }
            shapes.append(
                DigestShape(
                    range: start..<end, form: .base64, digest: digest, value: value,
                    hasPrefix: !prefix.isEmpty))
        }
    }

    /// The texts before a digest that make it a pin.
    static let prefixes = ["sha256/", "sha256//", "sha1/", "sha-256/", "pin-sha256=", "pin-sha256:", "sha256\\/"]

    /// Whether a text in quotation marks or between blanks has nearly the form of a digest, such as one without
    /// padding, of the alphabet for URLs, cut off or misspelled.
    static func isDamaged(_ text: ArraySlice<UInt8>) -> Bool {
        let lower = String(decoding: text.prefix(12), as: UTF8.self).lowercased()
        let prefix = prefixes.filter { lower.hasPrefix($0) }.map(\.utf8.count).max() ?? 0
        let digits = text.dropFirst(prefix)
        let isHexadecimal = digits.allSatisfy { $0.isDigit || (0x61...0x66).contains($0 | 0x20) }
        if isHexadecimal, prefix == 0 { return digits.count != 64 && 56...72 ~= digits.count }
        let foreign = digits.count { !isDigit($0) && !"-_=".utf8.contains($0) }
        return foreign <= 2 && (prefix == 0 ? 36...48 : 16...60) ~= digits.count && isMixed(digits)
    }

    /// Whether a program or JSON may have pins, damaged or not, so that it is worth to read its literals. Texts are in
    /// quotation marks, but not in YAML.
    static func mayHavePins(_ bytes: Span<UInt8>, inQuotes: Bool = true) -> Bool {
        mayHaveDigests(bytes, inQuotes: inQuotes) || prefixWords.isIn(bytes)
    }

    /// Whether a program or JSON may have pins without a prefix.
    static func mayHaveDigests(_ bytes: Span<UInt8>, inQuotes: Bool) -> Bool {
        func hasQuote(_ range: Range<Int>) -> Bool { range.clamped(to: 0..<bytes.count).contains { bytes[$0].isQuote } }
        // A part of a digest at the beginning or the end of a text is enough. Longer texts contain other data.
        func isPart(_ run: Range<Int>) -> Bool {
            guard run.count <= longestText else { return false }
            guard inQuotes else { return true }
            guard
                hasQuote(run.lowerBound - margin..<run.lowerBound)
                    || hasQuote(run.upperBound..<run.upperBound + margin)
            else { return false }
            return text(around: run, in: bytes).map { $0.count >= shortestText } ?? true
        }
        let hasPart =
            partDigits.hasRun(of: 18, in: bytes) { isPart($0) && isRandom([UInt8](copying: bytes.extracting($0))[...]) }
            || hexadecimalDigits.hasRun(of: 56, in: bytes, where: isPart)
        return hasPart && words.isIn(bytes)
    }

    /// Returns the text in quotation marks around a run, without blanks before it, or `nil` if it may have an escaped
    /// character, or be one of several that are joined.
    private static func text(around run: Range<Int>, in bytes: Span<UInt8>) -> Range<Int>? {
        func isInside(_ byte: UInt8) -> Bool { !byte.isQuote && !byte.isLineEnd && byte != UInt8(ascii: "\\") }
        var (start, end) = (run.lowerBound, run.upperBound)
        while start > 0, run.lowerBound - start < longestText, isInside(bytes[start - 1]) { start -= 1 }
        while end < bytes.count, end - run.upperBound < longestText, isInside(bytes[end]) { end += 1 }
        guard start > 0, end < bytes.count, bytes[end].isQuote, bytes[start - 1] == bytes[end] else { return nil }
        var (before, after) = (start - 2, end + 1)
        while before >= 0, bytes[before].isBlank { before -= 1 }
        while after < bytes.count, bytes[after].isBlank { after += 1 }
        guard before >= 0, after < bytes.count, ",[({:=".utf8.contains(bytes[before]),
            ",])}:;".utf8.contains(bytes[after])
        else { return nil }
        while start < run.lowerBound, bytes[start] == UInt8(ascii: " ") { start += 1 }
        return start..<end
    }

    /// Whether `sha1/` at a position is part of as many digits as a damaged pin has.
    static func isSHA1(at position: Int, in bytes: Span<UInt8>) -> Bool {
        (bytes.has("sha1/", at: position) || bytes.has("SHA1/", at: position))
            && partDigits.run(around: position, in: bytes).count >= 16 + 5
    }

    /// The length of the longest digest, which is SHA-256 in pairs with colons, after a prefix.
    private static let longestText = 95 + 12
    /// The length of the shortest text that is a damaged pin without a prefix, less two quotation marks in it.
    private static let shortestText = 34
    /// The number of foreign bytes at an end of a text that is a damaged pin.
    private static let margin = 3

    private static let prefixWords = WordSearch(prefixes)
    private static let words = WordSearch(["pin", "spki", "hpkp", "print", "hash", "pkp", "key", "cert"])

    /// The digits of base64, also with the alphabet for URLs.
    private static let partDigits = ByteSet(lettersTo: 0x7A, 0x2F...0x39, 0x2B...0x2B, 0x2D...0x2D, 0x5F...0x5F)
    /// Hexadecimal digits and colons.
    private static let hexadecimalDigits = ByteSet(lettersTo: 0x66, 0x30...0x3A)

    /// Whether a text may be a part of a digest in base64: it has small and capital letters, and changes between
    /// letters and signs nearly as often as random ones do, which is at 64 of 100 bytes. Names and paths don't.
    private static func isRandom(_ text: ArraySlice<UInt8>) -> Bool {
        guard isMixed(text) else { return false }
        func kind(_ byte: UInt8) -> Int { byte >= 0x61 ? 2 : byte >= 0x41 ? 1 : 0 }
        let changes = zip(text, text.dropFirst()).count { kind($0) != kind($1) }
        // A text without numbers is more often a name. A whole digest without them is rare.
        let isNumbered = text.count >= 40 || text.contains { $0.isDigit || $0 == UInt8(ascii: "+") }
        return changes * 20 >= text.count * (isNumbered ? 6 : 9)
    }

    /// Whether a text has small and capital letters and something else, as nearly every random one has and no name.
    static func isMixed(_ text: ArraySlice<UInt8>) -> Bool {
        let digits = text.dropLast()
        return digits.contains { $0 >= UInt8(ascii: "a") } && digits.contains { $0 <= UInt8(ascii: "9") }
            && digits.contains { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }
    }
}
