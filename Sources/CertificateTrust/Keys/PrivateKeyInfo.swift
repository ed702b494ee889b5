import PinctlBasics

/// A private key of version 2 of PKCS #8 (OneAsymmetricKey, RFC 5958, section 2), which may contain its public key.
///
/// OpenSSL reads version 1 only, which has the same fields without the public key.
enum PrivateKeyInfo {
    /// Calls `body` with a private key as OpenSSL reads it, and with the DER SubjectPublicKeyInfo of the public key
    /// beside it, if there is one. The private key is overwritten afterwards if it had to be copied.
    static func withFirstVersion<Result, Failure: Error>(
        of der: Span<UInt8>, _ body: (Span<UInt8>, _ publicKey: [UInt8]?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard var parts = try? parts(of: der) else { return try body(der, nil) }
        defer { wipe(&parts.firstVersion) }
        return try body(parts.firstVersion.span, parts.publicKey)
    }

    /// Returns the parts of a key of version 2. Throws for anything else.
    private static func parts(
        of der: Span<UInt8>
    ) throws(DERError) -> (firstVersion: [UInt8], publicKey: [UInt8]?) {
        var outer = DERCursor(0..<der.count)
        var fields = DERCursor(try outer.next(DERTag.sequence, der).contents)
        try outer.finish()
        let version = try fields.next(DERTag.integer, der)
        // The lengths below have at most two bytes.
        guard version.contents.count == 1, der[version.contents.lowerBound] == 1, der.count < 0xFF00 else {
            throw .invalidValue(what: "version", offset: version.whole.lowerBound)
        }
        let algorithm = try fields.next(DERTag.sequence, der)
        let key = try fields.next(DERTag.octetString, der)
        let attributes = try fields.nextIfPresent(DERTag.constructedContext(0), der)
        let bits = try fields.nextIfPresent(DERTag.context(1), der)
        try fields.finish()
        func bytes(_ range: Range<Int>) -> [UInt8] { Array(copying: der.extracting(range)) }
        let identifier = bytes(algorithm.whole)
        let publicKey = bits.map { bits in
            element(DERTag.sequence, identifier + element(DERTag.bitString, bytes(bits.contents)))
        }
        var contents = [DERTag.integer, 1, 0] + identifier + bytes(key.whole)
        defer { wipe(&contents) }
        if let attributes { contents += bytes(attributes.whole) }
        return (element(DERTag.sequence, contents), publicKey)
    }

    /// Returns a DER element with these contents, of at most 65,535 bytes.
    private static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        let count = contents.count
        let length: [UInt8] =
            switch count {
            case ..<0x80: [UInt8(count)]
            case ..<0x100: [0x81, UInt8(count)]
            default: [0x82, UInt8(count >> 8), UInt8(count & 0xFF)]
            }
        return [tag] + length + contents
    }
}
