import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics

/// Keys in text formats other than PEM: TLSA records (RFC 6698), JSON Web Keys (RFC 7517) and SSH public keys (RFC
/// 4253).
enum TextKeys {
    /// Returns the objects of a text, or `nil` if it is in none of these formats.
    static func objects(in text: [UInt8]) throws(InputProblem) -> [InputObject]? {
        let start = text.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
        if start.first == UInt8(ascii: "{") || start.first == UInt8(ascii: "[") {
            return try WebKeys.objects(in: text)
        }
        let lines = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
        if lines.contains(where: { SSHKey.isOne($0) }) { return SSHKey.objects(in: text) }
        switch PinDialect.recognized(in: text) {
        case .tlsa?: return try records(in: text)
        case let dialect?:
            throw InputProblem(
                reason: "is \(dialect.title), which contains pins but no keys: read it with pinctl import FILE")
        case nil: return nil
        }
    }

    private static func records(in text: [UInt8]) throws(InputProblem) -> [InputObject] {
        let reading: DialectReading
        do throws(PolicyFileError) {
            reading = try PinDialect.tlsa.read(text, path: "")
        } catch {
            let problem = error.problems.first
            let place = problem.map { "line \($0.location.line): \($0.message)" } ?? "no record can be read"
            throw InputProblem(reason: "contains invalid TLSA records: \(place)")
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
