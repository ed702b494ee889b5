import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader of Alamofire's trust evaluators in Swift, which pin the certificates of the app's bundle, or their keys.
///
/// The evaluators are the values of hosts in a dictionary: `PinnedCertificatesTrustEvaluator`,
/// `PublicKeysTrustEvaluator`, one of them in a `CompositeTrustEvaluator`, and in Alamofire 4 `.pinCertificates` and
/// `.pinPublicKeys`. The bundle's certificates are those of the project (``BundledCertificates``).
struct AlamofireReader {
    private let path: String
    private let literals: SourceLiterals
    private let text: TextCursor
    private let certificates: BundledCertificates
    private var problems: PolicyProblems
    private var notes: [ConversionNote] = []
    private var rules: [CanonicalRule] = []
    /// The bytes of the evaluators that were read.
    private var readRanges: [Range<Int>] = []
    private var files: Set<String> = []

    /// The evaluators that pin, with what they compare.
    private static let evaluators: [String: CanonicalPin.Content] = [
        "PinnedCertificatesTrustEvaluator": .certificate, "PublicKeysTrustEvaluator": .publicKey,
        "pinCertificates": .certificate, "pinPublicKeys": .publicKey,
    ]
    /// The words of which a program with pins of Alamofire has one.
    static let words = [
        "PinnedCertificatesTrustEvaluator", "PublicKeysTrustEvaluator", ".pinCertificates(", ".pinPublicKeys(",
    ]

    /// Whether a program creates an evaluator that pins.
    static func isIn(_ bytes: [UInt8]) -> Bool { !calls(TextCursor(bytes)).isEmpty }

    /// Reads a file. `project` has the certificates.
    static func read(
        _ bytes: [UInt8], path: String, project: SourceProject? = nil
    ) throws(PolicyFileError) -> DialectReading {
        let cursor = try TextCursor(checking: bytes, path: path)
        let certificates = BundledCertificates(project, program: String(decoding: bytes, as: UTF8.self))
        var reader = AlamofireReader(SourceLiterals(bytes, cursor, path: path), cursor, certificates, path: path)
        for root in reader.literals.roots { reader.takeHosts(root.literal) }
        if reader.literals.isExhausted {
            reader.problems.add(SourceLiterals.exhaustion, at: SourcePosition(line: 1, column: 1))
        }
        reader.takeUnread()
        guard reader.problems.isEmpty else {
            throw PolicyFileError(problems: reader.problems.sorted, known: reader.rules, files: reader.files)
        }
        var reading = DialectReading(CanonicalPolicy(rules: reader.rules, combination: .union), notes: reader.notes)
        reading.constantFiles = reader.files
        return reading
    }

    private init(
        _ literals: SourceLiterals, _ text: TextCursor, _ certificates: BundledCertificates, path: String
    ) {
        (self.literals, self.text, self.certificates, self.path) = (literals, text, certificates, path)
        problems = PolicyProblems(path: path)
    }

    // MARK: Hosts

    /// Takes the hosts of a literal and of those inside of it.
    private mutating func takeHosts(_ literal: SourceLiteral) {
        switch literal.kind {
        case .list(let elements, _): for element in elements { takeHosts(element) }
        case .object(let members):
            // The arguments of a call have labels in place of hosts.
            let isDictionary = text.text(in: literal.range).hasPrefix("[")
            for member in members {
                if isDictionary, let evaluator = evaluator(member.value) {
                    take(member, evaluator)
                } else {
                    takeHosts(member.value)
                }
            }
        case .text, .word, .expression: break
        }
    }

    /// An evaluator that pins.
    private struct Evaluator {
        let content: CanonicalPin.Content
        let literal: SourceLiteral
        /// The literal in which the evaluator is: itself, or a composite one.
        let whole: SourceLiteral
    }

