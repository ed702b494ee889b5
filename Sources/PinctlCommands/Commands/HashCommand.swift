import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let hash = CommandDefinition(
        name: "hash", summary: "print the pins of certificates, requests and keys", operands: "FILE…",
        operandCount: 1...Int.max,
        flags: [
            .long, .spelling, .expect, .leaf, .authority, .root, .index, .unique, .nulEnd, .passwordFile,
            .passwordDescriptor,
        ],
        notes: [
            "FILE contains certificates, certificate requests or keys: PEM, with any number of objects,",
            "DER, PKCS #7, PKCS #12, TLSA records, a JSON Web Key, SSH public keys, a configuration profile",
            "(.mobileconfig), or YAML or JSON with any of these as values, such as a Kubernetes Secret. Text",
            "may be in UTF-16. - is standard input. For a directory, pinctl reads the files in it and in the",
            "directories below it. It skips what has no certificate or key by its contents.",
            "",
            "The pin of a single key is printed alone, several pins as a list with their sources. Input",
            "that cannot be read is reported on standard error, and the rest is printed. The same applies",
            "to a file in which --leaf, --ca, --root or --index finds nothing. With --expect, the exit",
            "code is 1 if no key has one of the pins.",
        ],
        examples: [
            ("Print the pin of a certificate", "pinctl hash cert.pem"),
            (
                "Print the pins of a chain and of a backup key's request, with their sources",
                "pinctl hash -l chain.pem backup.csr"
            ),
            (
                "Check that a renewed certificate has the pinned key",
                "pinctl hash cert.pem --expect sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="
            ),
            ("Print a value for curl --pinnedpubkey", "pinctl hash --as curl cert.pem"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            var listing = try PinListing(arguments, now: environment.now())
            if arguments.has(.nulEnd) { console.endLinesWithNUL() }
            for operand in arguments.operands { listing.hash(operand, &console) }
            listing.reportUnexpected(&console)
        })
}

/// The list of pins in files, with or without labels.
private struct PinListing {
    private let now: Date
    private let reader: InputReader
    private let writing: PinWriting
    private let selection: KeySelection
    private let expected: [PinFingerprint]
    private let isLabelled: Bool
    // Each column is as wide as its longest text so far, so that the output doesn't wait for the end of the input.
    private var nameWidth: Int
    private var keyWidth = 8
    private var subjectWidth = 0
    /// The pins already printed, for `--unique`.
    private var printed: Set<SPKIFingerprint>?
    private var count = 0
    /// The first pins, for the message of `--expect`.
    private var found: [SPKIFingerprint] = []
    private var isAsExpected = false

    init(_ arguments: Arguments, now: Date) throws(UsageError) {
        self.now = now
        reader = InputReader(password: try arguments.password())
        writing = try PinWriting(arguments)
        selection = try KeySelection(arguments)
        expected = try arguments.expectedPins()
        isLabelled = arguments.has(.long) || arguments.operands.count > 1
        nameWidth = min(32, arguments.operands.map(\.width).max() ?? 0)
        printed = arguments.has(.unique) ? [] : nil
    }

    mutating func hash(_ operand: String, _ console: inout Console) {
        if case .missing = FileKind(operand), operand.contains(where: { ".:".contains($0) }),
            case .target? = try? ShowOperand(operand)
        {
            let reason = "no such file: check the path, or print the pins of a server with pinctl show \(operand)"
            return Self.report(operand, "", InputProblem(reason: reason), &console)
        }
        let files: [InputPath]
        do throws(InputProblem) { files = try InputPath.all(of: operand) } catch {
            return Self.report(operand, "", error, &console)
        }
        if let file = files.first, file.isNamed {
            hash(file, &console)
            return
        }
        let before = count
        var hasProblem = false
        for file in files where !hash(file, &console) { hasProblem = true }
        if count == before, !hasProblem {
            Self.report(
                operand, "", InputProblem(reason: "no file in this directory contains a key: name another directory"),
                &console)
        }
    }

