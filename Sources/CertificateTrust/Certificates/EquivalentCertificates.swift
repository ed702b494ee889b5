import OpenSSLBridge

extension [X509Certificate] {
    /// Returns the fingerprints of the other certificates that anyone can make from the one at an index of this path,
    /// leaf first. The last one is the anchor, which is trusted byte for byte, and has none. Returns `nil` if OpenSSL
    /// can't compute them. Every certificate then counts as one of them.
    package func equivalentFingerprints(at index: Int) -> [CertificateFingerprint]? {
        index + 1 < count ? self[index].equivalentFingerprints(issuedBy: self[index + 1]) : []
    }
}

extension X509Certificate {
    /// Returns the fingerprints of the other certificates that anyone can make from this one and that the issuer's key
    /// verifies too, because the signed part is the same.
    ///
    /// The algorithm next to the signature isn't signed, and can have NULL parameters or none
    /// (``SignatureAlgorithmPair``). An ECDSA signature (r, s) also verifies as (r, n - s). Returns `nil` if OpenSSL
    /// can't compute that.
    fileprivate func equivalentFingerprints(issuedBy issuer: X509Certificate) -> [CertificateFingerprint]? {
        let der = derBytes
        guard let layout = try? CertificateLayout(der.span) else { return nil }
        var signatures = [Array(der[layout.signature])]
        if case .ellipticCurve = issuer.keyKind {
            var cursor = DERCursor(layout.signature)
            // The first octet of a BIT STRING is the number of its unused bits. A signature has none.
            guard let bits = try? cursor.next(DERTag.bitString, der.span).contents else { return nil }
            let key = issuer.subjectPublicKeyInfo.derBytes
            guard let other = try? otherSignature(der.span.extracting(bits.dropFirst()), by: key.span) else {
                return nil
            }
            signatures.append(DERText.element(DERTag.bitString, [0] + other))
        }
        var fingerprints: [CertificateFingerprint] = []
        for algorithm in SignatureAlgorithmPair.spellings(of: Array(der[layout.signatureAlgorithms.outer])) {
            // mutant deny-equivalent-signature: Array(signatures.prefix(1)) for `signatures` by
            //   DeniedPinTests/otherForm
            for signature in signatures {
                let other = DERText.sequence(der[layout.signed] + algorithm + signature)
                if other != der { fingerprints.append(CertificateFingerprint(hashing: other.span)) }
            }
        }
        return fingerprints
    }
}
