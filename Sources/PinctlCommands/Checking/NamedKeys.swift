import CertificateTrust

/// The private keys in files that by their names may belong to a certificate in a file: `privkey.pem` and `server.key`
/// for `fullchain.pem`, `api.key` for `api.crt`, `data.tls.key` for `data.tls.crt` in a Kubernetes Secret.
///
/// A server may get such a key with the certificate, so each of them has to fit. Keys with other names may be for
/// anything.
struct NamedKeys {
    /// A key with the file that has it.
    struct Entry {
        /// The name of the file, or `nil` for that of the certificate.
        let title: String?
        let key: SPKIFingerprint
    }

    /// A file with private keys, or one value of a document.
    private struct Holder {
        let name: KeyFileName
        let title: String
        let first: SPKIFingerprint?
        /// The keys that servers may read: the first one, or in a file with chains each of them.
        let keys: Set<SPKIFingerprint>
        let isEncrypted: Bool
        /// Whether the name of the file says that it has a key.
        let isNamedAsKey: Bool
        /// Whether no certificate that it may belong to has its key, so that a server fails with any of them.
        var isStray = false
    }

    /// The leaves in files that have the same name but for the words for their contents.
    private struct Site {
        var leaves: Set<X509Certificate> = []
        /// The indices of the keys that by their names may belong to them.
        var holders: [Int] = []
    }

    /// A name in a directory.
    private struct Place: Hashable {
        let directory: String
        let name: String
    }

    private var holders: [Holder] = []
    private var sites: [KeyFileName: Site] = [:]

    init(_ files: [CheckedFile], _ pool: CertificatePool) {
        /// The keys of each directory that belong to something there.
        var known: [String: Set<SPKIFingerprint>] = [:]
        for file in files {
            for part in file.parts {
                let name = KeyFileName(part, of: file)
                let certificates = part.content.certificates.map(\.certificate)
                let leaves = certificates.filter(pool.isLeaf)
                if !leaves.isEmpty { sites[name, default: Site()].leaves.formUnion(leaves) }
                known[name.pair, default: []].formUnion(certificates.map(\.spkiFingerprint))
                guard part.content.hasKeys else { continue }
                let keys = part.content.chains.flatMap(\.keys)
                let first = keys.first ?? nil
                holders.append(
                    Holder(
                        name: name, title: Self.title(part, file), first: first,
                        keys: Set((leaves.isEmpty ? [first] : keys).compactMap(\.self)),
                        isEncrypted: part.hasEncryptedKey,
                        isNamedAsKey: KeyFileName.isOfKey(part.name ?? file.input.name)))
            }
            // The key of a request is for the next certificate, and one whose public half has a file of its own is for
            // something else.
            let others = file.keys.filter { $0.kind == .request || $0.kind == .publicKey }.map(\.fingerprint)
            known[KeyFileName(file.input).pair, default: []].formUnion(others)
        }
        let pairs = Pairs(sites, holders)
        for (index, holder) in holders.enumerated() {
            let found = pairs.sites(of: holder) { known[$0]?.isDisjoint(with: holder.keys) ?? true }
            var own: Set<SPKIFingerprint> = []
            for site in found { own.formUnion(sites[site]?.leaves.map(\.spkiFingerprint) ?? []) }
            holders[index].isStray = !found.isEmpty && own.isDisjoint(with: holder.keys)
            for site in found { sites[site]?.holders.append(index) }
        }
    }

    private static func title(_ part: CheckedFile.Part, _ file: CheckedFile) -> String {
        part.name.map { "\(file.title) (\($0))" } ?? file.title
    }

    /// Returns the keys that may belong to a leaf of a file, and that fit neither it nor another one with the name. If
    /// there are none and no key fits this leaf, it is the first one, unless `straysOnly` is true.
    func misfits(
        of leaf: X509Certificate, in part: CheckedFile.Part, of file: CheckedFile, straysOnly: Bool
    ) -> [Entry] {
        let found = holders(of: part, file)
        func entries(_ holders: [Holder]) -> [Entry] {
            // A key in the file itself is compared with its chains.
            holders.filter { $0.title != Self.title(part, file) }.compactMap { holder in
                holder.first.map { Entry(title: holder.title, key: $0) }
            }
        }
        let strays = entries(found.filter(\.isStray))
        let isFit = found.contains { $0.keys.contains(leaf.spkiFingerprint) }
        guard strays.isEmpty, !straysOnly, !isFit else {
            // mutant files-each-key: isFit ? [] : strays by FilesInUseTests/eachKey
            return strays
        }
        return Array(entries(found).prefix(1))
    }

