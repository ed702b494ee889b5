import CertificateTrust

/// A leaf in a file.
struct LeafPlace {
    let leaf: X509Certificate
    let file: Int
    /// The name for results.
    let title: String
    /// The number of certificates beside it, which is larger in a file with its chain.
    let count: Int
    /// The other certificates of its chain, and those of other values of its document that belong to no leaf.
    let others: [X509Certificate]
    /// The certificate that a server would present in its place, if that is another one.
    let first: X509Certificate?
    /// Whether its chain isn't the first of its file, and so begins behind a private key.
    let isBehindKey: Bool
    /// A private key that a server gets with the leaf and that doesn't fit it.
    let otherKey: NamedKeys.Entry?
    /// Whether the file has leaves alone. Servers aren't given such a collection, so the leaf may be first in another
    /// file.
    let isInCollection: Bool
    /// Its position among the certificates, from 1.
    let position: Int

    /// Whether a server that has the file fails, whatever other files there are.
    var isMisplaced: Bool { first != nil && !isInCollection }
    /// Whether the file has the number of a version, as in certbot's archive. Servers get the name without one.
    let isVersion: Bool
    /// The order in which places are preferred, the last one most.
    var rank: (Int, Int, Int) { (first == nil ? 1 : 0, count, isVersion ? 0 : 1) }
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
                for entry in chain.certificates {
                    position += 1
                    let leaf = entry.certificate
                    guard pool.isLeaf(leaf) else { continue }
                    let isFirst = first == nil || first == leaf
                    places.append(
                        LeafPlace(
                            leaf: leaf, file: number,
                            title: total > 1 ? "\(file.input.path)[\(entry.index)]" : file.input.path,
                            count: chain.certificates.count,
                            others: (chain.certificates.map(\.certificate) + shared).filter { $0 != leaf },
                            first: isFirst ? nil : first, isBehindKey: index > 0,
                            otherKey: isFirst ? otherKey(than: leaf, chain, part, file, named) : nil,
                            isInCollection: isCollection, position: position,
                            isVersion: NamedKeys.isVersion(file.input.name)))
                }
            }
        }
        return places
    }

    /// Returns a private key that a server gets with a leaf and that doesn't fit it: the one in the same file, or else
    /// one beside the file with its name.
    private static func otherKey(
        than leaf: X509Certificate, _ chain: FileChains.Chain, _ part: CheckedFile.Part, _ file: CheckedFile,
        _ named: NamedKeys
    ) -> NamedKeys.Entry? {
        guard !part.content.hasKeys else {
            // mutant files-own-key: false for `chain.hasOtherKey(than: leaf)` by FilesInUseTests/otherKeys
            return chain.hasOtherKey(than: leaf)
                ? chain.keys.lazy.compactMap(\.self).first.map { NamedKeys.Entry(title: nil, key: $0) } : nil
        }
        // mutant files-named-key: nil by FilesInUseTests/otherKeys
        return named.misfit(of: leaf, in: part, of: file)
    }
}
