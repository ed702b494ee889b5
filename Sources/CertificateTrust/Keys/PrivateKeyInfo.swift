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
        // mutant wiped-version-2: () for `wipe(&parts.firstVersion)` by WipedKeyTests/versionTwo
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
        guard version.contents.count == 1, der[version.contents.lowerBound] == 1 else {
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
            DERText.sequence(identifier + DERText.element(DERTag.bitString, bytes(bits.contents)))
        }
        var secret = bytes(key.whole)
        // mutant wiped-version-2-secret: () for `wipe(&secret)` by WipedKeyTests/versionTwo
        defer { wipe(&secret) }
        var contents: [UInt8] = []
        // A buffer that grows would leave the key in the old one.
        contents.reserveCapacity(der.count)
        // mutant wiped-version-2-parts: () for `wipe(&contents)` by WipedKeyTests/versionTwo
        defer { wipe(&contents) }
        contents += [DERTag.integer, 1, 0]
        contents += identifier
        contents += secret
        if let attributes { contents += bytes(attributes.whole) }
        return (DERText.sequence(contents), publicKey)
    }
}