    /// Prints the pins of a file. Returns false if there was a problem.
    @discardableResult
    private mutating func hash(_ input: InputPath, _ console: inout Console) -> Bool {
        let (file, isInDirectory) = (input.path, !input.isNamed)
        // The first object is held back until it is known whether another one follows in the file.
        var held: InputObject?
        var hasObject = false
        var isGood = true
        do throws(InputProblem) {
            try reader.read(input) { object in
                guard selection.includes(object) else { return }
                guard hasObject || isInDirectory else {
                    (held, hasObject) = (object, true)
                    return
                }
                if let first = held.take() { isGood = show(first, of: file, isAlone: false, &console) }
                isGood = show(object, of: file, isAlone: false, &console) && isGood
                hasObject = true
            }
            guard hasObject else {
                throw InputProblem(reason: selection.missing, kind: .irrelevant("file"))
            }
            if let held { isGood = show(held, of: file, isAlone: true, &console) }
        } catch {
            if let held { isGood = show(held, of: file, isAlone: false, &console) }
            guard !isInDirectory || error.irrelevance == nil else {
                console.note("\(file): skipped, it \(error.reason)")
                return isGood
            }
            Self.report(file, "", error, &console)
            return false
        }
        return isGood
    }

    private static func report(
        _ operand: String, _ place: String, _ problem: InputProblem, _ console: inout Console,
        _ members: [(String, JSON)] = []
    ) {
        console.problem(
            "\(DialectInput.title(operand))\(place): \(problem.reason)", .badInput,
            members: [("input", .string(operand))] + members)
    }

    /// Prints an object. Returns false if there was only a problem to report.
    private mutating func show(
        _ object: InputObject, of file: String, isAlone: Bool, _ console: inout Console
    ) -> Bool {
        switch object.content {
        case .success(.key(let material)) where selection.isUnsure(of: material):
            let flaw = if case .failure(let error)? = material.certificate { "\(error)" } else { "" }
            Self.report(
                file, isAlone ? "" : "[\(object.index)]",
                InputProblem(reason: "is a malformed certificate that could be of any kind: \(flaw)"), &console,
                [("index", .integer(object.index))])
            return false
        case .success(let content):
            show(ShownKey(content), of: file, object.index, isAlone: isAlone, &console)
            return true
        case .failure(let problem):
            let index = isAlone ? "" : "[\(object.index)]"
            let place = object.line.map { isAlone ? "" : "\(index), line \($0)" } ?? index
            Self.report(file, place, problem, &console, [("index", .integer(object.index))])
            return false
        }
    }

    private mutating func show(
        _ key: ShownKey, of file: String, _ index: Int, isAlone: Bool, _ console: inout Console
    ) {
        count += 1
        if found.count < 3 { found.append(key.fingerprint) }
        let isExpected = !expected.isEmpty && expected.contains { key.has($0) }
        if isExpected { isAsExpected = true }
        if printed?.insert(key.fingerprint).inserted == false { return }
        let isBare = isAlone && !isLabelled
        let (writing, expectation) = (writing, expected.isEmpty ? nil : isExpected)
        console.result(
            line: { text in
                key.appendPin(writing, to: &text)
                if !isBare { appendLabel(of: key, file, isAlone ? nil : index, to: &text) }
            }, key.json(of: file, index, writing, isExpected: expectation))
    }

    /// Appends the label of a key after its pin.
    private mutating func appendLabel(of key: ShownKey, _ file: String, _ index: Int?, to line: inout [UInt8]) {
        var start = Self.startColumn(&line)
        line.append(copying: file.utf8.span)
        if let index {
            line.append("[")
            line.append(decimal: index)
            line.append("]")
        }
        Self.pad(&line, from: start, &nameWidth)
        start = Self.startColumn(&line)
        key.appendKind(to: &line)
        var kindWidth = 11
        Self.pad(&line, from: start, &kindWidth)
        start = Self.startColumn(&line)
        key.appendSize(to: &line)
        Self.pad(&line, from: start, &keyWidth)
        start = Self.startColumn(&line)
        key.appendSubject(to: &line)
        Self.pad(&line, from: start, &subjectWidth, limit: 48)
        _ = Self.startColumn(&line)
        key.appendExpiry(now, to: &line)
        while line.last == UInt8(ascii: " ") { line.removeLast() }
    }

    /// Appends the two spaces between columns, and returns the start of the next column.
    private static func startColumn(_ line: inout [UInt8]) -> Int {
        line.append("  ")
        return line.count
    }