    /// Returns the evaluator that a literal is, or that the constant is set to that it names.
    private func evaluator(_ literal: SourceLiteral, depth: Int = 0) -> Evaluator? {
        if let word = literal.word, depth < 8 {
            var used: Set<String> = []
            return literals.value(of: word, used: &used).flatMap { evaluator($0, depth: depth + 1) }
        }
        if let content = Self.evaluators[name(of: literal)] {
            return Evaluator(content: content, literal: literal, whole: literal)
        }
        guard name(of: literal) == "CompositeTrustEvaluator",
            case .list(let elements, _)? = literal.members?.first(where: { $0.key == "evaluators" })?.value.kind
        else { return nil }
        // All of them must accept, which no policy of one rule says.
        let inner = elements.compactMap { evaluator($0, depth: depth + 1) }
        guard let first = inner.first, inner.count == 1, depth < 8 else { return nil }
        return Evaluator(content: first.content, literal: first.literal, whole: literal)
    }

    /// Returns the name of the type or function that a literal begins with, without `try` and what is before a dot.
    private func name(of literal: SourceLiteral) -> String {
        let range = literal.range
        let text = text.text(in: range.lowerBound..<min(range.upperBound, range.lowerBound + 200))
        let words = text.prefix { $0 != "(" }.split { $0 == " " || $0 == "." || $0 == "!" || $0 == "?" }
        return words.last.map(String.init) ?? ""
    }

    private mutating func take(_ member: SourceLiteral.Member, _ evaluator: Evaluator) {
        for literal in [evaluator.whole, evaluator.literal] { readRanges.append(literal.range) }
        var host: String? = member.key
        if member.isComputed {
            var used: Set<String> = []
            host = literals.value(of: member.key, used: &used)?.text
        }
        guard let host else {
            problems.add(Self.message(onHost: member.key), at: member.position)
            return
        }
        // Alamofire looks for the URL's host in the dictionary.
        guard let name = try? ServerName(host), name.description == host else {
            problems.add(
                "\(quoted(host)) is no URL's host, so Alamofire never uses its evaluator: write the host in small "
                    + "letters, without scheme, port or wildcard", at: member.position, rule: .malformedHost)
            return
        }
        guard !rules.contains(where: { $0.patterns[0].host == host }) else {
            problems.add("\(quoted(host)) has two evaluators: give each a file of its own", at: member.position)
            return
        }
        noteSettings(of: evaluator)
        do throws(BundledCertificates.Failure) {
            let found = try certificates.certificates(named: argument(of: evaluator))
            for file in found.ignored {
                note(
                    .weaker,
                    "Alamofire ignores \(file), which isn't a certificate in DER: convert it with openssl x509 "
                        + "-outform DER", at: evaluator.literal.position, rule: .ignoredSetting)
            }
            files.formUnion(found.certificates.map(\.path))
            var rule = CanonicalRule(
                patterns: [HostPattern(host, .exact)], pins: [], location: location(member.position))
            rule.pins = found.certificates.map { pin(of: $0, evaluator) }.without([])
            guard rules.count < TextLimits.rules, rule.pins.count <= TextLimits.pins else {
                throw BundledCertificates.Failure(
                    message: "there are more than \(TextLimits.rules) hosts, or \(TextLimits.pins) certificates")
            }
            rules.append(rule)
        } catch {
            problems.add(error.message, at: evaluator.literal.position)
        }
    }

    private func pin(of file: BundledCertificates.File, _ evaluator: Evaluator) -> CanonicalPin {
        var pin =
            evaluator.content == .certificate
            ? CanonicalPin(.certificate, .sha256, Array(copying: file.certificate.fingerprint.bytes.span))
            : CanonicalPin(.publicKey, .sha256, Array(copying: file.certificate.spkiFingerprint.bytes.span))
        pin.name = CanonicalPin.name(in: file.name)
        pin.location = location(evaluator.literal.position)
        return pin
    }

    // MARK: Arguments

    /// Returns the argument with the certificates or keys, or `nil` for the default, all those of the bundle.
    private func argument(of evaluator: Evaluator) -> String? {
        let labels = ["certificates", "keys", "publicKeys"]
        let member = evaluator.literal.members?.first { labels.contains($0.key) }
        return member.map { text.text(in: $0.value.range) }
    }

