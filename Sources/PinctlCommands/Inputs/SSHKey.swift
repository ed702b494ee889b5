import CertificateTrust
import PinctlBasics

/// An SSH public key as a line of text: a type, base64 and a comment (RFC 4253, section 6.6; RFC 5656; RFC 8709).
enum SSHKey {
    private static let types = [
        "ssh-rsa", "ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
    ]

    /// Returns whether a line is a key. Options before the type, as in authorized_keys, aren't supported.
    static func isOne(_ line: Substring) -> Bool {
        types.contains { line.hasPrefix($0 + " ") }
    }

    static func objects(in text: [UInt8]) -> [InputObject] {
        var objects: [InputObject] = []
        let lines = String(decoding: text, as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in lines.enumerated() {
            let content = line.drop { $0 == " " || $0 == "\t" }
            guard !content.isEmpty, content.first != "#" else { continue }
            objects.append(InputObject(index: objects.count, line: number + 1, content: key(content)))
        }
        return objects
    }

    private static func key(_ line: Substring) -> Result<InputObject.Content, InputProblem> {
        let words = line.split(separator: " ")
        let unreadable = InputProblem(
            reason:
                "isn't a valid SSH key of type RSA, ECDSA or Ed25519: convert it with ssh-keygen -e -m PKCS8 -f FILE")
        guard isOne(line), words.count > 1, let blob = Base64.decodeCanonical(Array(words[1].utf8)) else {
            return .failure(unreadable)
        }
        var fields = Fields(bytes: blob)
        guard fields.next().map({ String(decoding: $0, as: UTF8.self) }) == String(words[0]) else {
            return .failure(unreadable)
        }
        let info: [UInt8]?
        switch words[0] {
        case "ssh-rsa":
            guard let exponent = fields.next(), let modulus = fields.next() else { return .failure(unreadable) }
            info = KeyEncoding.rsa(modulus: modulus, exponent: exponent)
        case "ssh-ed25519": info = fields.next().flatMap { KeyEncoding.edwards(.ed25519, $0) }
        default:
            let name = words[0].dropFirst("ecdsa-sha2-".count)
            guard fields.next().map({ String(decoding: $0, as: UTF8.self) }) == String(name),
                let curve = KeyEncoding.Curve(rawValue: String(name)), let point = fields.next()
            else { return .failure(unreadable) }
            info = KeyEncoding.elliptic(curve, point: point)
        }
        guard fields.isAtEnd, let info, let material = try? KeyMaterial(der: info.span) else {
            return .failure(unreadable)
        }
        return .success(.key(material))
    }

    /// A sequence of strings, each preceded by a four-byte length (RFC 4251, section 5).
    private struct Fields {
        let bytes: [UInt8]
        private var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool { position == bytes.count }

        mutating func next() -> [UInt8]? {
            guard bytes.count - position >= 4 else { return nil }
            var length = 0
            for byte in bytes[position..<position + 4] { length = length << 8 | Int(byte) }
            guard length <= bytes.count - position - 4 else { return nil }
            let start = position + 4
            position = start + length
            return Array(bytes[start..<position])
        }
    }
}
