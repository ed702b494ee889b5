/// The entry of a log about a certificate, which its timestamps sign (RFC 6962, section 3.2).
enum LoggedEntry {
    /// The certificate itself, for timestamps that are delivered beside it.
    case certificate(X509Certificate)
    /// The signed part without the list of timestamps, and the SHA-256 of the issuer's key. Timestamps inside the
    /// certificate are about this, because they were made before it.
    case precertificate(signedPart: [UInt8], issuerKeyHash: [UInt8])

    /// Returns the entry for the timestamps inside a certificate. `issuer` is the certificate above it on the path,
    /// also if a precertificate signing certificate signed the precertificate.
    static func precertificate(
        of certificate: X509Certificate, issuer: X509Certificate
    ) throws(DERError) -> LoggedEntry {
        let key = issuer.subjectPublicKeyInfo.derBytes
        return .precertificate(
            signedPart: try signedPartWithoutTimestamps(certificate), issuerKeyHash: sha256Digest(key.span))
    }

    /// Returns the bytes that the log's signature covers.
    func signedData(_ timestamp: SignedCertificateTimestamp) -> [UInt8] {
        // v1, certificate_timestamp.
        var data: [UInt8] = [0, 0]
        data += Self.number(timestamp.milliseconds, octets: 8)
        switch self {
        case .certificate(let certificate):
            let der = certificate.derBytes
            data += Self.number(0, octets: 2) + Self.number(UInt64(der.count), octets: 3) + der
        case .precertificate(let signedPart, let issuerKeyHash):
            data += Self.number(1, octets: 2) + issuerKeyHash
            data += Self.number(UInt64(signedPart.count), octets: 3) + signedPart
        }
        return data + Self.number(UInt64(timestamp.extensions.count), octets: 2) + timestamp.extensions
    }

    private static func number(_ number: UInt64, octets: Int) -> [UInt8] {
        (0..<octets).reversed().map { UInt8(truncatingIfNeeded: number >> (UInt64($0) * 8)) }
    }

    /// Returns the TBSCertificate without the extension with the timestamps. Everything else keeps its bytes.
    private static func signedPartWithoutTimestamps(_ certificate: X509Certificate) throws(DERError) -> [UInt8] {
        let der = certificate.signedPart
        let bytes = der.span
        var outer = DERCursor(0..<bytes.count)
        var fields = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        var contents: [UInt8] = []
        while !fields.isAtEnd {
            let field = try fields.next(bytes)
            guard field.tag == DERTag.constructedContext(3) else {
                contents += der[field.whole]
                continue
            }
            var explicit = DERCursor(field.contents)
            var list = DERCursor(try explicit.next(DERTag.sequence, bytes).contents)
            var kept: [UInt8] = []
            while !list.isAtEnd {
                let element = try list.next(DERTag.sequence, bytes)
                var parts = DERCursor(element.contents)
                let identifier = try parts.next(DERTag.objectIdentifier, bytes).contents
                if ObjectIdentifierNumber(bytes, identifier) != .timestampList { kept += der[element.whole] }
            }
            // RFC 5280, section 4.1: the list of extensions isn't empty if it is present.
            guard !kept.isEmpty else { continue }
            contents += DERText.element(DERTag.constructedContext(3), DERText.sequence(kept))
        }
        return DERText.sequence(contents)
    }
}

extension X509Certificate {
    /// The SignedCertificateTimestampList in its extension, if it has one (RFC 6962, section 3.3).
    func timestampList() throws(DERError) -> [UInt8]? {
        let der = derBytes
        let bytes = der.span
        var found: Range<Int>?
        try CertificateLayout(bytes).forEachExtension(bytes) { (identifier, _, value) throws(DERError) in
            guard ObjectIdentifierNumber(bytes, identifier) == .timestampList else { return }
            var outer = DERCursor(value)
            found = try outer.next(DERTag.octetString, bytes).contents
            try outer.finish()
        }
        return found.map { Array(der[$0]) }
    }
}

extension ObjectIdentifierNumber {
    /// The extension of certificates with timestamps, `1.3.6.1.4.1.11129.2.4.2` (RFC 6962, section 3.3).
    static let timestampList = Self(0x0A_2B06_0104_01D6_7902_0402)
    /// The extension of OCSP responses with timestamps, `1.3.6.1.4.1.11129.2.4.5` (RFC 6962, section 3.3).
    static let stapledTimestampList = Self(0x0A_2B06_0104_01D6_7902_0405)
}
