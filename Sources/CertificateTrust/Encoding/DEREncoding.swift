import PinctlBasics

/// A check that a whole encoding is DER (X.690, sections 8, 10 and 11), including the parts that aren't decoded here.
enum DEREncoding {
    /// The limit on nesting. Certificates nest about ten levels deep.
    private static let maximumDepth = 32

    /// Returns the first defect in the elements that fill `range`, or `nil` if all of them are DER. The contents of an
    /// OCTET STRING aren't checked.
    static func defect(_ bytes: Span<UInt8>, _ range: Range<Int>, depth: Int = 0) -> String? {
        guard depth < maximumDepth else { return "is nested too deeply" }
        var cursor = DERCursor(range)
        while !cursor.isAtEnd {
            guard let element = try? cursor.next(bytes) else { return "has a length that is not valid DER" }
            let isConstructed = element.tag & 0x20 != 0
            if element.tag & 0xC0 == 0, isConstructed != [DERTag.sequence, DERTag.set].contains(element.tag) {
                return "has a string in several parts"
            }
            let defect =
                isConstructed
                ? self.defect(bytes, element.contents, depth: depth + 1)
                : primitiveDefect(element.tag, bytes.extracting(element.contents))
            if let defect { return defect }
            if element.tag == DERTag.set, let defect = setDefect(bytes, element.contents) { return defect }
        }
        return nil
    }

    /// Returns the defect of a SET, if any. The sets in certificates are RDNs, which are never empty (RFC 5280, section
    /// 4.1.2.4) and are in order (X.690, section 11.6).
    private static func setDefect(_ bytes: Span<UInt8>, _ contents: Range<Int>) -> String? {
        var cursor = DERCursor(contents)
        guard !cursor.isAtEnd else { return "has an empty SET" }
        var last: [UInt8] = []
        while !cursor.isAtEnd, let member = try? cursor.next(bytes) {
            let next = Array(copying: bytes.extracting(member.whole))
            guard !next.lexicographicallyPrecedes(last) else { return "has an unsorted SET" }
            last = next
        }
        return nil
    }

    private static func primitiveDefect(_ tag: UInt8, _ contents: Span<UInt8>) -> String? {
        switch tag {
        case DERTag.boolean:
            contents.count == 1 && [0x00, 0xFF].contains(contents[0]) ? nil : "has a malformed BOOLEAN"
        case DERTag.integer: isInteger(contents) ? nil : "has a padded INTEGER"
        case DERTag.bitString: isBitString(contents) ? nil : "has a malformed BIT STRING"
        case DERTag.null: contents.isEmpty ? nil : "has a malformed NULL"
        case DERTag.objectIdentifier: isObjectIdentifier(contents) ? nil : "has a malformed OBJECT IDENTIFIER"
        case DERTag.utf8String:
            String(validating: Array(copying: contents), as: UTF8.self) != nil ? nil : "has a malformed UTF8String"
        case DERTag.printableString:
            contents.indices.allSatisfy { isPrintable(contents[$0]) } ? nil : "has a malformed PrintableString"
        case DERTag.ia5String, DERTag.visibleString:
            contents.indices.allSatisfy { contents[$0] < 0x80 } ? nil : "has a malformed IA5String"
        default: nil
        }
    }

    /// Whether an extension says that it isn't critical, which is the default and omitted (X.690, section 11.5).
    static func hasDefaultCriticality(_ bytes: Span<UInt8>, _ layout: CertificateLayout) -> Bool {
        guard let extensions = layout.extensions else { return false }
        var list = DERCursor(extensions)
        while !list.isAtEnd, let element = try? list.next(DERTag.sequence, bytes) {
            var fields = DERCursor(element.contents)
            guard (try? fields.next(bytes)) != nil else { return false }
            if let flag = try? fields.nextIfPresent(DERTag.boolean, bytes), bytes[flag.contents.lowerBound] == 0 {
                return true
            }
        }
        return false
    }

    /// Whether an integer is encoded in as few bytes as possible (X.690, section 8.3.2).
    static func isInteger(_ contents: Span<UInt8>) -> Bool {
        guard contents.count > 1 else { return contents.count == 1 }
        return !(contents[0] == 0x00 && contents[1] < 0x80) && !(contents[0] == 0xFF && contents[1] >= 0x80)
    }

    /// Whether the unused bits are zero (X.690, section 11.2.1).
    static func isBitString(_ contents: Span<UInt8>) -> Bool {
        guard contents.count > 0, contents[0] <= 7 else { return false }
        guard contents.count > 1 else { return contents[0] == 0 }
        return contents[contents.count - 1] & ((1 << contents[0]) - 1) == 0
    }

    /// Whether each number is encoded in as few bytes as possible and the last one is complete.
    private static func isObjectIdentifier(_ contents: Span<UInt8>) -> Bool {
        var startsNumber = true
        for index in contents.indices {
            guard !startsNumber || contents[index] != 0x80 else { return false }
            startsNumber = contents[index] < 0x80
        }
        return contents.count > 0 && startsNumber
    }

    /// Whether a PrintableString may contain the character (X.680, section 41.4).
    private static func isPrintable(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: " '()+,-./:=?".utf8.contains(byte)
        }
    }
}

extension X509Certificate {
    /// The first defect of the encoding, if any: a part that isn't DER, or unique identifiers. Standard extensions are
    /// checked too.
    var encodingDefect: String? {
        let der = derBytes
        if let defect = DEREncoding.defect(der.span, 0..<der.count) { return defect }
        guard let layout = try? CertificateLayout(der.span) else { return "is malformed" }
        if layout.hasUniqueIdentifiers { return "has unique identifiers" }
        // RFC 5280, section 4.1.2.5: times through 2049 are encoded as UTCTime.
        for (element, seconds) in [(layout.notBefore, validity.lowerBound), (layout.notAfter, validity.upperBound)]
        where der[element.lowerBound] == DERTag.generalizedTime && seconds < 2_524_608_000 {
            return "has a GeneralizedTime before 2050"
        }
        if DEREncoding.hasDefaultCriticality(der.span, layout) { return "has an encoded default value" }
        var found: String?
        try? layout.forEachExtension(der.span) { identifier, _, value in
            guard found == nil, CertificateExtensions.isStandard(der.span, identifier) else { return }
            found = DEREncoding.defect(der.span, value)
        }
        return found
    }
}

/// Returns a DER object as PEM (RFC 7468), in lines of 64 characters with a line end after the last.
package func pemText(_ label: String, _ der: [UInt8]) -> String {
    var rest = Base64.encode(der.span)[...]
    var lines = ["-----BEGIN \(label)-----"]
    while !rest.isEmpty {
        lines.append(String(rest.prefix(64)))
        rest = rest.dropFirst(64)
    }
    return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
}