    /// Pads the text from `start` to `width`. A longer text increases `width` up to `limit`.
    private static func pad(_ line: inout [UInt8], from start: Int, _ width: inout Int, limit: Int = .max) {
        let isPlain = isPlainASCII(line.span.extracting(start...))
        // Only text that isn't plain ASCII needs its characters counted.
        let count = isPlain ? line.count - start : String(decoding: line[start...], as: UTF8.self).count
        width = min(limit, max(width, count))
        for _ in 0..<max(0, width - count) { line.append(UInt8(ascii: " ")) }
    }

    /// Reports that no key matched `--expect`.
    func reportUnexpected(_ console: inout Console) {
        guard !expected.isEmpty, !isAsExpected else { return }
        let pins = found.map(\.description).joined(separator: ", ") + (count > found.count ? ", ..." : "")
        console.problem(
            "no key has the pin \(expected.map(\.description).joined(separator: " or ")): found "
                + (count == 0 ? "no key" : "\(plural(count, "key")), \(pins)"), .finding)
    }
}

/// A key to print. Text contains less than JSON, so the details are computed when needed.
private struct ShownKey {
    let fingerprint: SPKIFingerprint
    /// The kind of input, or `nil` for a TLSA record, which contains only a pin.
    private let kind: KeyMaterial.Kind?
    /// The algorithm and size, or `nil` if unknown.
    private let keyKind: PublicKeyKind?
    private let certificate: X509Certificate?
    /// The name in an input other than a certificate: the subject of a request or the host of a record.
    private let name: String?
    private let isAuthority: Bool

    init(_ content: InputObject.Content) {
        switch content {
        case .key(let material):
            (fingerprint, kind, keyKind) = (material.fingerprint, material.kind, material.keyKind)
            certificate = material.parsedCertificate
            name = certificate == nil ? material.subject?.description : nil
            isAuthority = certificate?.isCertificateAuthority == true
        case .pin(let fingerprint, let owner, let isAuthority):
            (self.fingerprint, kind, keyKind, certificate) = (fingerprint, nil, nil, nil)
            (name, self.isAuthority) = (owner, isAuthority)
        }
    }

    func appendPin(_ writing: PinWriting, to text: inout [UInt8]) {
        writing.append(fingerprint, isAuthority: isAuthority, to: &text)
    }

    func appendKind(to text: inout [UInt8]) {
        text.append(kind?.text ?? "TLSA")
        if certificate != nil { text.append(isAuthority ? " CA" : " leaf") }
    }

    func appendSize(to text: inout [UInt8]) { keyKind?.append(to: &text) }

    func appendSubject(to text: inout [UInt8]) {
        certificate?.appendSubject(to: &text)
        if let name { text.append(copying: name.utf8.span) }
    }

    func appendExpiry(_ now: Date, to text: inout [UInt8]) {
        if let certificate { PinctlCommands.appendExpiry(certificate, now: now, to: &text) }
    }

    func json(of file: String, _ index: Int, _ writing: PinWriting, isExpected: Bool?) -> JSON {
        var members: [(String, JSON)] = [("input", .string(file)), ("index", .integer(index))]
        if let isExpected { members.append(("expected", .bool(isExpected))) }
        members.append(("kind", .string(kind?.word ?? "tlsa_record")))
        members.append(("pin", .string(fingerprint.description)))
        if writing.spelling != .okhttp {
            members.append((writing.spelling.rawValue, .string(writing.text(fingerprint, isAuthority: isAuthority))))
        }
        if let keyKind { members.append(("key", .string(keyKind.description))) }
        if let subject = certificate?.subject.description ?? name {
            members.append((kind == nil ? "host" : "subject", .string(subject)))
        }
        return .object(members + (certificate.map(certificateMembers) ?? []))
    }

    func has(_ object: PinFingerprint) -> Bool {
        switch object {
        case .publicKey(let expected): expected == fingerprint
        case .certificate(let expected): expected == certificate?.fingerprint
        }
    }
}

extension Arguments {
    /// Returns the pins of `--expect`.
    fileprivate func expectedPins() throws(UsageError) -> [PinFingerprint] {
        var pins: [PinFingerprint] = []
        for text in all(.expect) {
            do throws(PinTextError) {
                pins.append(try PinFingerprint(text))
            } catch {
                throw .invalidValue(.expect, reason: error.description)
            }
        }
        return pins
    }
}
