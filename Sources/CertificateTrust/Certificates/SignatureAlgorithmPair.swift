import PinctlBasics

/// The relation between the two places in which a certificate names its signature algorithm (RFC 5280, sections 4.1.1.2
/// and 4.1.2.3). One is signed, and the other is next to the signature.
enum SignatureAlgorithmPair: Sendable {
    /// Both are the same byte for byte, as RFC 5280 requires.
    case same
    /// Both name the same algorithm, with NULL parameters in one place and none in the other. Apple's Certificate
    /// Assistant writes such certificates, and Apple's systems and Chromium accept them.
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

    /// Returns the position of the identifier, and whether it is followed by nothing or only NULL.
    private static func identifier(_ algorithm: Span<UInt8>) -> (Range<Int>, isPlain: Bool)? {
        var outer = DERCursor(0..<algorithm.count)
        guard let sequence = try? outer.next(DERTag.sequence, algorithm) else { return nil }
        var fields = DERCursor(sequence.contents)
        guard let identifier = try? fields.next(DERTag.objectIdentifier, algorithm).whole else { return nil }
        let null = try? fields.nextIfPresent(DERTag.null, algorithm)
        return (identifier, fields.isAtEnd && (null?.contents.isEmpty ?? true))
    }

    /// Returns an algorithm with and without NULL parameters, or only as it is if it has others.
    static func spellings(of algorithm: [UInt8]) -> [[UInt8]] {
        // mutant deny-equivalent-algorithm: false for 2 by DeniedPinTests/otherForm
        guard let (identifier, isPlain) = identifier(algorithm.span), isPlain else { return [algorithm] }
        let name = Array(algorithm[identifier])
        return [DERText.sequence(name), DERText.sequence(name + [DERTag.null, 0])]
    }
}

extension CertificateLayout {
    /// Returns the certificate with the signed algorithm in both places. OpenSSL compares the two before it verifies
    /// the signature. The replaced one isn't signed, and nothing else changes.
    func withOneAlgorithm(_ bytes: Span<UInt8>) -> [UInt8] {
        DERText.sequence([signed, signatureAlgorithms.inner, signature].flatMap { $0.map { bytes[$0] } })
    }
}
