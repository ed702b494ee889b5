import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

extension CommandDefinition {
    static let hash = CommandDefinition(
        name: "hash", summary: "print the pins of certificates, requests and keys", operands: "FILE…",
        operandCount: 1...Int.max,
        flags: [
            .long, .spelling, .expect, .leaf, .authority, .root, .index, .unique, .nulEnd, .passwordFile,
            .passwordDescriptor,
        ],
        notes: [
            "FILE holds certificates, certificate requests or keys: PEM of any number, DER, PKCS #7,",
            "PKCS #12, TLSA records, a JSON Web Key, SSH's public keys. - is standard input, a folder",
            "stands for the files in it, hidden ones and folders left out. The pin of one key is",
            "printed alone, several as a list. What cannot be read is named on standard error, and",
            "the rest is printed; a file in which --leaf, --ca, --root or --index finds nothing is",
            "one of those. With --expect the exit code is 1 when no key has one of the pins.",
        ],
        examples: [
            ("the pin of a certificate", "pinctl hash cert.pem"),
            (
                "the pins of a chain and of a backup key's request, with what they are of",
                "pinctl hash -l chain.pem backup.csr"
            ),
            (
                "whether a renewed certificate has the key that is pinned",
                "pinctl hash cert.pem --expect sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="
            ),
            ("a value for curl --pinnedpubkey", "pinctl hash --as curl cert.pem"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            var listing = try PinListing(arguments, now: environment.now())
            if arguments.has(.nulEnd) { console.endLinesWithNUL() }
            for operand in arguments.operands { listing.hash(operand, &console) }
            listing.tellUnexpected(&console)
        })
}

/// The pins of some files, alone or as a list.
private struct PinListing {
    private let now: Date
    private let reader: InputReader
    private let writing: PinWriting
    private let selection: KeySelection
    private let expected: [PinnedObject]
    private let isLabelled: Bool
    // A column is as wide as what it has shown so far: nobody waits for the end of the input.
    private var nameWidth: Int
    private var keyWidth = 8
    private var subjectWidth = 0
    /// The pins that were printed, for `--unique`.
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
            let reason = "no such file: check the path; for the pins of a server: pinctl show \(operand)"
            return Self.complain(operand, "", InputProblem(reason: reason), &console)
        }
        let files: [String]
        do throws(InputProblem) { files = try InputReader.files(of: operand) } catch {
            return Self.complain(operand, "", error, &console)
        }
        guard files != [operand] else {
            hash(file: operand, isInFolder: false, &console)
            return
        }
        let before = count
        var hasProblem = false
        for file in files where !hash(file: file, isInFolder: true, &console) { hasProblem = true }
        if count == before, !hasProblem {
            Self.complain(
                operand, "", InputProblem(reason: "no file in this folder holds a key: name another"), &console)
        }
    }

    /// False when something was complained of.
    @discardableResult
    private mutating func hash(file: String, isInFolder: Bool, _ console: inout Console) -> Bool {
        // An object is alone in its file when no other follows: the first is held until that is known.
        var held: InputObject?
        var isAlone = !isInFolder
        var isGood = true
        do throws(InputProblem) {
            try reader.read(file, isInFolder: isInFolder) { object in
                guard isMeant(object) else { return }
                if let held {
                    isAlone = false
                    isGood = show(held, of: file, isAlone: false, &console) && isGood
                }
                held = object
            }
            guard let held else {
                throw InputProblem(reason: selection.missing, isStranger: selection != .all)
            }
            isGood = show(held, of: file, isAlone: isAlone, &console) && isGood
        } catch {
            if let held { isGood = show(held, of: file, isAlone: false, &console) && isGood }
            guard !isInFolder || !error.isStranger else {
                console.note("\(file): passed over, it \(error.reason)")
                return isGood
            }
            Self.complain(file, "", error, &console)
            return false
        }
        return isGood
    }

    /// What cannot be read is told, unless another object was asked for.
    private func isMeant(_ object: InputObject) -> Bool {
        switch object.content {
        case .success(.key(let key)): selection.includes(object, key.parsedCertificate)
        case .success(.pin): selection.includes(object, nil)
        case .failure: if case .index(let index) = selection { object.index == index } else { true }
        }
    }

    private static func complain(
        _ operand: String, _ place: String, _ problem: InputProblem, _ console: inout Console,
        _ members: [(String, JSON)] = []
    ) {
        console.problem(
            "\(DialectInput.title(operand))\(place): \(problem.reason)", .badInput,
            members: [("input", .string(operand))] + members)
    }

    /// False when there was nothing to show but what is wrong.
    private mutating func show(
        _ object: InputObject, of file: String, isAlone: Bool, _ console: inout Console
    ) -> Bool {
        let index = isAlone ? "" : "[" + String(object.index) + "]"
        let content: InputObject.Content
        switch object.content {
        case .success(let success): content = success
        case .failure(let problem):
            let place = object.line.map { isAlone ? "" : "\(index), line \($0)" } ?? index
            Self.complain(file, place, problem, &console, [("index", .integer(object.index))])
            return false
        }
        let key = ShownKey(content, writing)
        count += 1
        if found.count < 3 { found.append(key.fingerprint) }
        let isExpected = !expected.isEmpty && expected.contains { key.has($0) }
        if isExpected { isAsExpected = true }
        if printed?.insert(key.fingerprint).inserted == false { return true }
        let isBare = isAlone && !isLabelled
        let (writing, expectation) = (writing, expected.isEmpty ? nil : isExpected)
        console.result(
            [isBare ? key.pin : line(key, file + index)],
            key.json(of: file, object.index, writing, isExpected: expectation))
        return true
    }

    private mutating func line(_ key: ShownKey, _ name: String) -> String {
        let (size, subject, expiry) = (key.size, key.subject, key.expiry(now))
        nameWidth = max(nameWidth, name.width)
        keyWidth = max(keyWidth, size.width)
        let subjectCount = subject.width
        subjectWidth = min(48, max(subjectWidth, subjectCount))
        // A file may have a million of these: bytes are put together faster than strings.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(key.pin.utf8.count + nameWidth + keyWidth + subject.utf8.count + 96)
        bytes += key.pin.utf8
        Self.add(name, name.width, nameWidth, to: &bytes)
        Self.add(key.kind, key.kind.utf8.count, 11, to: &bytes)
        Self.add(size, size.width, keyWidth, to: &bytes)
        Self.add(subject, subjectCount, subjectWidth, to: &bytes)
        Self.add(expiry, 0, 0, to: &bytes)
        let line = String(decoding: bytes, as: UTF8.self)
        guard line.utf8.last == UInt8(ascii: " ") else { return line }
        return String(line[...(line.lastIndex { $0 != " " } ?? line.startIndex)])
    }

    /// Adds a column, two spaces in front, of so many characters and at least so wide.
    private static func add(_ text: String, _ count: Int, _ width: Int, to bytes: inout [UInt8]) {
        let space = UInt8(ascii: " ")
        bytes.append(space)
        bytes.append(space)
        bytes += text.utf8
        for _ in 0..<max(0, width - count) { bytes.append(space) }
    }

    /// With `--expect`, says when no key was as expected.
    func tellUnexpected(_ console: inout Console) {
        guard !expected.isEmpty, !isAsExpected else { return }
        let pins = found.map(\.description).joined(separator: ", ") + (count > found.count ? ", ..." : "")
        console.problem(
            "no key has the pin \(expected.map(\.description).joined(separator: " or ")): found "
                + (count == 0 ? "no key" : "\(count) \(count == 1 ? "key" : "keys"), \(pins)"), .finding)
    }
}

