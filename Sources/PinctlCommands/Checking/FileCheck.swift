import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// A check of files, without connections: whether the keys intended for servers match their pins.
///
/// The files of a run are read as a whole, so that certificates find their issuers in other files (``Neighbors``).
/// There is one result for each leaf, however many files contain it, and one for each of them whose own chain fails.
struct FileCheck: Sendable {
    let source: PinSource
    let judge: ChainJudge
    let reader: InputReader
    /// The host and port of `--host`, or `nil` for all hosts of the policy.
    let endpoint: Endpoint?
    /// Whether files that aren't understood don't fail the run.
    let acceptsUnread: Bool
    /// Whether hosts of the policy without a certificate don't fail the run.
    let acceptsMissing: Bool

    /// The maximum number of hosts for which a certificate is checked, since it may contain any number.
    static let nameLimit = 200

    /// The hosts of the policy for which the files contain something.
    struct Coverage: Sendable {
        /// The rules for which there is a certificate or a key.
        private(set) var rules: Set<PolicyLocation> = []
        /// The names in all certificates.
        private(set) var names: [String] = []
        private(set) var hasCertificate = false
        /// Whether a certificate has too many names to check.
        var isCut = false

        mutating func add(_ rule: PinningRule) {
            if let location = rule.location { rules.insert(location) }
        }

        mutating func add(namesOf leaf: X509Certificate) {
            hasCertificate = true
            for entry in leaf.subjectAlternativeNames.prefix(FileCheck.nameLimit) { names.append(entry.description) }
        }

        mutating func formUnion(_ other: Coverage) {
            rules.formUnion(other.rules)
            names += other.names.filter { !names.contains($0) }.prefix(max(0, FileCheck.nameLimit - names.count))
            hasCertificate = hasCertificate || other.hasCertificate
            isCut = isCut || other.isCut
        }
    }

    /// Returns the results for all files.
    func outcome(of inputs: [InputPath]) -> Check.Outcome {
        let all = inputs.map { CheckedFile($0, reader) }
        let unused = UnusedVersions(all).kinds
        let files = all.indices.filter { unused[$0] == nil }.map { all[$0] }
        let pool = CertificatePool(files.lazy.flatMap(\.certificates))
        let neighbors = Neighbors(files, pool)
        var outcome = Check.Outcome()
        let named = namedKeys(in: files, &outcome)
        for kind in unused.values { outcome.irrelevant[kind, default: 0] += 1 }
        var leaves: [X509Certificate: [LeafPlace]] = [:]
        var order: [X509Certificate] = []
        for (number, file) in files.enumerated() {
            // A wrong order is the cause of other failures in the file, so it comes first.
            let places = LeafPlace.all(in: file, number, pool, named)
            for place in places.filter({ $0.first != nil }) + places.filter({ $0.first == nil }) {
                // mutant files-leaf-once: true by FileLayoutTests/certbot FileLayoutTests/otherClients
                if leaves[place.leaf] == nil { order.append(place.leaf) }
                leaves[place.leaf, default: []].append(place)
            }
        }
        /// The files of which something was checked, and the certificates that belong to the chains of leaves.
        var checked: Set<Int> = []
        var others: Set<Int> = []
        var used: Set<X509Certificate> = []
        /// The keys that don't fit the certificates beside them, which is all there is to say about them.
        var misfits: Set<SPKIFingerprint> = []
        /// The files with the leaf of a key.
        var owners: [SPKIFingerprint: [Int]] = [:]
        for leaf in order { owners[leaf.spkiFingerprint, default: []] += leaves[leaf]?.map(\.file) ?? [] }
        let isCovered = endpoint.map { endpoint in
            order.contains { $0.subjectAlternativeNames.contains { endpoint.name.matches($0) } }
        }
        for leaf in order {
            guard let places = leaves[leaf] else { continue }
            let issuers = neighbors.issuers(of: leaf, in: places.map { files[$0.file] })
            used.formUnion([leaf] + issuers)
            // Of several leaves, those for other hosts aren't asked for.
            // mutant files-host-lacking: true for 1 by FileLayoutTests/oneHost
            if isCovered == true, let endpoint, !leaf.subjectAlternativeNames.contains(where: endpoint.name.matches) {
                others.formUnion(places.map(\.file))
                continue
            }
            checked.formUnion(places.map(\.file))
            let misplaced = places.first(where: \.isMisplaced)
            let keyed = places.first { !$0.otherKeys.isEmpty }
            let place =
                misplaced ?? keyed ?? places.max { $0.rank(issuers) < $1.rank(issuers) }
                ?? places[0]
            let keys = keyed?.otherKeys ?? []
            misfits.formUnion(keys.map(\.key))
            let owner = keys.first.flatMap { owners[$0.key]?.first { files[$0].title != files[place.file].title } }
            if keys.isEmpty, let encrypted = places.lazy.compactMap(\.encryptedKey).first {
                outcome.notes.append(Self.note(ofEncryptedKey: encrypted, place.title))
            }
            let start = outcome.results.count
            add(
                place, of: files[place.file], issuers, &outcome,
                FileFaults(place, keys, owner: owner.map { files[$0].title }),
                borrowed: neighbors.borrowed(issuers, places))
            addCopies(of: place, places, files, neighbors, since: start, &outcome)
        }
        let keys = misfits.union(order.map(\.spkiFingerprint))
        let known = Set(files.lazy.flatMap(\.certificates).map(\.spkiFingerprint))
        let withLeaf = Set(leaves.values.joined().map { files[$0.file].input.directory })
        let withKey = Set(files.filter { $0.hasPrivateKey(among: Set(owners.keys)) }.map(\.input.directory))
        for (number, file) in files.enumerated() {
            let directory = file.input.directory
            // mutant files-public-key: false for 1 by FilesInUseTests/publicKeys
            if file.lacksPrivateKey, withLeaf.contains(directory), !withKey.contains(directory) {
                outcome.problems.append(Self.problem(ofKeyless: file))
                outcome.unread += 1
                continue
            }
            let hasLeaf = checked.contains(number) || others.contains(number)
            if !hasLeaf, file.certificates.contains(where: used.contains) { checked.insert(number) }
            if addKeys(of: file, hasLeaf: hasLeaf, besides: keys, used, &outcome) { checked.insert(number) }
            add(
                file, isChecked: checked.contains(number),
                // A server that gets such a key with a certificate beside it doesn't start.
                others.contains(number)
                    ? "certificate for other hosts"
                    : file.keys.first.map {
                        $0.kind.word + (known.contains($0.fingerprint) ? "" : " of no certificate")
                    },
                &outcome)
        }
        if !all.isEmpty, outcome.results.isEmpty, outcome.problems.isEmpty {
            // A file that is named alone says best what is wrong.
            let reason =
                all.count == 1 && inputs[0].isNamed ? all[0].reason.map { "\(all[0].title): \($0)" } : nil
            outcome.problems.append((reason ?? Self.nothing(in: files), []))
        }
        return outcome
    }

