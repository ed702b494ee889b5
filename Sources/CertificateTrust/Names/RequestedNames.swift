extension KeyMaterial {
    /// Returns the alternative names in a certificate request, which may be none. The CA decides whether to include
    /// them in the certificate.
    ///
    /// In PKCS #10 (RFC 2986, section 4.1), the extensions are in an attribute (RFC 2985, section 5.4.2).
    static func requestedNames(ofRequest der: Span<UInt8>) throws(DERError) -> [SubjectAlternativeName] {
        var outer = DERCursor(0..<der.count)
        var parts = DERCursor(try outer.next(DERTag.sequence, der).contents)
        var fields = DERCursor(try parts.next(DERTag.sequence, der).contents)
        _ = try fields.next(DERTag.integer, der)
        _ = try fields.next(DERTag.sequence, der)
        _ = try fields.next(DERTag.sequence, der)
        guard let list = try fields.nextIfPresent(DERTag.constructedContext(0), der) else { return [] }
        var attributes = DERCursor(list.contents)
        while !attributes.isAtEnd {
            var attribute = DERCursor(try attributes.next(DERTag.sequence, der).contents)
            let identifier = try attribute.next(DERTag.objectIdentifier, der)
            guard ObjectIdentifierNumber(der, identifier.contents) == .extensionRequest else { continue }
            var values = DERCursor(try attribute.next(DERTag.set, der).contents)
            var extensions = DERCursor(try values.next(DERTag.sequence, der).contents)
            while !extensions.isAtEnd {
                var parts = DERCursor(try extensions.next(DERTag.sequence, der).contents)
                let identifier = try parts.next(DERTag.objectIdentifier, der)
                _ = try parts.nextIfPresent(DERTag.boolean, der)
                let value = try parts.next(DERTag.octetString, der)
                guard ObjectIdentifierNumber(der, identifier.contents) == .subjectAlternativeName else { continue }
                return try SubjectAlternativeName.list(der, value.contents)
            }
        }
        return []
    }
}

extension ObjectIdentifierNumber {
    /// The attribute extensionRequest, 1.2.840.113549.1.9.14.
    fileprivate static let extensionRequest = Self(0x09_2A86_4886_F70D_0109_0E)
    /// The extension subjectAltName, 2.5.29.17.
    fileprivate static let subjectAlternativeName = Self(0x03_551D_11)
}
