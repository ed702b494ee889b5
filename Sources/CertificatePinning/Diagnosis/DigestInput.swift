import CertificateTrust

/// What a digest that somebody calls a pin was made of.
@nonexhaustive
public enum DigestInput: String, Sendable, Hashable, CaseIterable {
    /// The SubjectPublicKeyInfo, DER: by SHA-256 it is the pin of the key.
    case publicKey
    /// The whole certificate, DER: what is called its fingerprint.
    case certificate
    /// The TBSCertificate, DER.
    case signedPart
    /// The octets inside the BIT STRING of the key: PKCS #1 of an RSA key, the X9.63 point of a curve. What
    /// `SecKeyCopyExternalRepresentation`, .NET's `GetPublicKey` and `step crypto key fingerprint` hash.
    case keyOctets
    /// The BIT STRING of the key, DER.
    case keyBitString
    /// The modulus of an RSA key, without leading zeros.
    case modulus
    /// The line that `openssl x509 -modulus` prints.
    case modulusLine
    /// The text of a PEM file of the key.
    case publicKeyPEM
    /// The text of a PEM file of the certificate.
    case certificatePEM
    /// The pin of the key as hexadecimal text.
    case pinText
    /// The pin of the key: it was hashed twice.
    case pinDigest
    /// No bytes at all: the command that made it failed.
    case nothing
    /// A line end alone: the command in front of it failed.
    case lineEnd
    /// Nothing that was hashed: one character over and over, as documents have it in place of a pin.
    case placeholder
}

extension DigestInput: CustomStringConvertible {
    /// What it is, as a message calls it: `the whole certificate`.
    public var description: String {
        switch self {
        case .publicKey: "the SubjectPublicKeyInfo"
        case .certificate: "the whole certificate"
        case .signedPart: "the certificate without its signature (TBSCertificate)"
        case .keyOctets: "the raw key (PKCS #1 or X9.63, without its algorithm)"
        case .keyBitString: "the BIT STRING of the key"
        case .modulus: "the RSA modulus"
        case .modulusLine: "the line that openssl prints of the RSA modulus"
        case .publicKeyPEM: "the PEM text of the key"
        case .certificatePEM: "the PEM text of the certificate"
        case .pinText: "the pin's hexadecimal text"
        case .pinDigest: "the pin itself, hashed a second time"
        case .nothing: "empty input"
        case .lineEnd: "a line end"
        case .placeholder: "a placeholder, one character over and over"
        }
    }
}

extension DigestInput {
    /// Every input that a key, and its certificate where there is one, give; a text with and without its last line end.
    static func all(
        of key: SubjectPublicKeyInfo, in certificate: X509Certificate?
    ) -> [(input: DigestInput, bytes: [UInt8])] {
        var all: [(DigestInput, [UInt8])] = [(.publicKey, key.derBytes)]
        if let certificate { all += [(.certificate, certificate.derBytes), (.signedPart, certificate.signedPart)] }
        let octets = key.keyOctets
        all += [(.keyOctets, octets), (.keyOctets, Array(octets.dropFirst()))]
        // The BIT STRING closes the SubjectPublicKeyInfo, with one octet for its unused bits; its header has up to four.
        all += (1...6).filter { octets.count + $0 < key.derBytes.count }
            .map { (.keyBitString, key.derBytes.suffix(octets.count + $0)) }
        if let modulus = key.rsaModulus {
            all += [(.modulus, modulus), (.modulus, [0] + modulus)]
            all += texts("Modulus=" + hexadecimal(modulus).uppercased()).map { (.modulusLine, $0) }
        }
        all += texts(pem("PUBLIC KEY", key.derBytes)).map { (.publicKeyPEM, $0) }
        if let certificate { all += texts(pem("CERTIFICATE", certificate.derBytes)).map { (.certificatePEM, $0) } }
        let digest = sha256Digest(key.derBytes.span)
        all += texts(hexadecimal(digest)).map { (.pinText, $0) } + [(.pinDigest, digest)]
        return all
    }

    /// What gives a digest without any key.
    static let constants: [(input: DigestInput, bytes: [UInt8])] = [(.nothing, []), (.lineEnd, [0x0A])]

    /// Recognises what `AAAA…` and `BBBB…` decode to: three bytes over and over.
    init?(placeholder digest: [UInt8]) {
        guard digest.count > 3, digest.indices.dropFirst(3).allSatisfy({ digest[$0] == digest[$0 - 3] })
        else { return nil }
        self = .placeholder
    }

    private static func texts(_ text: String) -> [[UInt8]] { [Array(text.utf8) + [0x0A], Array(text.utf8)] }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// RFC 7468, in lines of 64 characters, without a line end behind the last.
    private static func pem(_ label: String, _ der: [UInt8]) -> String {
        let characters = Array(Base64.encode(der.span).utf8)
        let lines = stride(from: 0, to: characters.count, by: 64).map { start in
            String(decoding: characters[start..<min(start + 64, characters.count)], as: UTF8.self)
        }
        return (["-----BEGIN \(label)-----"] + lines + ["-----END \(label)-----"]).joined(separator: "\n")
    }
}
