import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics

/// Keys in text formats other than PEM: TLSA records (RFC 6698), JSON Web Keys (RFC 7517), SSH public keys (RFC 4253),
/// configuration profiles, and the values of YAML and JSON documents.
enum TextKeys {
    /// Returns the objects of a text. Throws for a text in none of these formats, which is irrelevant if nothing in it
    /// looks like a certificate or a key.
    static func objects(in text: [UInt8], _ password: KeyPassword) throws(InputProblem) -> [InputObject] {
        let mayHaveKeys = EncodedText.mayHaveKeys(text)
        let start = text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        let isArray = start.first == UInt8(ascii: "[")
        if isArray || start.first == UInt8(ascii: "{") {
            let document = JSONCReader.read(text, dialect: .jsonc)
            // A bracket begins a section of an INI file too.
            if !isArray || document.root != nil && document.problems.isEmpty {
                do throws(InputProblem) { return try WebKeys.objects(in: document) } catch {
                    guard mayHaveKeys else { throw error }
                }
            }
        }
        let lines = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
        if lines.contains(where: { SSHKey.isOne($0) }) { return SSHKey.objects(in: text) }
        if start.first == UInt8(ascii: "<"), let objects = try ProfileKeys.objects(in: text, password) {
            return objects
        }
        let dialect = PinDialect.recognized(in: text)
        if dialect == .tlsa { return try records(in: text) }
        // mutant files-encoded: true by FileLayoutTests/oneFile
        guard !mayHaveKeys else { return try DocumentKeys(password).objects(in: text) }
        if let dialect, dialect != .policy || start.first == UInt8(ascii: "{") {
            throw InputProblem(
                reason: "is \(dialect.title), which contains pins but no keys: read it with pinctl import FILE",
                kind: .irrelevant("file of pins"))
        }
        throw InputProblem(
            // mutant files-binary: true for `isReadable(text)` by FileLayoutTests/oneFile
            reason: PEMError.noBlock.description, kind: isReadable(text) ? .irrelevant("text") : .unknown)
    }

    /// Whether bytes are text: UTF-8, or few bytes beyond ASCII, and no control characters but white space.
    private static func isReadable(_ text: [UInt8]) -> Bool {
        let isPlain = !text.contains { $0 < 0x09 || (0x0E..<0x20).contains($0) || $0 == 0x7F }
        return isPlain
            && (String(validating: text, as: UTF8.self) != nil
                || text.count { $0 >= 0x80 } * 4 < text.count)
    }

    private static func records(in text: [UInt8]) throws(InputProblem) -> [InputObject] {
        let reading: DialectReading
        do throws(PolicyFileError) {
            reading = try PinDialect.tlsa.read(text, path: "")
        } catch {
            throw InputProblem(
                reason: "contains invalid TLSA records: \(error.firstProblem ?? "no record can be read")")
        }
        var objects: [InputObject] = []
        for rule in reading.policy.rules {
            for pin in rule.pins {
                objects.append(
                    InputObject(
                        index: objects.count, line: rule.location.map { Int($0.line) },
                        content: content(of: pin, rule.title)))
            }
        }
        guard !objects.isEmpty else {
            throw InputProblem(reason: "contains no TLSA record that clients can use: publish a 3 1 1 record")
        }
        return objects
    }

    private static func content(of pin: CanonicalPin, _ owner: String) -> Result<InputObject.Content, InputProblem> {
        switch (pin.content, pin.digest) {
        case (.publicKey, .sha256):
            guard let fingerprint = SPKIFingerprint("sha256/" + Base64.encode(pin.value.span)) else { break }
            return .success(.pin(fingerprint, owner: owner, isAuthority: pin.role == .ca))
        case (_, .full):
            do throws(KeyMaterialError) {
                return .success(.key(try KeyMaterial(der: pin.value.span)))
            } catch {
                return .failure(InputProblem(error))
            }
        default: break
        }
        let what = pin.content == .certificate ? "certificate" : "public key"
        return .failure(
            InputProblem(
                reason: "is a TLSA record with the \(pin.digest.rawValue) of a \(what), which is not a pin: "
                    + "publish a 3 1 1 record"))
    }
}

extension PolicyFileError {
    /// The first problem of a text without a name, with its line.
    var firstProblem: String? { problems.first.map { "line \($0.location.line): \($0.message)" } }
}
