/// The positions of the parts of a DER certificate (RFC 5280, section 4.1). Nothing is decoded yet.
struct CertificateLayout: Sendable {
    var version: Int
    var serialNumber: Range<Int>
    /// The algorithms inside the signed part and next to the signature, headers included.
    var signatureAlgorithms: (inner: Range<Int>, outer: Range<Int>)
    /// The signed part and the BIT STRING of the signature, headers included.
    var signed: Range<Int>
    var signature: Range<Int>
    /// The names, as whole elements with their headers.
    var issuer: Range<Int>
    var subject: Range<Int>
    /// The element of `notBefore`, header included.
    var notBefore: Range<Int>
    var notAfter: Range<Int>
    /// The SubjectPublicKeyInfo, header included. A pin is its hash.
    var subjectPublicKeyInfo: Range<Int>
    /// Whether the issuer or subject has a unique identifier, which X.509 used before names were unique (RFC 5280,
    /// section 4.1.2.8).
    var hasUniqueIdentifiers: Bool
    /// The contents of `SEQUENCE OF Extension`. `nil` if there is none.
    var extensions: Range<Int>?

    /// Parses one certificate that fills `bytes`.
    init(_ bytes: Span<UInt8>) throws(DERError) {
        var outer = DERCursor(0..<bytes.count)
        let certificate = try outer.next(DERTag.sequence, bytes)
        try outer.finish()

        var parts = DERCursor(certificate.contents)
        let tbs = try parts.next(DERTag.sequence, bytes)
        signed = tbs.whole
        let outerAlgorithm = try parts.next(DERTag.sequence, bytes).whole
        signature = try parts.nextOctetsInBits(bytes).whole
        try parts.finish()

        var fields = DERCursor(tbs.contents)
        version = 1
        if let explicit = try fields.nextIfPresent(DERTag.constructedContext(0), bytes) {
            var inner = DERCursor(explicit.contents)
            let number = try inner.next(DERTag.integer, bytes)
            try inner.finish()
            guard number.contents.count == 1, bytes[number.contents.lowerBound] <= 2 else {
                throw .invalidValue(what: "certificate version", offset: number.whole.lowerBound)
            }
            version = Int(bytes[number.contents.lowerBound]) + 1
        }
        serialNumber = try fields.next(DERTag.integer, bytes).contents
        signatureAlgorithms = (try fields.next(DERTag.sequence, bytes).whole, outerAlgorithm)
        issuer = try fields.next(DERTag.sequence, bytes).whole
        let validity = try fields.next(DERTag.sequence, bytes)
        subject = try fields.next(DERTag.sequence, bytes).whole
        subjectPublicKeyInfo = try fields.next(DERTag.sequence, bytes).whole
        let issuerIdentifier = try fields.nextIfPresent(DERTag.context(1), bytes)
        let subjectIdentifier = try fields.nextIfPresent(DERTag.context(2), bytes)
        hasUniqueIdentifiers = issuerIdentifier != nil || subjectIdentifier != nil
        if let explicit = try fields.nextIfPresent(DERTag.constructedContext(3), bytes) {
            var inner = DERCursor(explicit.contents)
            extensions = try inner.next(DERTag.sequence, bytes).contents
            try inner.finish()
        }
        try fields.finish()

        var times = DERCursor(validity.contents)
        notBefore = try times.next(bytes).whole
        notAfter = try times.next(bytes).whole
        try times.finish()
    }

    /// Calls `body` with each extension in order: its identifier, criticality and value contents.
    func forEachExtension(
        _ bytes: Span<UInt8>, _ body: (Range<Int>, Bool, Range<Int>) throws(DERError) -> Void
    ) throws(DERError) {
        guard let extensions else { return }
        try DERExtensions.forEach(bytes, extensions, body)
    }
}

/// A walk over `SEQUENCE OF Extension`, which certificates, CRLs and OCSP responses share.
enum DERExtensions {
    static func forEach(
        _ bytes: Span<UInt8>, _ contents: Range<Int>, _ body: (Range<Int>, Bool, Range<Int>) throws(DERError) -> Void
    ) throws(DERError) {
        var list = DERCursor(contents)
        while !list.isAtEnd {
            var fields = DERCursor(try list.next(DERTag.sequence, bytes).contents)
            let identifier = try fields.next(DERTag.objectIdentifier, bytes)
            var isCritical = false
            if let flag = try fields.nextIfPresent(DERTag.boolean, bytes) {
                // DER has one encoding of true and omits the default. Some CAs encode false explicitly, so it is
                // accepted.
                guard flag.contents.count == 1, [0x00, 0xFF].contains(bytes[flag.contents.lowerBound]) else {
                    throw .invalidValue(what: "extension criticality", offset: flag.whole.lowerBound)
                }
                isCritical = bytes[flag.contents.lowerBound] == 0xFF
            }
            let value = try fields.next(DERTag.octetString, bytes)
            try fields.finish()
            try body(identifier.contents, isCritical, value.contents)
        }
    }
}
