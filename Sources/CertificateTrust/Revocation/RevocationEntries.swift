import PinctlBasics

/// The entry of a list about one certificate.
struct RevocationEntry: Sendable, Hashable {
    /// The revocation time, in seconds since 1970. `nil` if the field isn't a valid time.
    let time: Int64?
    /// The CRLReason (RFC 5280, section 5.3.1), or 0 if the entry has none.
    let reason: UInt8

    /// Whether a delta CRL removes the certificate from the list, which lifts a hold.
    var isRemoval: Bool { reason == 8 }
}

extension CertificateRevocationList {
    /// The positions of the fields of an entry.
    private struct EntryLayout {
        let serialNumber: Range<Int>
        let time: Range<Int>
        /// The contents of crlEntryExtensions.
        let extensions: Range<Int>?

        init(_ bytes: Span<UInt8>, _ contents: Range<Int>) throws(DERError) {
            var fields = DERCursor(contents)
            let serial = try fields.next(DERTag.integer, bytes)
            // A lookup compares bytes, so it would miss a serial number in another encoding.
            guard DEREncoding.isInteger(bytes.extracting(serial.contents)) else {
                throw .invalidValue(what: "serial number", offset: serial.whole.lowerBound)
            }
            serialNumber = serial.contents
            let date = try fields.next(bytes)
            guard date.tag == DERTag.utcTime || date.tag == DERTag.generalizedTime else {
                throw .unexpectedTag(found: date.tag, expected: DERTag.utcTime, offset: date.whole.lowerBound)
            }
            time = date.whole
            extensions = try fields.nextIfPresent(DERTag.sequence, bytes)?.contents
            try fields.finish()
        }
    }

    /// Checks every entry once. Each must be well-formed. If one has an unsupported critical extension, the whole list
    /// can't be used (RFC 5280, section 5.3).
    mutating func checkEntries(_ bytes: Span<UInt8>) throws(DERError) {
        var list = DERCursor(entries)
        while !list.isAtEnd {
            let entry = try EntryLayout(bytes, try list.next(DERTag.sequence, bytes).contents)
            guard let extensions = entry.extensions else { continue }
            try DERExtensions.forEach(bytes, extensions) { (identifier, isCritical, _) throws(DERError) in
                let isRead =
                    switch EntryExtension(bytes, identifier) {
                    case .certificateIssuer: scope.isIndirect
                    case .reason, .holdInstruction, .invalidityDate: true
                    case nil: false
                    }
                if isCritical, !isRead {
                    let name = ObjectIdentifierText.dotted(bytes, identifier)
                    unusable = "has an entry with the critical extension \(name)"
                }
            }
        }
    }

    /// Returns the entry for the certificate with this serial number and issuer, or `nil` if there is none.
    ///
    /// This is a linear search of the DER without copying. In an indirect list, an entry belongs to the issuer that was
    /// named last (RFC 5280, section 5.3.3).
    func entry(serialNumber: [UInt8], issuer: CanonicalName) -> RevocationEntry? {
        let der = derBytes
        let bytes = der.span
        let wanted = serialNumber.span
        var isOfIssuer = canonicalIssuer == issuer
        var found: RevocationEntry?
        var list = DERCursor(entries)
        // The entries were checked when the list was parsed.
        while !list.isAtEnd, let contents = try? list.next(DERTag.sequence, bytes).contents,
            let entry = try? EntryLayout(bytes, contents)
        {
            if scope.isIndirect, let extensions = entry.extensions,
                let names = Self.certificateIssuer(bytes, extensions)
            {
                isOfIssuer = names.contains(.directory(issuer))
            }
            guard isOfIssuer, bytes.extracting(entry.serialNumber).elementsEqual(wanted) else { continue }
            let revocation = RevocationEntry(
                time: try? DERTime.seconds(bytes, entry.time),
                reason: entry.extensions.map { Self.reason(bytes, $0) } ?? 0)
            // If a certificate has two entries, one that revokes it takes precedence.
            // mutant list-removal: true by RevocationListTests
            if found == nil || !revocation.isRemoval { found = revocation }
        }
        return found
    }

    private static func certificateIssuer(_ bytes: Span<UInt8>, _ extensions: Range<Int>) -> [ScopeName]? {
        var names: [ScopeName]?
        try? DERExtensions.forEach(bytes, extensions) { (identifier, _, value) throws(DERError) in
            guard EntryExtension(bytes, identifier) == .certificateIssuer else { return }
            // A name that can't be read matches no issuer.
            names = []
            var outer = DERCursor(value)
            names = try ScopeName.list(bytes, try outer.next(DERTag.sequence, bytes).contents)
        }
        return names
    }

    private static func reason(_ bytes: Span<UInt8>, _ extensions: Range<Int>) -> UInt8 {
        var reason: UInt8 = 0
        try? DERExtensions.forEach(bytes, extensions) { (identifier, _, value) throws(DERError) in
            guard EntryExtension(bytes, identifier) == .reason else { return }
            var outer = DERCursor(value)
            let code = try outer.next(DERTag.enumerated, bytes).contents
            if code.count == 1 { reason = bytes[code.lowerBound] }
        }
        return reason
    }
}

/// The supported extensions of an entry (RFC 5280, section 5.3), by the last arc under `2.5.29`.
private enum EntryExtension: UInt8 {
    case reason = 21
    case holdInstruction = 23
    case invalidityDate = 24
    case certificateIssuer = 29

    init?(_ bytes: Span<UInt8>, _ identifier: Range<Int>) {
        let start = identifier.lowerBound
        guard identifier.count == 3, bytes[start] == 0x55, bytes[start + 1] == 0x1D else { return nil }
        self.init(rawValue: bytes[start + 2])
    }
}

/// A cRLNumber or BaseCRLNumber: a non-negative integer of up to 20 octets (RFC 5280, section 5.2.3).
struct ListNumber: Sendable, Hashable, Comparable {
    private let octets: [UInt8]

    /// Parses an extension's value.
    init(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(DERError) {
        var outer = DERCursor(value)
        let number = try outer.next(DERTag.integer, bytes)
        try outer.finish()
        guard let first = number.contents.first, number.contents.count <= 21, bytes[first] < 0x80 else {
            throw .invalidValue(what: "CRL number", offset: number.whole.lowerBound)
        }
        octets = Array(number.contents.map { bytes[$0] }.drop { $0 == 0 })
    }

    static func < (left: ListNumber, right: ListNumber) -> Bool {
        left.octets.count == right.octets.count
            ? left.octets.lexicographicallyPrecedes(right.octets) : left.octets.count < right.octets.count
    }
}