    private static func note(ofEncryptedKey key: String, _ leaf: String) -> String {
        "note: \(key == leaf ? "its private key" : key) is encrypted, so it wasn't compared with \(leaf): give "
            + "\(Flag.passwordFile.dashed) FILE"
    }

    private static func problem(ofKeyless file: CheckedFile) -> (String, [(String, JSON)]) {
        (
            "\(file.title): has no private key, although its name or the public key in it says so, and a server that "
                + "is given it doesn't start: put the private key there, or rename the file",
            [("file", .string(file.input.path))]
        )
    }

    /// The problem if nothing was checked.
    private static func nothing(in files: [CheckedFile]) -> String {
        files.allSatisfy(\.keys.isEmpty)
            ? "the files contain nothing to check: give chains, certificate requests or keys"
            : "the files contain only keys that aren't pinned: give their chains, or name the file of a key to compare "
                + "it with the pins"
    }

    /// Adds what wasn't understood, and what a file is if nothing of it was checked.
    func add(_ file: CheckedFile, isChecked: Bool, _ what: String?, _ outcome: inout Check.Outcome) {
        for problem in file.problems {
            // mutant files-unread: true for 1 by FileLayoutTests/oneFile
            // mutant files-broken: true for 2 by FileLayoutTests/oneFile
            if acceptsUnread, problem.kind == .unknown {
                outcome.notes.append("\(problem.reason) (accepted by \(Flag.allowUnread.dashed))")
            } else {
                outcome.problems.append((problem.reason, [("file", .string(file.input.path))]))
            }
        }
        if !file.problems.isEmpty {
            outcome.unread += 1
        } else if !isChecked {
            let what = what ?? file.irrelevant.first ?? CheckedFile.Key.Kind.authority.word
            outcome.irrelevant[what, default: 0] += 1
        }
    }

    /// Returns a failure for each host of the policy that no certificate in the files is valid for, if there are
    /// certificates at all.
    func lacking(_ coverage: Coverage) -> [CheckResult] {
        // mutant files-lacking: false for 3 by FileCheckTests/missingNames FileCheckTests/unknownAuthority
        guard endpoint == nil, case .policy(let file) = source, coverage.hasCertificate, !coverage.isCut else {
            return []
        }
        return file.policy.rules.filter { rule in
            rule.mode != .off && rule.location.map { !coverage.rules.contains($0) } ?? false
        }.map { rule in
            CheckResult(
                verdict: .noCertificate(rule, names: coverage.names), subject: "\(rule.host)", source: .file,
                presented: [], now: judge.time)
        }
    }
}

// MARK: - Copies

