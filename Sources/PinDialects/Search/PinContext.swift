import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The text around digests, which says whether they are pins and which hosts they are for.
struct PinContext {
    let text: SearchedText
    private let hosts: NearbyHost
    private let nameWords: PinWords
    /// Whether any word of pinning is in the file, without which no digest needs a closer look.
    private let hasWords: Bool
    private var wordsByLine: [Int: PinWords] = [:]
    /// Whether lines consist of digits in base64.
    private var digitLines: [Int: Bool] = [:]

    /// A judgement of a digest.
    enum Verdict: Equatable {
        case pin(CanonicalPin.Content)
        /// A pin if the same digest is one elsewhere.
        case unsure(CanonicalPin.Content)
        case never
    }

    init(_ text: SearchedText, _ hosts: NearbyHost) {
        self.text = text
        self.hosts = hosts
        let parts = text.name.split(separator: "/").suffix(2).joined(separator: "/")
        nameWords = PinWords(Array(parts.utf8)[...])
        let words = [
            "pin", "spki", "hpkp", "pkp", "print", "hash", "sha", "digest", "trustkit", "pubkey256", "cert256",
        ]
        hasWords =
            !nameWords.isDisjoint(with: [.pin, .fingerprint]) || text.bytes.hasAny(of: words, ignoringCase: true)
    }

    /// The part of a long line before and after a digest that is considered, in bytes.
    private static let reach = 160
    /// The number of lines above a digest whose words count, whatever they enclose.
    private static let linesAbove = 2
    private static let linesBelow = 3
    /// The number of lines above a digest in which the lines that enclose it are looked for.
    static let enclosingLines = 60

    /// The digests of an empty text and of an empty line, which programs compare to find mistakes.
    private static let nothing = [[], [0x0A]].map { (text: [UInt8]) in sha256Digest(text.span) }

    mutating func verdict(on shape: DigestShape) -> Verdict {
        let bytes = text.bytes
        let start = shape.range.lowerBound
        let before = String(decoding: bytes[max(0, start - 48)..<start], as: UTF8.self).lowercased()
        if shape.hasPrefix {
            let content: CanonicalPin.Content = before.hasSuffix("cert-") ? .certificate : .publicKey
            // A word before the prefix makes it a path, such as that of a blob.
            let isPath = bytes[..<start].last.map { $0.isWordByte || $0 == UInt8(ascii: "-") } ?? false
            return isPath && content == .publicKey ? .never : .pin(content)
        }
        if let content = Self.markedContent(before, shape.form) { return .pin(content) }
        for prefix in ["sha256-", "sha384-", "h1:", "@sha256:"] where before.hasSuffix(prefix) { return .never }
        if bytes[..<start].last.map({ $0.isWordByte || $0 == UInt8(ascii: "-") }) ?? false { return .never }
        if shape.range.upperBound < bytes.count, bytes[shape.range.upperBound].isWordByte { return .never }
        // One byte again and again is a placeholder, which texts with nothing in common have.
        guard !Self.nothing.contains(shape.value), Set(shape.value).count > 1 else { return .never }
        let line = text.line(at: start)
        let own = words(around: shape.range, line)
        guard !own.contains(.other), !isContinuation(line, shape) else { return .never }
        var enclosing: PinWords = []
        if hasWords { for above in lines(above: line) { enclosing.formUnion(words(ofLine: above)) } }
        guard !enclosing.contains(.other) || own.contains(.pin) else { return .never }
        var all = own.union(enclosing)
        let isCertificate = shape.form == .colons || !all.isDisjoint(with: [.certificate, .fingerprint])
        // Fingerprints in pairs are those of certificates, if one of the words around says so.
        let isKey = all.contains(.key) && !(shape.form == .colons && all.contains(.certificate))
        let content: CanonicalPin.Content = isCertificate && !isKey ? .certificate : .publicKey
        guard hasWords else { return .unsure(content) }
        all.formUnion(nameWords)
        // A list with a name of its own may be used below it.
        for below in line + 1..<max(line + 1, min(line + 1 + Self.linesBelow, text.lineStarts.count)) {
            all.formUnion(words(ofLine: below).subtracting([.other, .report]))
        }
        let isNamed = all.contains(.pin)
        let isFingerprint = all.contains(.fingerprint) && all.contains(.tls) && !text.isComment(start)
        let isPin =
            switch shape.form {
            case .base64: isNamed || isFingerprint
            case .colons: isNamed && all.contains(.tls) || isFingerprint
            // Versions of packages and images are pinned by such digests.
            case .hex:
                isNamed && all.contains(.tls) && !before.hasSuffix("sha256:")
                    || own.isSuperset(of: [.fingerprint, .tls]) && !text.isComment(start)
            }
        return isPin ? .pin(content) : .unsure(content)
    }

