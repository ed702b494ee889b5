import CertificatePinning
import PinctlBasics

/// Digests that are pins by what is directly before them.
extension PinContext {
    /// Returns what is pinned if the text before a digest says by itself that it is a pin.
    static func markedContent(_ before: String, _ shape: DigestShape) -> CanonicalPin.Content? {
        let end = before.reversed().drop { "\"'\\ `".contains($0) }
        func follows(_ words: String...) -> Bool { words.contains { end.starts(with: $0.reversed()) } }
        switch shape.form {
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
            let fields = before.split { " \t(".contains($0) }.suffix(3)
            let matchingType = shape.digest == .sha512 ? 2 : 1
            guard before.last == " " || before.last == "\t", fields.count == 3,
                Int(fields[fields.startIndex + 2]) == matchingType, let usage = Self.usage(fields.first ?? ""),
                0...3 ~= usage
            else { return nil }
            let selector = Int(fields[fields.startIndex + 1])
            return selector == 1 ? .publicKey : selector == 0 ? .certificate : nil
        case .colons: return nil
        }
    }

    /// Returns the number at the end of a text that isn't part of a word. A tab can be written as `\\t`.
    private static func usage(_ text: Substring) -> Int? {
        let digits = text.reversed().prefix(while: \.isNumber)
        let rest = text.utf8.dropLast(digits.count)
        // mutant find-escaped-tab: false for `rest.suffix(2).elementsEqual("\\t".utf8)` by PinSearchTests/settings
        guard !(rest.last?.isWordByte ?? false) || rest.suffix(2).elementsEqual("\\t".utf8) else { return nil }
        return Int(String(digits.reversed()))
    }

    /// Whether a digest is in a DNS record that pins no server.
    func isOfOtherRecord(_ shape: DigestShape) -> Bool {
        let start = shape.range.lowerBound
        let before = String(decoding: text.bytes[max(0, start - 48)..<start], as: UTF8.self).lowercased()
        // mutant find-record: false by PinSearchTests/settings
        return shape.form == .hex && Self.isOtherRecord(before)
    }

    /// Whether a digest follows the numbers of a DNS record that has digests of something else: `DS 41213 8 2 …`.
    private static func isOtherRecord(_ before: String) -> Bool {
        let fields = before.replacing("\\t", with: " ").split { $0 == " " || $0 == "\t" }
        guard let type = fields.last(where: { Int($0) == nil }), fields.last.map({ Int($0) != nil }) ?? false else {
            return false
        }
        return ["ds", "cds", "dlv", "sshfp", "zonemd", "smimea"].contains(type)
    }

    /// Returns what is pinned if a digest is the value of a setting for the certificate or the key of a server, which
    /// is a pin although its name doesn't say so.
    mutating func settingContent(
        _ name: ArraySlice<UInt8>?, _ before: String, _ shape: DigestShape
    ) -> CanonicalPin.Content? {
        guard shape.form != .base64, let name else { return nil }
        let plain = plain(name)
        // mutant find-setting: "" by PinSearchTests/settings
        switch plain {
        // OpenVPN, openfortivpn, and openconnect with SHA-1.
        case "peerfingerprint", "trustedcert": return .certificate
        case "servercert" where shape.digest == .sha1: return .certificate
        // Teleport.
        case "capin", "capins": return before.hasSuffix("sha256:") ? .publicKey : nil
        case "fingerprint" where namesServerCertificate: return .certificate
        case "fingerprint" where shape.form == .colons && !isOfApp(shape): return .certificate
        // Proxmox and its variables. Other fingerprints in pairs are shorter, or have other names.
        case _
        where plain.hasSuffix("fingerprint") && shape.form == .colons && shape.digest == .sha256 && !isOfApp(shape):
            return .certificate
        default:
            // SHA-1 and SHA-512 are those of a certificate only in a setting for it.
            return shape.digest != .sha256 && isFingerprintSetting(name) ? .certificate : nil
        }
    }

    /// Whether the words around a digest are about an app or the output of a program.
    private mutating func isOfApp(_ shape: DigestShape) -> Bool {
        let line = text.line(at: shape.range.lowerBound)
        return describesCertificate(shape, line) || !words(around: shape.range, line).isDisjoint(with: [.other, .app])
    }

    /// Whether a digest is that of a file, as in `KEY_SHA256=…` beside `KEY=/etc/key.pub`.
    func isOfNamedFile(_ name: ArraySlice<UInt8>) -> Bool {
        let name = String(decoding: name, as: UTF8.self)
        guard let end = ["_SHA256", "_sha256"].first(where: name.hasSuffix) else { return false }
        let setting = String(name.dropLast(end.count)) + "="
        return text.lines(with: setting).prefix(Self.mostUses).contains { line in
            let rest = text.bytes[text.range(ofLine: line)]
            let value = Array(rest).firstRange(of: setting).map { Array(rest)[$0.upperBound...].drop(while: \.isQuote) }
            return value.map { $0.starts(with: "/".utf8) || $0.starts(with: "./".utf8) } ?? false
        }
    }

    /// Whether a name is that of a setting for the fingerprint of a server's certificate.
    func isFingerprintSetting(_ name: ArraySlice<UInt8>?) -> Bool {
        guard let name else { return false }
        let words = PinWords(name)
        return words.contains(.fingerprint) && !words.isDisjoint(with: [.tls, .pin]) && !words.contains(.other)
    }

    /// Whether a name says that its value is a fingerprint.
    static func isFingerprint(_ name: ArraySlice<UInt8>) -> Bool { PinWords(name).contains(.fingerprint) }
}
