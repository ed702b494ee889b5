import CertificateTrust
import PinctlBasics

/// The input of a digest that is used as a pin.
@nonexhaustive
public enum DigestInput: String, Sendable, Hashable, CaseIterable {
    /// The SubjectPublicKeyInfo, DER. Its SHA-256 is the key's pin.
    case publicKey
    /// The SubjectPublicKeyInfo, DER, but up to three bytes of the digest differ: it was mistyped. No other key has a
    /// digest that is so close.
    case mistyped
    /// The whole certificate, DER. Its digest is known as the certificate's fingerprint.
    case certificate
    /// The TBSCertificate, DER.
    case signedPart
    /// The octets inside the key's BIT STRING: PKCS #1 for an RSA key, the X9.63 point for an elliptic curve key. They
    /// are hashed by `SecKeyCopyExternalRepresentation`, .NET's `GetPublicKey` and `step crypto key fingerprint`.
    case keyOctets
    /// The BIT STRING of the key, DER.
    case keyBitString
    /// The modulus of an RSA key, without leading zeros.
    case modulus
    /// The line that `openssl x509 -modulus` prints.
    case modulusLine
    /// The text of the key's PEM file.
    case publicKeyPEM
    /// The text of the certificate's PEM file.
    case certificatePEM
    /// The key's pin as hexadecimal text.
    case pinText
    /// The key's pin, which was hashed twice.
    case pinDigest
    /// Empty input: the command that should have produced it failed.
    case nothing
    /// Only a line end: the preceding command failed.
    case lineEnd
    /// A placeholder from documentation: one character, repeated. Nothing was hashed.
    case placeholder
}

extension DigestInput: CustomStringConvertible {
    /// The input's name in messages, such as `the whole certificate`.
    public var description: String {
        switch self {
        case .publicKey: "the SubjectPublicKeyInfo"
        case .mistyped: "the SubjectPublicKeyInfo, but for a digit or a few"
        case .certificate: "the whole certificate"
        case .signedPart: "the certificate without its signature (TBSCertificate)"
        case .keyOctets: "the raw key (PKCS #1 or X9.63, without its algorithm)"
        case .keyBitString: "the BIT STRING of the key"
        case .modulus: "the RSA modulus"
        case .modulusLine: "the line that openssl prints with the RSA modulus"
        case .publicKeyPEM: "the PEM text of the key"
        case .certificatePEM: "the PEM text of the certificate"
        case .pinText: "the pin's hexadecimal text"
        case .pinDigest: "the pin itself, hashed a second time"
        case .nothing: "empty input"
        case .lineEnd: "a line end"
        case .placeholder: "a placeholder, one character repeated"
        }
    }
}

extension DigestInput {
    /// Returns every input from a key and its certificate, if any. Texts are included with and without their last line
    /// end.
    static func all(
        of key: SubjectPublicKeyInfo, in certificate: X509Certificate?
    ) -> [(input: DigestInput, bytes: [UInt8])] {
        var all: [(DigestInput, [UInt8])] = [(.publicKey, key.derBytes)]
        if let certificate { all += [(.certificate, certificate.derBytes), (.signedPart, certificate.signedPart)] }
        let octets = key.keyOctets
        all += [(.keyOctets, octets), (.keyOctets, Array(octets.dropFirst()))]
        // The BIT STRING is at the end of the SubjectPublicKeyInfo. It has one octet for the number of unused bits, and
        // a header of up to four octets more.
        all += (1...6).filter { octets.count + $0 < key.derBytes.count }
            .map { (.keyBitString, key.derBytes.suffix(octets.count + $0)) }
        if let modulus = key.rsaModulus {
            all += [(.modulus, modulus), (.modulus, [0] + modulus)]
            all += texts("Modulus=" + Hexadecimal.encode(modulus).uppercased()).map { (.modulusLine, $0) }
        }
        all += texts(pem("PUBLIC KEY", key.derBytes)).map { (.publicKeyPEM, $0) }
        if let certificate { all += texts(pem("CERTIFICATE", certificate.derBytes)).map { (.certificatePEM, $0) } }
        let digest = sha256Digest(key.derBytes.span)
        all += texts(Hexadecimal.encode(digest)).map { (.pinText, $0) } + [(.pinDigest, digest)]
        return all
    }

    /// The inputs that need no key.
    static let constants: [(input: DigestInput, bytes: [UInt8])] = [(.nothing, []), (.lineEnd, [0x0A])]

    /// Recognizes the bytes that `AAAA…` and `BBBB…` decode to: a repeated sequence of three bytes.
    init?(placeholder digest: [UInt8]) {
        guard digest.count > 3, digest.indices.dropFirst(3).allSatisfy({ digest[$0] == digest[$0 - 3] })
        else { return nil }
        self = .placeholder
    }

    private static func texts(_ text: String) -> [[UInt8]] { [Array(text.utf8) + [0x0A], Array(text.utf8)] }

    /// Returns PEM without a line end after the last line.
    private static func pem(_ label: String, _ der: [UInt8]) -> String { String(pemText(label, der).dropLast()) }
}