    /// Returns what is pinned if the text before a digest says by itself that it is a pin.
    private static func markedContent(_ before: String, _ form: DigestShape.Form) -> CanonicalPin.Content? {
        let end = before.reversed().drop { "\"'\\ `".contains($0) }
        func follows(_ words: String...) -> Bool { words.contains { end.starts(with: $0.reversed()) } }
        switch form {
        case .base64:
            // `<pin digest="SHA-256">` and a directive of RFC 7469.
            return follows("pin-sha256=", "pin-sha256:", "digest=\"sha-256\">", "pin-sha256=%22") ? .publicKey : nil
        case .hex:
            if follows("cert-hash sha256:", "cert-hash=sha256:", "pin-sha256:") { return .publicKey }
            // openconnect hashes the public key.
            if follows("servercert sha256:", "servercert=sha256:", "servercert=\"sha256:", "servercert 'sha256:") {
                return .publicKey
            }
            // Usage, selector and matching type of a TLSA record.
            let fields = before.split(separator: " ").suffix(3)
            guard before.hasSuffix(" "), fields.count == 3, fields[fields.startIndex + 2] == "1",
                let usage = fields.first?.utf8.reversed().prefix(2), let number = usage.first,
                UInt8(ascii: "0")...UInt8(ascii: "3") ~= number, !(usage.dropFirst().first?.isWordByte ?? false)
            else { return nil }
            let selector = fields[fields.startIndex + 1]
            return selector == "1" ? .publicKey : selector == "0" ? .certificate : nil
        case .colons: return nil
        }
    }

    /// Whether a line continues a text in base64 of several lines, such as a certificate.
    private mutating func isContinuation(_ line: Int, _ shape: DigestShape) -> Bool {
        // A digest in hexadecimal digits above another one is part of a list.
        guard line > 0, shape.form != .hex || !hosts.taken.contains(line - 1) else { return false }
        if let known = digitLines[line - 1] { return known }
        let above = text.bytes[text.range(ofLine: line - 1)].drop(while: \.isBlank)
        let isDigits = above.count >= 48 && above.allSatisfy { DigestShape.isDigit($0) }
        digitLines[line - 1] = isDigits
        return isDigits
    }

    // MARK: - Words

    private mutating func words(around range: Range<Int>, _ line: Int) -> PinWords {
        let whole = text.range(ofLine: line)
        let first = max(whole.lowerBound, range.lowerBound - Self.reach)
        let last = min(whole.upperBound, range.upperBound + Self.reach / 4)
        return words(in: first..<range.lowerBound).union(words(in: range.upperBound..<max(last, range.upperBound)))
    }

    /// Returns the words of a part of a line. Neither a host such as `download.example.com` nor a comment says that a
    /// digest is something else.
    private func words(in range: Range<Int>) -> PinWords {
        var words: PinWords = []
        var start = range.lowerBound
        let comments = text.comments(in: range)
        // mutant find-other-words: [] by PinSearchTests/found
        let hosts = hosts.places(in: range).map(\.range)
        for end in (hosts + comments).sorted(by: { $0.lowerBound < $1.lowerBound })
        where end.upperBound > start {
            words.formUnion(PinWords(text.bytes[start..<max(start, end.lowerBound)]))
            start = end.upperBound
        }
        words.formUnion(PinWords(text.bytes[start..<range.upperBound]))
        for comment in comments { words.formUnion(PinWords(text.bytes[comment]).subtracting(.other)) }
        return words
    }

    private mutating func words(ofLine line: Int) -> PinWords {
        if let known = wordsByLine[line] { return known }
        let range = text.range(ofLine: line).prefix(2 * Self.reach)
        let words = words(in: range.startIndex..<range.endIndex)
        wordsByLine[line] = words
        return words
    }

    /// Returns the lines above a line that belong to it: those that enclose it, which have less indentation, and the
    /// next ones.
    private func lines(above line: Int) -> [Int] {
        var lines: [Int] = []
        var least = text.indentation(ofLine: line) ?? 0
        var line = line
        for above in stride(from: line - 1, through: max(0, line - Self.enclosingLines), by: -1) {
            // The digests of a list have one name.
            if hosts.taken.contains(above), above == line - 1 { line = above }
            guard let indentation = text.indentation(ofLine: above) else { continue }
            if indentation < least {
                lines.append(above)
                least = indentation
            } else if line - above <= Self.linesAbove {
                lines.append(above)
            }
            if least == 0, line - above >= Self.linesAbove { break }
        }
        return lines
    }
}
