import CertificateTrust

/// A leaf in a file.
struct LeafPlace {
    let leaf: X509Certificate
    let file: Int
    /// The name for results.
    let title: String
    /// The number of certificates beside it, which is larger in a file with its chain.
    let count: Int
    /// The certificates of its chain, and those of other values of its document that belong to no leaf.
    let chain: Set<X509Certificate>
    /// The same certificates, in their order. All places of a chain share both.
    private let certificates: [X509Certificate]
    /// The certificate that a server would present in its place, if that is another one.
    let first: X509Certificate?
    /// Whether its chain isn't the first of its file, and so begins behind a private key.
    let isBehindKey: Bool
    /// The private keys that a server may get with the leaf and that don't fit it.
    let otherKeys: [NamedKeys.Entry]
    /// The file of an encrypted private key that a server may get with the leaf, if no other key is that of the leaf.
    let encryptedKey: String?
    /// Whether the file has leaves alone. Servers aren't given such a collection, so the leaf may be first in another
    /// file.
    let isInCollection: Bool
    /// Its position among the certificates, from 1.
    let position: Int

    /// The other certificates that servers would send with it. The leaves of a collection aren't sent together.
    var others: [X509Certificate] {
        certificates.filter { (!isInCollection || $0.isCertificateAuthority) && $0 != leaf }
    }

    /// Whether a server that has the file fails, whatever other files there are.
    var isMisplaced: Bool { first != nil && !isInCollection }
    /// Whether the file has the number of a version, as in certbot's archive. Servers get the name without one.
    let isVersion: Bool

    /// Returns the order in which places are preferred, the last one most. `issuers` may be on a path from the leaf.
    func rank(_ issuers: [X509Certificate]) -> (Int, Int, Int, Int) {
        (first == nil ? 1 : 0, chain.intersection(issuers).count, count, isVersion ? 0 : 1)
    }
}

extension LeafPlace {
    /// Returns the leaves of a file. `number` is its index among all.
    static func all(
        in file: CheckedFile, _ number: Int, _ pool: CertificatePool, _ named: NamedKeys
    ) -> [LeafPlace] {
        let total = file.certificates.count { pool.isLeaf($0) }
        // The issuers of a leaf may be in another value, as in a Kubernetes Secret.
        let shared = file.parts.flatMap { part -> [X509Certificate] in
            let certificates = part.content.certificates.map(\.certificate)
            return certificates.contains(where: pool.isLeaf) ? [] : certificates
        }
        var places: [LeafPlace] = []
        for part in file.parts {
            // Servers aren't given such a collection.
            let isCollection =
                !part.content.hasKeys && part.content.certificates.allSatisfy { pool.isLeaf($0.certificate) }
            var position = 0
            for (index, chain) in part.content.chains.enumerated() {
                // mutant files-order: nil by FileLayoutTests/wrongOrder FileLayoutTests/otherLeafFirst
                let first = chain.first
                let certificates = chain.certificates.map(\.certificate) + shared
                let unique = Set(certificates)
                var known: Set<X509Certificate> = []
                for entry in chain.certificates {
                    position += 1
                    let leaf = entry.certificate
                    // Its other positions in the chain say nothing new.
                    guard pool.isLeaf(leaf), known.insert(leaf).inserted else { continue }
                    let isFirst = first == nil || first == leaf
                    places.append(
                        LeafPlace(
                            leaf: leaf, file: number,
                            title: total > 1 ? "\(file.input.path)[\(entry.index)]" : file.input.path,
                            count: chain.certificates.count, chain: unique, certificates: certificates,
                            first: isFirst ? nil : first, isBehindKey: index > 0,
                            otherKeys: otherKeys(than: leaf, isFirst: isFirst, chain, part, file, named),
                            encryptedKey: named.encryptedKey(of: leaf, in: part, of: file),
                            isInCollection: isCollection, position: position,
                            isVersion: KeyFileName.isVersion(file.input.name)))
                }
            }
        }
        return places
    }

    /// Returns the private keys that a server may get with a leaf and that don't fit it: the one in the same file, and
    /// those in files whose names say so. A key may be for another leaf that is first in the file.
    private static func otherKeys(
        than leaf: X509Certificate, isFirst: Bool, _ chain: FileChains.Chain, _ part: CheckedFile.Part,
        _ file: CheckedFile, _ named: NamedKeys
    ) -> [NamedKeys.Entry] {
        // mutant files-own-key: false for `chain.hasOtherKey(than: leaf)` by FilesInUseTests/otherKeys
        let first = chain.hasOtherKey(than: leaf) ? chain.keys.lazy.compactMap(\.self).first : nil
        let own = [first].compactMap { $0.map { NamedKeys.Entry(title: nil, key: $0) } }
        // mutant files-named-key: own by FilesInUseTests/otherKeys
        return own + named.misfits(of: leaf, in: part, of: file, straysOnly: part.content.hasKeys || !isFirst)
    }
}
