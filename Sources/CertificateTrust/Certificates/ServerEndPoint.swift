extension X509Certificate {
    /// The channel binding of a TLS connection to a server with this certificate (`tls-server-end-point`; RFC 5929,
    /// section 4.1). It is the certificate's digest, with the digest algorithm of its signature, or SHA-256 in place of
    /// MD5 and SHA-1.
    ///
    /// `nil` for signature algorithms without a separate digest, for which the RFC defines no binding, and for unknown
    /// ones.
    package var serverEndPoint: [UInt8]? {
        let bytes = derBytes
        guard let name = Self.digestOfSignature(bytes.span) else { return nil }
        return digest(name, of: bytes)
    }

    private static func digestOfSignature(_ bytes: Span<UInt8>) -> String? {
        var outer = DERCursor(0..<bytes.count)
        guard let certificate = try? outer.next(DERTag.sequence, bytes).contents else { return nil }
        var fields = DERCursor(certificate)
        guard (try? fields.next(DERTag.sequence, bytes)) != nil,
            let algorithm = try? fields.next(DERTag.sequence, bytes).contents
        else { return nil }
        var parts = DERCursor(algorithm)
        guard let identifier = try? parts.next(DERTag.objectIdentifier, bytes).contents else { return nil }
        var name = [UInt8](capacity: identifier.count) { name in
            for index in identifier { name.append(bytes[index]) }
        }
        if name == pss {
            // The first parameter of RSASSA-PSS is its digest. Without it the digest is SHA-1 (RFC 4055, section 3.1),
            // which the binding replaces with SHA-256.
            guard let parameters = try? parts.next(DERTag.sequence, bytes).contents else { return nil }
            var hashes = DERCursor(parameters)
            guard let hash = try? hashes.nextIfPresent(DERTag.constructedContext(0), bytes)?.contents else {
                return "SHA2-256"
            }
            var inner = DERCursor(hash)
            guard let sequence = try? inner.next(DERTag.sequence, bytes).contents else { return nil }
            var hashParts = DERCursor(sequence)
            guard let found = try? hashParts.next(DERTag.objectIdentifier, bytes).contents else { return nil }
            name = [UInt8](capacity: found.count) { name in
                for index in found { name.append(bytes[index]) }
            }
        }
        return digests[name]
    }

    /// The identifier of RSASSA-PSS, `1.2.840.113549.1.1.10`.
    private static let pss: [UInt8] = rsa + [0x0A]
    private static let rsa: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01]
    private static let ecdsa: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04]
    private static let sha2: [UInt8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02]

    private static let digests: [[UInt8]: String] = [
        // The identifiers of md5WithRSAEncryption, sha1WithRSAEncryption, ecdsa-with-SHA1 and SHA-1.
        rsa + [0x04]: "SHA2-256", rsa + [0x05]: "SHA2-256", ecdsa + [0x01]: "SHA2-256",
        [0x2B, 0x0E, 0x03, 0x02, 0x1A]: "SHA2-256",
        rsa + [0x0B]: "SHA2-256", rsa + [0x0C]: "SHA2-384", rsa + [0x0D]: "SHA2-512", rsa + [0x0E]: "SHA2-224",
        ecdsa + [0x03, 0x01]: "SHA2-224", ecdsa + [0x03, 0x02]: "SHA2-256", ecdsa + [0x03, 0x03]: "SHA2-384",
        ecdsa + [0x03, 0x04]: "SHA2-512",
        sha2 + [0x01]: "SHA2-256", sha2 + [0x02]: "SHA2-384", sha2 + [0x03]: "SHA2-512", sha2 + [0x04]: "SHA2-224",
    ]
}
