import CertificatePinning
import CertificateTrust

/// A parser of patterns and pins with the same checks as OkHttp's CertificatePinner when it is built.
enum OkHttpPin {
    /// The maximum length of a pattern in bytes, more than any that can match.
    static let longestPattern = 512
    /// The maximum length of a pin in bytes. A whole certificate in place of a digest is found out.
    static let longestText = 8_192

    /// Parses `host`, `*.host` or `**.host`. Returns `nil` where OkHttp throws.
    static func pattern(_ text: String) -> HostPattern? {
        guard text.utf8.count <= longestPattern else { return nil }
        let (scope, rest): (HostPattern.Scope, Substring) =
            text.hasPrefix("**.")
            ? (.exactAndBelow, text.dropFirst(3))
            : text.hasPrefix("*.") ? (.oneLabelBelow, text.dropFirst(2)) : (.exact, text[...])
        let host = HostMatching.aLabels(of: String(rest))
        let isAddress = (try? ServerName(host))?.isIPAddress ?? false
        let isName =
            (1...ServerName.maximumLength).contains(host.utf8.count)
            && host.split(separator: ".").allSatisfy { $0.utf8.count <= 63 }
            && host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"*#%/:?@[\\]".utf8.contains($0) }
        guard isName || isAddress && scope == .exact else { return nil }
        return HostPattern(host, scope)
    }

    /// Parses `sha256/BASE64` or `sha1/BASE64`. Returns `nil` where OkHttp throws, or if the text is too long for a
    /// pin. The number of bytes isn't checked.
    static func pin(_ text: String) -> CanonicalPin? {
        guard text.utf8.count <= longestText else { return nil }
        for (prefix, digest) in [("sha256/", CanonicalPin.Digest.sha256), ("sha1/", .sha1)] where text.hasPrefix(prefix)
        {
            return decode(text.dropFirst(prefix.count).utf8).map { CanonicalPin(.publicKey, digest, $0) }
        }
        return nil
    }

    /// Returns what is in place of a digest and how to write the digest, for a whole key or certificate.
    static func wholeObject(_ bytes: [UInt8]) -> (name: String, remedy: String)? {
        if let certificate = try? X509Certificate(derBytes: bytes) {
            return ("a whole certificate", "write \(certificate.subjectPublicKeyInfo.fingerprint)")
        }
        if let key = try? SubjectPublicKeyInfo(derBytes: bytes) {
            return ("a whole public key", "write \(key.fingerprint)")
        }
        // A SEQUENCE of over 127 bytes.
        guard bytes.count > 64, bytes[0] == 0x30, bytes[1] > 0x80 else { return nil }
        return ("DER such as a whole key or certificate", "write the digest that pinctl hash prints for its file")
    }

    /// Decodes base64 as Okio does: with or without padding, URL-safe or not, ignoring white space and unused bits.
    private static func decode(_ text: Substring.UTF8View) -> [UInt8]? {
        var word: UInt32 = 0
        var count = 0
        var bytes: [UInt8] = []
        let isBlank: (UInt8) -> Bool = { $0.isBlank || $0.isLineEnd }
        let end = text.lastIndex { $0 != UInt8(ascii: "=") && !isBlank($0) }
        guard let end else { return [] }
        for character in text[...end] where !isBlank(character) {
            guard let value = value(character) else { return nil }
            word = word << 6 | UInt32(value)
            count += 1
            guard count % 4 == 0 else { continue }
            bytes += [UInt8(truncatingIfNeeded: word >> 16), UInt8(truncatingIfNeeded: word >> 8)]
            bytes.append(UInt8(truncatingIfNeeded: word))
        }
        switch count % 4 {
        case 1: return nil
        case 2: bytes.append(UInt8(truncatingIfNeeded: word >> 4))
        case 3: bytes += [UInt8(truncatingIfNeeded: word >> 10), UInt8(truncatingIfNeeded: word >> 2)]
        default: break
        }
        return bytes
    }

    private static func value(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
