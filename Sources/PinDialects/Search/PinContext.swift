import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The text around digests, which says whether they are pins and which hosts they are for.
struct PinContext {
    let text: SearchedText
    private var hosts: NearbyHost
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
            "servercert", "trusted-cert", "trusted_cert", "trustedcert",
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
        // The digest is a pin only if it is one elsewhere, whatever is around it.
        guard mayPin else {
            let isDigest =
                Set(shape.value).count >= DigestShape.leastBytes && shape.digest == .sha256
                && !(text.language == .zone && isOfOtherRecord(shape))
            return isDigest ? .unsure(shape.form == .colons ? .certificate : .publicKey) : .never
        }
        let bytes = text.bytes
        let start = shape.range.lowerBound
        let before = String(decoding: bytes[max(0, start - 48)..<start], as: UTF8.self).lowercased()
        let name = text.name(before: start)
        if shape.hasPrefix {
            let content: CanonicalPin.Content = before.hasSuffix("cert-") ? .certificate : .publicKey
            // A word before the prefix makes it a path, such as that of a blob.
            let isPath = bytes[..<start].last.map { $0.isWordByte || $0 == UInt8(ascii: "-") } ?? false
            return isPath && content == .publicKey ? .never : .pin(content)
        }
        if isOfOtherRecord(shape) { return .never }
        // A search for a certificate.
        // mutant find-crt-search: false by PinSearchTests/notFound
        if before.hasSuffix("crt.sh/?q=") || before.hasSuffix("crt.sh/?id=") { return .never }
        if let content = Self.markedContent(before, shape) ?? settingContent(name, before, shape) {
            return .pin(content)
        }
        if shape.form == .hex, hasRecords, let content = text.recordContent(of: shape) { return .pin(content) }
        // Other digests of this length are checksums.
        // mutant find-sha512: false for `shape.digest == .sha512` by PinSearchTests/records
        if shape.digest == .sha512 { return .never }
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
        // mutant find-file-digest: false for 2 by PinSearchTests/notFound
        if let name, isOfNamedFile(name) { return .never }
        // mutant find-secret: false for 2 by PinSearchTests/notFound
        if let name, PinWords.isSecret(name) { return .never }
        for prefix in ["sha256-", "sha384-", "h1:", "@sha256:"] where before.hasSuffix(prefix) { return .never }
        if bytes[..<start].last.map({ $0.isWordByte || $0 == UInt8(ascii: "-") }) ?? false { return .never }
        if shape.range.upperBound < bytes.count, bytes[shape.range.upperBound].isWordByte { return .never }
        if Self.nothing.contains(shape.value) { return .nothing }
        // A few bytes again and again are a placeholder or a small number, which texts with nothing in common have.
        // mutant find-number: 2 for `DigestShape.leastBytes` by PinSearchTests/notFound
        guard Set(shape.value).count >= DigestShape.leastBytes else {
            let own = words(around: shape.range, text.line(at: start))
            // mutant find-dummy: false for 2 by PinSearchTests/placeholders
            if shape.form != .hex, own.union(name.map { PinWords($0) } ?? []).contains(.pin) { return .pin(.publicKey) }
            if isFingerprintSetting(name) { return .pin(.certificate) }
            return shape.form == .base64 ? .placeholder : .never
        }
        if shape.digest == .sha1, shape.form == .hex { return .never }
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
        var isListed = false
        for above in hasWords ? lines(above: line) : [] {
            // What is above the name of a list of pins is about something else.
            // mutant find-other-line: false for `isListed` by PinSearchTests/settings
            let counting = isListed ? words(ofLine: above).subtracting(.other) : words(ofLine: above)
            enclosing.formUnion(counting)
            isListed = isListed || counting.isSuperset(of: [.pin, .tls, .key]) && !text.isComment(line: above)
        }
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
        let isFingerprint = all.contains(.fingerprint) && all.contains(.tls)
        let isPin =
            switch shape.form {
            case .base64: isNamed || isFingerprint || isAboutPinning && name.map(Self.isFingerprint) ?? false
            // mutant find-pairs: false for `isAboutPinning && all.contains(.fingerprint)` by PinSearchTests/settings
            case .colons: isNamed && all.contains(.tls) || isFingerprint || isAboutPinning && all.contains(.fingerprint)
            // Versions of packages and images are pinned by such digests.
            case .hex:
                isNamed && all.contains(.tls) && !before.hasSuffix("sha256:")
                    || own.contains(.fingerprint) && all.contains(.tls)
            }
        if isPin { return .pin(content) }
        // mutant find-used-list: false for `isUsedAsPins(line, shape)` by PinSearchTests/lists
        let isUsed = shape.form == .base64 && isUsedAsPins(line, shape)
        return isUsed ? .pin(content) : .unsure(content)
    }

    /// Whether a value of an array or an argument is the digest of nothing, which nothing is compared with.
    mutating func isEmptyPin(_ shape: DigestShape) -> Bool {
        guard Self.nothing.contains(shape.value) else { return false }
        let before = text.bytes[..<shape.range.lowerBound].reversed().drop { $0.isQuote || $0.isBlank || $0.isLineEnd }
        let isListed = before.first.map("[({,".utf8.contains) ?? false
        return isListed
            && (shape.hasPrefix || words(around: shape.range, text.line(at: shape.range.lowerBound)).contains(.pin))
    }

    /// Returns a name in lower case, without the signs between its words.
    func plain(_ name: ArraySlice<UInt8>) -> String {
        PinMapReader.plain(String(decoding: name, as: UTF8.self))
    }

    /// Whether a text is about the pins of servers.
    private(set) lazy var isAboutPinning = text.bytes.hasAny(
        of: ["pinning", "pinner", "setfingerprint", "fingerprintset", "trusted_fingerprint"], ignoringCase: true)
    /// Whether a text names the option of openconnect for a server's certificate.
    private(set) lazy var namesServerCertificate = text.bytes.hasAny(of: ["--servercert"])
    /// Whether a text has anything that can make a digest a pin.
    // mutant find-words-first: false for `hasWords || hasRecords || hosts.hasOwners` by PinSearchTests/found
    private(set) lazy var mayPin = hasWords || hasRecords || hosts.hasOwners
    /// Whether a text has the name of TLSA records.
    private lazy var hasRecords = text.bytes.hasAny(of: ["tlsa"], ignoringCase: true)
    /// Whether a text calls kubeadm with the digest of the key of a cluster's CA.
    private lazy var joinsCluster = text.bytes.hasAny(of: ["discovery-token-ca-cert-hash"])

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
    mutating func describesCertificate(_ shape: DigestShape, _ line: Int) -> Bool {
        guard shape.form != .base64 else { return false }
        let label = text.bytes[text.lineStarts[line]..<shape.range.lowerBound]
        guard label.count <= Self.reach, !label.contains(where: \.isQuote) else { return false }
        let words = Set(PinWords.words(label))
        guard words.contains("sha"), !words.isDisjoint(with: ["fingerprint", "thumbprint"]),
            words.isSubset(of: ["sha", "fingerprint", "thumbprint", "certificate", "cert", "x", "openssl"])
        else { return false }
        // As the openssl command prints it.
        // mutant find-printed: false for `shape.digest == .sha1 && label.last == UInt8(ascii: "=")` by
        //   PinSearchTests/notFound
        if shape.digest == .sha1 && label.last == UInt8(ascii: "=") { return true }
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
        guard text.isProgram, let (name, declaration) = declaration(line, shape), name.utf8.count > 2,
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

    /// Returns the name that a digest's line or a line around it sets, with that line.
    private func declaration(_ line: Int, _ shape: DigestShape) -> (name: String, line: Int)? {
        if hasAssignment(line, before: shape.range.lowerBound) { return assignedName(line).map { ($0, line) } }
        let own = text.indentation(ofLine: line) ?? 0
        let above = lines(above: line).first {
            (text.indentation(ofLine: $0) ?? 0) < own && hasAssignment($0, before: .max)
        }
        return above.flatMap { line in assignedName(line).map { ($0, line) } }
    }

    /// Whether a value is named as a key or as a digest, so that it is a pin in a program that compares keys.
    func isNamedAsKey(_ shape: DigestShape) -> Bool {
        guard shape.form == .base64, let (name, line) = declaration(text.line(at: shape.range.lowerBound), shape) else {
            return false
        }
        // Keys for signatures have the same form.
        let above = text.bytes[text.lineStarts[max(0, line - 2)]..<text.range(ofLine: line).upperBound]
        // mutant find-signature-keys: false by PinSearchTests/notFound
        if !PinWords.words(above).allSatisfy({ !$0.hasPrefix("sign") }) { return false }
        let words = PinWords.words(Array(name.utf8)[...])
        return PinWords(Array(name.utf8)[...]).contains(.key) || !Set(words).isDisjoint(with: ["hash", "hashes"])
    }

    /// Whether a program takes the key of a server's certificate to compare it.
    private(set) lazy var comparesKeys =
        text.isProgram && text.bytes.hasAny(of: ["Asn1Header", "SecTrustCopy", "SecTrustEvaluate"])

    static let mostUses = 30
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

    mutating func words(around range: Range<Int>, _ line: Int) -> PinWords {
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
