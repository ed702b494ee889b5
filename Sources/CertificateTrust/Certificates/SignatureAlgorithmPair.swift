/// The two places in which a certificate names the algorithm of its signature (RFC 5280, sections 4.1.1.2 and 4.1.2.3):
/// one is signed, the other stands beside the signature.
enum SignatureAlgorithmPair: Sendable {
    /// Byte for byte the same, as RFC 5280 demands.
    case same
    /// The same algorithm, with NULL parameters in one place and none in the other. Apple's Certificate Assistant
    /// writes it so, and Apple's systems and Chromium take it for the same.
    case sameButNull
    case different

    init(_ bytes: Span<UInt8>, _ layout: CertificateLayout) {
        let (inner, outer) = (
            bytes.extracting(layout.signatureAlgorithms.inner), bytes.extracting(layout.signatureAlgorithms.outer)
        )
        if inner.elementsEqual(outer) {
            self = .same
        } else if let (innerIdentifier, isInnerPlain) = Self.identifier(inner),
            let (outerIdentifier, isOuterPlain) = Self.identifier(outer), isInnerPlain, isOuterPlain,
            inner.extracting(innerIdentifier).elementsEqual(outer.extracting(outerIdentifier))
        {
            self = .sameButNull
        } else {
            self = .different
        }
    }

    /// Where the identifier lies, and whether nothing but NULL stands behind it.
    private static func identifier(_ algorithm: Span<UInt8>) -> (Range<Int>, isPlain: Bool)? {
        var outer = DERCursor(0..<algorithm.count)
        guard let sequence = try? outer.next(DERTag.sequence, algorithm) else { return nil }
        var fields = DERCursor(sequence.contents)
        guard let identifier = try? fields.next(DERTag.objectIdentifier, algorithm).whole else { return nil }
        let null = try? fields.nextIfPresent(DERTag.null, algorithm)
        return (identifier, fields.isAtEnd && (null?.contents.isEmpty ?? true))
    }
}

extension CertificateLayout {
    /// The certificate with the signed algorithm in both places, for OpenSSL, which compares the two before it looks at
    /// the signature. The one that is replaced is not signed, and nothing else changes.
    func withOneAlgorithm(_ bytes: Span<UInt8>) -> [UInt8] {
        DERText.sequence([signed, signatureAlgorithms.inner, signature].flatMap { $0.map { bytes[$0] } })
    }
}
