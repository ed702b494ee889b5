import OpenSSLBridge

/// The positions of the signed element, the algorithm and the signature in a CRL or an OCSP response (RFC 5280, section
/// 5.1.1; RFC 6960, section 4.2.1). Offsets count from the start of the whole input.
struct SignedDER: Sendable {
    /// The signed element, header included.
    let signed: Range<Int>
    /// The contents of the signed element.
    let contents: Range<Int>
    /// The AlgorithmIdentifier, header included.
    let algorithm: Range<Int>
    /// The octets of the signature.
    let signature: Range<Int>

    /// Parses the three fields and leaves `fields` after them.
    init(_ bytes: Span<UInt8>, _ fields: inout DERCursor) throws(DERError) {
        let element = try fields.next(DERTag.sequence, bytes)
        signed = element.whole
        contents = element.contents
        algorithm = try fields.next(DERTag.sequence, bytes).whole
        let bits = try fields.next(DERTag.bitString, bytes)
        // The signature must consist of whole octets. Otherwise it is left empty and verifies with no key.
        let isWhole = bits.contents.first.map { bytes[$0] == 0 } ?? false
        signature = (isWhole ? bits.contents : bits.contents.prefix(0)).dropFirst()
    }

    /// Whether the signature verifies with this key and uses an accepted algorithm.
    func isSigned(_ bytes: Span<UInt8>, by key: SubjectPublicKeyInfo) -> Bool {
        // mutant list-signature-algorithm: true by RevocationListTests OCSPTests
        guard SignatureAlgorithms.accept(bytes.extracting(algorithm)) else { return false }
        let keyBytes = key.derBytes
        return verifySignature(
            of: bytes.extracting(signed), algorithm: bytes.extracting(algorithm),
            signature: bytes.extracting(signature), by: keyBytes.span)
    }
}

/// A writer of DER elements, which are compared with parsed ones.
enum DERText {
    static func sequence(_ contents: [UInt8]) -> [UInt8] { element(DERTag.sequence, contents) }

    static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        guard contents.count >= 0x80 else { return [tag, UInt8(contents.count)] + contents }
        var length: [UInt8] = []
        var rest = contents.count
        while rest > 0 {
            length.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return [tag, 0x80 | UInt8(length.count)] + length + contents
    }
}
