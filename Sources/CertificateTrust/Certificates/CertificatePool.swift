/// Certificates without order, such as those of all files of a directory, and the rule that says which of them are
/// leaves.
package struct CertificatePool: Sendable {
    private var bySubject: [CanonicalName: [X509Certificate]] = [:]
    /// The certificates that aren't self-issued, by the name of their issuer.
    private var byIssuer: [CanonicalName: [X509Certificate]] = [:]

    /// The limit on the issuers that complete a chain.
    private static let issuerLimit = 32

    package init(_ certificates: some Sequence<X509Certificate>) {
        // A directory may contain the same intermediate a thousand times.
        var known: Set<X509Certificate> = []
        for certificate in certificates where known.insert(certificate).inserted {
            bySubject[certificate.canonicalSubject, default: []].append(certificate)
            guard !certificate.isSelfIssued else { continue }
            byIssuer[certificate.canonicalIssuer, default: []].append(certificate)
        }
    }

    /// Returns whether servers present a certificate as their own: an end-entity certificate, or a CA certificate with
    /// a hostname that issued none of the others. `openssl req -x509` makes such a CA certificate by default.
    package func isLeaf(_ certificate: X509Certificate) -> Bool {
        guard certificate.isCertificateAuthority else { return true }
        // mutant files-leaf: false by FileLayoutTests/selfSignedAuthority FileLayoutTests/namedAuthority
        return certificate.namesServers
            // mutant files-authority: true for `!(byIssuer…}` by FileLayoutTests/namedAuthority
            && !(byIssuer[certificate.canonicalSubject] ?? []).contains {
                $0 != certificate && certificate.mayHaveIssued($0)
            }
    }

    /// Returns the certificates that may be on a path from a certificate, nearest first, without itself.
    package func issuers(of certificate: X509Certificate) -> [X509Certificate] {
        var found: [X509Certificate] = []
        var known: Set<X509Certificate> = [certificate]
        var index = -1
        while index < found.count, found.count < Self.issuerLimit {
            let last = index < 0 ? certificate : found[index]
            index += 1
            for issuer in bySubject[last.canonicalIssuer] ?? []
            where found.count < Self.issuerLimit && issuer.mayHaveIssued(last) && known.insert(issuer).inserted {
                found.append(issuer)
            }
        }
        return found
    }
}

extension X509Certificate {
    /// Whether it is for a hostname or an address, which certificates of CAs usually aren't.
    package var namesServers: Bool {
        subjectAlternativeNames.contains { name in
            switch name {
            case .dns, .ipAddress: true
            case .other: false
            }
        }
    }

    /// Whether the names and the key identifiers allow that this certificate issued the other. The signature isn't
    /// checked.
    fileprivate func mayHaveIssued(_ other: X509Certificate) -> Bool {
        guard other.canonicalIssuer == canonicalSubject else { return false }
        guard let expected = other.issuerKeyIdentifier, let own = subjectKeyIdentifier else { return true }
        return expected == own
    }
}