/// One key as it is printed. A text says less than JSON does, so what they say is made when it is asked for.
private struct ShownKey {
    let fingerprint: SPKIFingerprint
    let pin: String
    private let content: InputObject.Content
    private let certificate: X509Certificate?

    init(_ content: InputObject.Content, _ writing: PinWriting) {
        self.content = content
        switch content {
        case .key(let material):
            let certificate = material.parsedCertificate
            self.certificate = certificate
            fingerprint = material.fingerprint
            pin = writing.text(fingerprint, isAuthority: certificate?.isCertificateAuthority == true)
        case .pin(let pinned, _, let isAuthority):
            certificate = nil
            fingerprint = pinned
            pin = writing.text(pinned, isAuthority: isAuthority)
        }
    }

    var kind: String {
        switch content {
        case .key(let material): material.kindText(certificate)
        case .pin: "TLSA"
        }
    }

    /// The algorithm and size; empty where they are not known.
    var size: String {
        switch content {
        case .key(let material): material.keyKind?.description ?? ""
        case .pin: ""
        }
    }

    /// Whom a certificate or request names, or whom a record is of.
    var subject: String {
        switch content {
        case .key(let material): material.subject?.description ?? ""
        case .pin(_, let owner, _): owner
        }
    }

    func expiry(_ now: Date) -> String { certificate.map { PinctlCommands.expiry($0, now: now) } ?? "" }

    func json(of file: String, _ index: Int, _ writing: PinWriting, isExpected: Bool?) -> JSON {
        var members: [(String, JSON)] = [("input", .string(file)), ("index", .integer(index))]
        if let isExpected { members.append(("expected", .bool(isExpected))) }
        switch content {
        case .key(let material): members.append(("kind", .string(material.kind.word)))
        case .pin: members.append(("kind", "tlsa_record"))
        }
        members.append(("pin", .string(fingerprint.description)))
        if writing.spelling != .okhttp { members.append((writing.spelling.rawValue, .string(pin))) }
        let size = size
        if !size.isEmpty { members.append(("key", .string(size))) }
        switch content {
        case .key(let material): if material.subject != nil { members.append(("subject", .string(subject))) }
        case .pin: members.append(("host", .string(subject)))
        }
        return .object(members + (certificate.map(certificateMembers) ?? []))
    }

    func has(_ object: PinnedObject) -> Bool {
        switch object {
        case .publicKey(let expected): expected == fingerprint
        case .certificate(let expected): expected == certificate?.fingerprint
        }
    }
}

extension Arguments {
    /// The pins of `--expect`.
    fileprivate func expectedPins() throws(UsageError) -> [PinnedObject] {
        var pins: [PinnedObject] = []
        for text in all(.expect) {
            do throws(PinTextError) {
                pins.append(try PinnedObject(text))
            } catch {
                throw .invalidValue(.expect, reason: error.description)
            }
        }
        return pins
    }
}
