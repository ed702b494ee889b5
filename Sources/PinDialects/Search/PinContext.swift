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
    /// The positions at which the digests end.
    private let ends: Set<Int>
    /// The lines that begin certificates, in order.
    private lazy var certificateLines = text.lines(with: "-----BEGIN CERTIFICATE")
    /// Whether values with these names are used as pins below.
    private var usedNames: [String: Bool] = [:]

    /// A judgement of a digest.
    enum Verdict: Equatable {
        case pin(CanonicalPin.Content)
        /// A pin if the same digest is one elsewhere.
        case unsure(CanonicalPin.Content)
        /// The digest of an empty text or an empty line, which is a mistake in a list of pins.
        case nothing
        /// A text in the form of a digest for which another one is to be written. It is a pin in a list of pins.
        case placeholder
        case never
    }

    init(_ text: SearchedText, _ hosts: NearbyHost, _ shapes: [DigestShape]) {
        self.text = text
        self.hosts = hosts
        ends = Set(shapes.map(\.range.upperBound))
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
        if shape.form == .hex, hasRecords, let content = text.recordContent(of: shape) { return .pin(content) }
        // Other digests of this length are checksums.
        // mutant find-sha512: false for `shape.digest == .sha512` by PinSearchTests/records
        if shape.digest == .sha512 { return .never }
        // mutant find-record: false for 2 by PinSearchTests/notFound
        if shape.form == .hex, Self.isOtherRecord(before) { return .never }
        let name = text.name(before: start)
        // mutant find-kubeadm: false for 1 by PinSearchTests/shapes
        if shape.form == .hex, before.hasSuffix("sha256:"), let name {
            let words = PinWords(name)
            // kubeadm hashes the public key of a cluster's CA.
            let isAuthority =
                ["cacerthashes", "cacerthash"].contains { plain(name).hasSuffix($0) }
                || plain(name).hasSuffix("cahash") && joinsCluster
            if isAuthority { return .pin(.publicKey) }
            if words.isSuperset(of: [.pin, .tls]) { return .pin(words.contains(.key) ? .publicKey : .certificate) }
        }
        // mutant find-secret: false for 2 by PinSearchTests/notFound
        if let name, PinWords.isSecret(name) { return .never }
        for prefix in ["sha256-", "sha384-", "h1:", "@sha256:"] where before.hasSuffix(prefix) { return .never }
        if bytes[..<start].last.map({ $0.isWordByte || $0 == UInt8(ascii: "-") }) ?? false { return .never }
        if shape.range.upperBound < bytes.count, bytes[shape.range.upperBound].isWordByte { return .never }
        if Self.nothing.contains(shape.value) { return .nothing }
        // A few bytes again and again are a placeholder or a small number, which texts with nothing in common have.
        // mutant find-number: 2 for `Self.leastBytes` by PinSearchTests/notFound
        guard Set(shape.value).count >= Self.leastBytes else {
            guard shape.form == .base64, shape.isPlaceholder(in: bytes) else { return .never }
            // mutant find-dummy: .never for `isNamed ? .pin(.publicKey) : .placeholder` by PinSearchTests/standings
            let isNamed = name.map { PinWords($0).contains(.pin) } ?? false
            return isNamed ? .pin(.publicKey) : .placeholder
        }
        if shape.digest == .sha1 { return isFingerprintSetting(name) ? .pin(.certificate) : .never }
        let line = text.line(at: start)
        let own = words(around: shape.range, line)
        guard !own.contains(.other), !isContinuation(line, shape), !continuesText(shape) else { return .never }
        // mutant find-listing: false by PinSearchTests/notFound
        if describesCertificate(shape, line) { return .never }
        // The certificates of a connection, as Node.js prints them.
        // mutant find-dump: false for 2 by PinSearchTests/notFound
        if let name, plain(name) == "fingerprint256", text.language == .prose || text.isComment(start) {
            return .unsure(.certificate)
        }
        // The subject of a certificate above the digest of its key, as scripts for pins print them.
        // mutant find-subject: false for `isBelowSubject(line, shape)` by PinSearchTests/shapes
        if shape.form == .base64, isBelowSubject(line, shape) { return .pin(.publicKey) }
        var enclosing: PinWords = []
        if hasWords { for above in lines(above: line) { enclosing.formUnion(words(ofLine: above)) } }
        guard !enclosing.contains(.other) || own.contains(.pin) else { return .never }
        var all = own.union(enclosing)
        // mutant find-app: true by PinSearchTests/notFound
        guard !all.contains(.app) || all.isDisjoint(with: .certificate) || all.contains(.key) else { return .never }
        let isCertificate = shape.form == .colons || !all.isDisjoint(with: [.certificate, .fingerprint])
        // Fingerprints in pairs are those of certificates, if one of the words around says so.
        let isKey = all.contains(.key) && !(shape.form == .colons && all.contains(.certificate))
        let content: CanonicalPin.Content = isCertificate && !isKey ? .certificate : .publicKey
        guard hasWords else { return .unsure(content) }
        all.formUnion(nameWords)
        // A list with a name of its own may be used below it.
        for below in line + 1..<max(line + 1, min(line + 1 + Self.linesBelow, text.lineStarts.count)) {
            // Another statement says nothing of digits that can be anything.
            if shape.form == .hex, text.isProgram, hasAssignment(below, before: .max) { continue }
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
                    || own.contains(.fingerprint) && all.contains(.tls) && !text.isComment(start)
            }
        if isPin { return .pin(content) }
        // mutant find-used-list: false for `isUsedAsPins(line, shape)` by PinSearchTests/lists
        let isUsed = shape.form == .base64 && isUsedAsPins(line, shape)
        return isUsed ? .pin(content) : .unsure(content)
    }

    /// The number of different bytes that nearly every digest exceeds by far.
    private static let leastBytes = 12

    /// Returns a name in lower case, without the signs between its words.
    private func plain(_ name: ArraySlice<UInt8>) -> String {
        PinMapReader.plain(String(decoding: name, as: UTF8.self))
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
            let fields = before.split { $0 == " " || $0 == "\t" }.suffix(3)
            guard before.last == " " || before.last == "\t", fields.count == 3, Int(fields[fields.startIndex + 2]) == 1,
                let usage = fields.first?.drop(while: { !$0.isNumber }), let number = Int(usage), 0...3 ~= number,
                !(fields.first?.utf8.dropLast(usage.utf8.count).last?.isWordByte ?? false)
            else { return nil }
            let selector = Int(fields[fields.startIndex + 1])
            return selector == 1 ? .publicKey : selector == 0 ? .certificate : nil
        case .colons: return nil
        }
    }

    /// Whether a digest follows the numbers of a DNS record that has digests of something else: `DS 41213 8 2 …`.
    private static func isOtherRecord(_ before: String) -> Bool {
        let fields = before.split { $0 == " " || $0 == "\t" }
        guard let type = fields.last(where: { Int($0) == nil }), fields.last.map({ Int($0) != nil }) ?? false else {
            return false
        }
        return ["ds", "cds", "dlv", "sshfp", "zonemd", "smimea"].contains(type)
    }

    /// Whether a text has the name of TLSA records.
    private lazy var hasRecords = text.bytes.hasAny(of: ["tlsa"], ignoringCase: true)
    /// Whether a text calls kubeadm with the digest of the key of a cluster's CA.
    private lazy var joinsCluster = text.bytes.hasAny(of: ["discovery-token-ca-cert-hash"])

    /// Whether a name is that of a setting for the fingerprint of a server's certificate, so that its value is one although
    /// its digest is SHA-1.
    private func isFingerprintSetting(_ name: ArraySlice<UInt8>?) -> Bool {
        guard let name else { return false }
        let words = PinWords(name)
        return words.contains(.fingerprint) && !words.isDisjoint(with: [.tls, .pin]) && !words.contains(.other)
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

    /// Whether a digest in base64 is the end of a longer text that a program puts together from parts.
    private func continuesText(_ shape: DigestShape) -> Bool {
        guard shape.form == .base64 else { return false }
        let bytes = text.bytes
        var index = shape.range.lowerBound
        let least = max(0, index - Self.reach)
        while index > least {
            let byte = bytes[index - 1]
            if byte.isBlank || byte.isLineEnd || byte.isQuote || "+.,&@\\*#".utf8.contains(byte) {
                index -= 1
            } else if "nr".utf8.contains(byte), index > 1, bytes[index - 2] == UInt8(ascii: "\\") {
                index -= 2
            } else {
                break
            }
        }
        guard index < shape.range.lowerBound, !ends.contains(index) else { return false }
        let part = bytes[..<index].suffix(Self.longestPart).reversed().prefix(while: DigestShape.isDigit)
        // A long name or a path isn't a multiple of four digits by chance alone.
        // mutant find-parts: false by PinSearchTests/notFound
        return part.count >= 48 && part.count % 4 == 0 && DigestShape.isMixed(Array(part)[...])
    }

    /// The part of the text before a digest that is looked at, and more than a line of a certificate has.
    private static let longestPart = 400

    /// Whether a fingerprint with a label describes a certificate of a list, as in a bundle of CA certificates.
    private mutating func describesCertificate(_ shape: DigestShape, _ line: Int) -> Bool {
        guard shape.form != .base64 else { return false }
        let label = text.bytes[text.lineStarts[line]..<shape.range.lowerBound]
        guard label.count <= Self.reach, !label.contains(where: \.isQuote) else { return false }
        let words = Set(PinWords.words(label))
        guard words.contains("sha"), !words.isDisjoint(with: ["fingerprint", "thumbprint"]),
            words.isSubset(of: ["sha", "fingerprint", "thumbprint", "certificate", "cert", "x", "openssl"])
        else { return false }
        let index = certificateLines.firstIndex(notBefore: { $0 < line - Self.longestCertificate })
        return index < certificateLines.count && certificateLines[index] <= line + Self.longestCertificate
    }

    /// The number of lines between the description of a certificate and the certificate.
    private static let longestCertificate = 150

    /// Whether a digest is alone in its line, and the line above it is the subject of a certificate.
    private func isBelowSubject(_ line: Int, _ shape: DigestShape) -> Bool {
        guard text.language == .prose, line > 0 else { return false }
        let own = text.bytes[text.range(ofLine: line)]
        let rest = own.count { !$0.isBlank && !$0.isQuote } - shape.range.count
        let above = String(decoding: text.bytes[text.range(ofLine: line - 1)].prefix(2 * Self.reach), as: UTF8.self)
        return rest == 0 && above.contains("CN=") && (above.contains("O=") || above.contains("C="))
    }

    // MARK: - Names

    /// Whether the name of a value in a program is used as one of pins elsewhere in it.
    private mutating func isUsedAsPins(_ line: Int, _ shape: DigestShape) -> Bool {
        guard text.isProgram else { return false }
        var declaration = line
        if !hasAssignment(line, before: shape.range.lowerBound) {
            let own = text.indentation(ofLine: line) ?? 0
            guard
                let above = lines(above: line).first(where: {
                    (text.indentation(ofLine: $0) ?? 0) < own && hasAssignment($0, before: .max)
                })
            else { return false }
            declaration = above
        }
        guard let name = assignedName(declaration), name.utf8.count > 2,
            usedNames.count < Self.mostNames || usedNames[name] != nil
        else { return false }
        if let known = usedNames[name] { return known }
        var isUsed = false
        for other in text.lines(with: name).prefix(Self.mostUses) where other != declaration {
            let words = words(ofLine: other).union(nameWords)
            if words.isSuperset(of: [.pin, .tls]), text.hasWord(name, inLine: other) { isUsed = true }
        }
        usedNames[name] = isUsed
        return isUsed
    }

    private static let mostUses = 30
    private static let mostNames = 16

    private func hasAssignment(_ line: Int, before end: Int) -> Bool {
        let range = text.range(ofLine: line)
        return text.bytes[range.lowerBound..<max(range.lowerBound, min(range.upperBound, end))]
            .contains(UInt8(ascii: "="))
    }

    /// Returns the name that a line sets, as in `const PINS: string[] = [`.
    private func assignedName(_ line: Int) -> String? {
        let left = text.bytes[text.range(ofLine: line)].prefix { $0 != UInt8(ascii: "=") }
            .prefix { $0 != UInt8(ascii: ":") }
        return left.split { !$0.isWordByte && $0 != UInt8(ascii: "$") }.last.map { String(decoding: $0, as: UTF8.self) }
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

    /// Whether a line above a digest can say what the digest is: a comment can, and a statement before that of the
    /// digest can't. `isInside` is whether a line between them encloses the digest.
    private func isSameStatement(_ above: Int, _ line: Int, isInside: Bool) -> Bool {
        if text.isComment(line: above) { return true }
        guard !isInside else { return !text.isProgram }
        guard text.isProgram, hasAssignment(line, before: .max) else { return true }
        let end = text.bytes[text.range(ofLine: above)].last { !$0.isBlank }
        return end.map(",([{=+&|.:\\".utf8.contains) ?? true
    }

    /// Returns the lines above a line that belong to it: those that enclose it, which have less indentation, and the
    /// next ones.
    private func lines(above line: Int) -> [Int] {
        var lines: [Int] = []
        let own = text.indentation(ofLine: line) ?? 0
        var least = own
        let first = line
        var line = line
        for above in stride(from: line - 1, through: max(0, line - Self.enclosingLines), by: -1) {
            // The digests of a list have one name.
            if hosts.taken.contains(above), above == line - 1 { line = above }
            guard let indentation = text.indentation(ofLine: above) else { continue }
            if indentation < least {
                lines.append(above)
                least = indentation
            } else if line - above <= Self.linesAbove,
                // mutant find-statement: true for `isSameStatement(above, first, isInside: least < own)` by
                //   PinSearchTests/notFound
                isSameStatement(above, first, isInside: least < own)
            {
                lines.append(above)
            }
            if least == 0, line - above >= Self.linesAbove { break }
        }
        return lines
    }
}
