import CertificateTrust

/// The certificates and private keys of a file, or of one value of a document, as the chains that servers present.
///
/// Most servers read one chain from a file, and its key from anywhere in it. Postfix reads several, each behind its
/// private key, and refuses a file in which a certificate is before the first key (`smtpd_tls_chain_files`). So a file
/// that begins with a private key has a chain behind each, and every other file has one chain.
struct FileChains {
    /// A chain, whose first certificate servers present as their own.
    struct Chain {
        /// The keys beside the certificates, in their order. `nil` stands for a key that can't be read.
        fileprivate(set) var keys: [SPKIFingerprint?] = []
        fileprivate(set) var certificates: [(index: Int, certificate: X509Certificate, isOrdered: Bool)] = []

        /// The certificate that servers present, or `nil` if the order doesn't count, as in PKCS #7.
        var first: X509Certificate? { certificates.first.flatMap { $0.isOrdered ? $0.certificate : nil } }

        /// Whether the chain begins with this leaf and has a key, but not that of the leaf. Servers use the first key.
        func hasOtherKey(than leaf: X509Certificate) -> Bool {
            guard let key = keys.first else { return false }
            if first != nil { return first == leaf && key.map { $0 != leaf.spkiFingerprint } ?? false }
            // The key may be for any certificate without an order.
            return certificates.count { !$0.certificate.isCertificateAuthority } == 1
                && keys.allSatisfy { $0.map { $0 != leaf.spkiFingerprint } ?? false }
        }
    }

    private(set) var chains: [Chain] = [Chain()]
    private var beginsWithKey = false

    var certificates: [(index: Int, certificate: X509Certificate, isOrdered: Bool)] { chains.flatMap(\.certificates) }
    var hasKeys: Bool { chains.contains { !$0.keys.isEmpty } }

    /// Adds the next certificate of the file.
    mutating func add(_ certificate: X509Certificate, _ object: InputObject) {
        chains[chains.count - 1].certificates.append((object.index, certificate, object.isOrdered))
    }

    /// Adds the next private key of the file, or `nil` if it can't be read.
    mutating func add(key: SPKIFingerprint?) {
        let last = chains[chains.count - 1]
        if last.keys.isEmpty, last.certificates.isEmpty { beginsWithKey = true }
        // mutant files-key-begins: true for `beginsWithKey` by FilesInUseTests/chainFiles
        if beginsWithKey, last.certificates.last?.isOrdered == true { chains.append(Chain()) }
        chains[chains.count - 1].keys.append(key)
    }
}