    /// Returns the file of an encrypted key that may belong to a leaf of a file, if no other key is that of the leaf.
    func encryptedKey(of leaf: X509Certificate, in part: CheckedFile.Part, of file: CheckedFile) -> String? {
        let found = holders(of: part, file)
        guard !found.contains(where: { $0.keys.contains(leaf.spkiFingerprint) }) else { return nil }
        return found.first(where: \.isEncrypted)?.title
    }

    private func holders(of part: CheckedFile.Part, _ file: CheckedFile) -> [Holder] {
        sites[KeyFileName(part, of: file)]?.holders.map { holders[$0] } ?? []
    }

    /// The names of files with leaves, by what a key's name may have in common with them.
    private struct Pairs {
        private let inDirectory: [Place: [KeyFileName]]
        private let inPair: [Place: [KeyFileName]]
        private let byWords: [Place: [KeyFileName]]
        /// The names that say nothing, by the hosts that their leaves are for.
        private var byHost: [Place: [KeyFileName]] = [:]
        /// The names in each directory that has only one leaf.
        private let ofOneLeaf: [String: [KeyFileName]]
        /// The number of files with private keys in each directory.
        private let keyCounts: [String: Int]

        init(_ sites: [KeyFileName: Site], _ holders: [Holder]) {
            inDirectory = Dictionary(grouping: sites.keys) { Place(directory: $0.directory, name: $0.stem) }
            inPair = Dictionary(grouping: sites.keys) { Place(directory: $0.pair, name: $0.stem) }
            byWords = Dictionary(grouping: sites.keys) { Place(directory: $0.pair, name: $0.words) }
            for (name, site) in sites where name.words.isEmpty {
                let hosts = site.leaves.flatMap { $0.subjectAlternativeNames.prefix(FileCheck.nameLimit) }
                for words in Set(hosts.flatMap { KeyFileName.words(ofHost: $0.description) }) {
                    byHost[Place(directory: name.pair, name: words), default: []].append(name)
                }
            }
            ofOneLeaf = Dictionary(grouping: sites.keys, by: \.pair).filter { _, names in
                Set(names.lazy.compactMap { sites[$0] }.flatMap(\.leaves)).count == 1
            }
            keyCounts = Dictionary(grouping: holders, by: \.name.pair).mapValues(\.count)
        }

        /// Returns the files to whose leaves a key may belong. `isUnknown` says whether a key belongs to nothing in a
        /// directory.
        func sites(of holder: Holder, _ isUnknown: (String) -> Bool) -> [KeyFileName] {
            let name = holder.name
            if let found = inDirectory[Place(directory: name.directory, name: name.stem)] { return found }
            for pair in name.pairs {
                if let found = inPair[Place(directory: pair, name: name.stem)] { return found }
            }
            // mutant files-set-aside: true by FilesInUseTests/otherPurposes
            guard name.pairs.allSatisfy(isUnknown) else { return [] }
            for pair in name.pairs {
                let place = Place(directory: pair, name: name.words)
                // mutant files-generic: nil for `byWords[place]` by FilesInUseTests/genericNames
                // mutant files-key-host: nil for `byHost[place]` by FilesInUseTests/genericNames
                if let found = byWords[place] ?? byHost[place] { return found }
            }
            // A key whose name says nothing, or the only key, beside the only leaf.
            let isOnly = name.pairs.reduce(0) { $0 + (keyCounts[$1] ?? 0) } == 1
            // mutant files-only-key: false for 2 by FilesInUseTests/genericNames
            guard holder.isNamedAsKey, name.words.isEmpty || isOnly && !name.isForAnotherPurpose else { return [] }
            return name.pairs.lazy.compactMap { ofOneLeaf[$0] }.first ?? []
        }
    }
}