extension FileCheck {
    /// Adds the failures of other files with a leaf and a chain of their own, and warns of those with the leaf alone. A
    /// server may get any of these files. The results for the leaf begin at `start`.
    private func addCopies(
        of place: LeafPlace, _ places: [LeafPlace], _ files: [CheckedFile], _ neighbors: Neighbors, since start: Int,
        _ outcome: inout Check.Outcome
    ) {
        let copies = places.filter { $0.file != place.file && $0.first == nil }
        guard !copies.isEmpty else { return }
        let end = outcome.results.count
        let words = Set(outcome.results[start...].map(\.verdict.word))
        let claims = claims(of: place.leaf, &outcome.coverage).0
        var known: Set<Set<X509Certificate>> = [place.chain]
        var directories: Set = [files[place.file].input.directory]
        let results = { (copy: LeafPlace, issuers: [X509Certificate]) in
            self.results(
                of: PresentedChain(leaf: copy.leaf, intermediates: issuers), by: claims, copy.title,
                in: files[copy.file].input.path
            ).filter { !$0.verdict.isGood && !words.contains($0.verdict.word) }
        }
        for copy in copies where copy.count > 1 && !copy.isInCollection {
            directories.insert(files[copy.file].input.directory)
            // mutant files-copy: false by FileLayoutTests/copies
            if known.insert(copy.chain).inserted { outcome.results += results(copy, copy.others) }
        }
        for copy in copies where copy.count == 1 && directories.insert(files[copy.file].input.directory).inserted {
            let issuers = copy.others + neighbors.issuers(of: copy.leaf, in: [files[copy.file]])
            guard !results(copy, issuers).isEmpty else { continue }
            for index in start..<end { outcome.results[index].warn(ofCopyAlone: copy.title) }
        }
    }
}

// MARK: - Issuers

/// The certificates in which a file's certificates find their issuers: those of its own directory, and those of
/// directories without a leaf. The chain of another site in another directory doesn't help the server of this one.
private struct Neighbors {
    private var pools: [Substring: CertificatePool] = [:]
    /// The certificates of the files without a leaf. Every server may have such a file.
    private let common: Set<X509Certificate>

    init(_ files: [CheckedFile], _ pool: CertificatePool) {
        let directories = Dictionary(grouping: files) { $0.input.directory }.mapValues { $0.flatMap(\.certificates) }
        let sites = directories.filter { $0.value.contains(where: pool.isLeaf) }
        let shared = files.filter { sites[$0.input.directory] == nil }.flatMap(\.certificates)
        // mutant files-neighbors: files.flatMap(\.certificates) for `$0 + shared` by FileLayoutTests/neighbours
        pools = sites.mapValues { CertificatePool($0 + shared) }
        common = Set(files.filter { !$0.certificates.contains(where: pool.isLeaf) }.flatMap(\.certificates))
    }

    /// Returns the issuers of a leaf that are neither beside it nor in files without a leaf. A server that gets the
    /// files of the leaf doesn't send them.
    func borrowed(_ issuers: [X509Certificate], _ places: [LeafPlace]) -> [X509Certificate] {
        issuers.filter { issuer in !common.contains(issuer) && !places.contains { $0.chain.contains(issuer) } }
    }

    /// Returns the certificates that may be on a path from a leaf in these files, nearest first.
    func issuers(of leaf: X509Certificate, in files: [CheckedFile]) -> [X509Certificate] {
        var issuers: [X509Certificate] = []
        for directory in Set(files.map(\.input.directory)).sorted() {
            issuers += (pools[directory]?.issuers(of: leaf) ?? []).filter { !issuers.contains($0) }
        }
        return issuers
    }
}

extension FileCheck {
    /// Adds the results for a leaf.
    private func add(
        _ place: LeafPlace, of file: CheckedFile, _ issuers: [X509Certificate], _ outcome: inout Check.Outcome,
        _ faults: FileFaults, borrowed: [X509Certificate]
    ) {
        let leaf = place.leaf
        // Servers send a chain as it is in a file, whatever is beside it.
        // mutant files-own-chain: false by FileLayoutTests/ownChain
        let isWhole = !CertificatePool(place.others).issuers(of: leaf).isEmpty && !place.isInCollection
        let chain = PresentedChain(
            leaf: leaf, intermediates: place.others + (isWhole ? [] : issuers.filter { !place.chain.contains($0) }))
        outcome.coverage.add(namesOf: leaf)
        let (claims, isCut) = claims(of: leaf, &outcome.coverage)
        for var result in results(of: chain, by: claims, place.title, in: file.input.path) {
            // A server fails to start with these files, whatever its clients would do.
            if faults.isEmpty {
                result.warn(ofBorrowed: borrowed)
            } else {
                result.judge(result.verdict.behind(faults))
            }
            outcome.results.append(result)
        }
        // mutant files-cut: false by PassedOverTests/manyHosts PassedOverTests/manyNames
        guard isCut else { return }
        outcome.coverage.isCut = true
        outcome.problems.append(
            (
                "\(place.title): is valid for more than \(Self.nameLimit) hosts of the policy, and the others were not "
                    + "checked: check the servers, or use a policy with fewer of the hosts",
                [("file", .string(file.input.path))]
            ))
    }
}