    /// Notes the settings that turn off a part of the verification.
    private mutating func noteSettings(of evaluator: Evaluator) {
        for member in evaluator.literal.members ?? [] where member.value.bool != true {
            let effect: String
            switch member.key {
            case "performDefaultValidation", "validateCertificateChain":
                effect = "Alamofire doesn't verify the chain, and accepts every one that contains a pinned key"
            case "validateHost": effect = "Alamofire accepts a pinned certificate for any host"
            default: continue
            }
            // mutant alamofire-unverified: {} by AlamofireTests/settings
            note(
                .weaker, "without \(member.key), \(effect): remove this argument", at: member.position,
                rule: .misreadSetting)
        }
    }

    // MARK: What isn't read

    /// Adds a problem for each evaluator whose host isn't known.
    private mutating func takeUnread() {
        for (name, position, offset, key) in Self.calls(text)
        where !readRanges.contains(where: { $0.contains(offset) }) {
            // mutant alamofire-key: nil for `key` by AlamofireTests/unread
            if let key {
                problems.add(Self.message(onHost: key), at: position)
                continue
            }
            // mutant alamofire-unread: {} by AlamofireTests/unread
            problems.add(
                "\(name) isn't the value of a host in a dictionary here, so its host isn't known: write [\"host\": "
                    + "\(name)(…)]", at: position)
        }
    }

    /// A call that creates an evaluator that pins.
    private typealias Call = (name: String, position: SourcePosition, offset: Int, key: String?)

    /// Returns the calls that create an evaluator that pins, without those in comments and texts, each with the
    /// expression that is its key in a dictionary, if any.
    ///
    /// The functions of Alamofire 4 have names that a program may have itself, so they count beside their type. The
    /// sources of the library itself, which declare the types, have none.
    private static func calls(_ cursor: TextCursor) -> [Call] {
        // Kotlin's comments and strings are those of Swift.
        var lexer = SourceLexer(cursor, path: "")
        var calls: [Call] = []
        var last: SourceToken?
        var hasPolicies = false
        /// Where the last element in each open bracket begins, with whether the bracket is that of a dictionary.
        var starts: [(offset: Int, isDictionary: Bool)] = []
        while let token = lexer.next() {
            defer { last = token }
            let isType = token.word == policies || token.word.map { evaluators[$0] != nil } ?? false
            // mutant alamofire-own: false for 1 by AlamofireTests/library
            if isType, let word = last?.word, ["class", "enum", "struct"].contains(word) { return [] }
            if token.word == policies { hasPolicies = true }
            if ["(", "[", "{"].contains(where: token.isSign) {
                starts.append((token.range.upperBound, token.isSign("[")))
            } else if [")", "]", "}"].contains(where: token.isSign) {
                _ = starts.popLast()
            } else if token.isSign(","), !starts.isEmpty {
                starts[starts.count - 1].offset = token.range.upperBound
            }
            guard let word = token.word, evaluators[word] != nil, lexer.peek()?.isSign("(") == true,
                last?.word != "func", word.first?.isUppercase ?? false || last?.isSign(".") ?? false
            else { continue }
            var key: String?
            if let last, last.isSign(":"), let start = starts.last, start.isDictionary {
                key = cursor.text(in: start.offset..<last.range.lowerBound).split(whereSeparator: \.isWhitespace)
                    .joined(separator: " ")
            }
            calls.append((word, token.position, token.range.lowerBound, key))
        }
        return hasPolicies ? calls : calls.filter { $0.name.first?.isUppercase ?? false }
    }

    private static let policies = "ServerTrustPolicy"

    private static func message(onHost expression: String) -> String {
        "the host \(quoted(expression)) isn't set to a string in this file: write the string itself"
    }

    private func location(_ position: SourcePosition) -> PolicyLocation { PolicyLocation(path: path, position) }

    private mutating func note(
        _ direction: SecurityDirection, _ message: String, at position: SourcePosition, rule: LintRule
    ) {
        guard notes.count < TextLimits.notes else { return }
        notes.append(ConversionNote(.quirk, direction, message, at: location(position), rule: rule))
    }
}
