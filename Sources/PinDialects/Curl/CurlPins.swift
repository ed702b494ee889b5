import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The argument of curl's `--pinnedpubkey`, `sha256//BASE64;sha256//BASE64`.
///
/// Other spellings aren't supported, because versions of curl interpret them differently.
enum CurlPins {
    private static let prefix = "sha256//"

    /// Reads an argument, with or without the option in front of it, quoted or not.
    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        var cursor = try TextCursor(checking: bytes, path: path)
        var problems = PolicyProblems(path: path)
        let isBetween: (UInt8) -> Bool = { $0.isBlank || $0.isLineEnd || "\"'".utf8.contains($0) }
        _ = cursor.take(while: isBetween)
        if cursor.take("--pinnedpubkey") {
            _ = cursor.take { isBetween($0) || $0 == UInt8(ascii: "=") }
        }
        let location = PolicyLocation(path: path, cursor.position)
        var pins: [CanonicalPin] = []
        repeat {
            let position = cursor.position
            let text = cursor.take { $0 != UInt8(ascii: ";") && !"\"'\r\n".utf8.contains($0) }
            if let pin = pin(text) {
                pins.append(pin)
            } else {
                problems.add(problem(String(decoding: text, as: UTF8.self), isFirst: pins.isEmpty), at: position)
            }
        } while cursor.take(";")
        _ = cursor.take(while: isBetween)
        if cursor.byte != nil {
            problems.add("unexpected text after the argument: remove it", at: cursor.position)
        }
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted) }
        let rule = CanonicalRule(patterns: [HostPattern("", .every)], pins: pins, location: location)
        return DialectReading(CanonicalPolicy(rules: [rule], combination: .closest))
    }

    private static func pin(_ text: ArraySlice<UInt8>) -> CanonicalPin? {
        guard text.starts(with: prefix.utf8),
            let bytes = Base64.decodeCanonical(Array(text.dropFirst(prefix.utf8.count))),
            bytes.count == 32
        else { return nil }
        return CanonicalPin(.publicKey, .sha256, bytes, role: .leaf)
    }

    private static func problem(_ text: String, isFirst: Bool) -> String {
        if text.isEmpty {
            return isFirst
                ? "there is no pin: write sha256// and base64" : "there is no pin after this semicolon: remove it"
        }
        if text.hasPrefix(prefix) {
            return "\(quoted(text)) never matches in curl: write sha256// and the base64 of 32 bytes, padded"
        }
        return isFirst
            ? "curl reads \(quoted(text)) as a file name: write sha256// and base64, or pin that file's key"
            : "curl stops reading at \(quoted(text)), or before: write sha256// and base64, without spaces"
    }

    /// Returns the argument, without a line end.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        guard policy.rules.count == 1, let rule = policy.rules.first, !rule.pins.isEmpty else {
            throw DialectWriteError(
                "curl's pins are for a single server: choose a host", at: policy.rules.first?.location)
        }
        var texts: [String] = []
        for pin in rule.pins {
            guard pin.content == .publicKey, pin.digest == .sha256, pin.role == .leaf || pin.role == .any else {
                throw DialectWriteError(
                    "curl can't express the pin \(pin) as \(pin.role.rawValue): convert the policy to curl first",
                    at: rule.location)
            }
            texts.append(prefix + Base64.encode(pin.value.span))
        }
        return texts.joined(separator: ";")
    }
}
