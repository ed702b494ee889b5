import CertificateTrust

/// The files of a directory with the versions of certificates that no server uses: those that an ACME client replaced,
/// and later ones that were rolled back in certbot's archive.
///
/// A file counts only if the certificate that is used instead is in the same directory tree and is for one of its
/// hosts, so that nothing is ignored for its own name alone, and only if its own directory wasn't named.
struct UnusedVersions {
    /// The kinds of files that certbot and dehydrated number.
    fileprivate static let names = ["cert", "chain", "fullchain", "privkey"]

    /// The kind of each unused file, by its index among all.
    private(set) var kinds: [Int: String] = [:]

    init(_ checked: [CheckedFile]) {
        var pool: CertificatePool?
        for (operand, group) in Dictionary(grouping: checked.indices, by: { checked[$0].input.operand }) {
            // A file that was named is what was asked for.
            guard let operand else { continue }
            let tree = Tree(group.map { (checked[$0], $0) }, in: operand)
            for (version, files) in tree.versions {
                let certificates = pool ?? CertificatePool(checked.lazy.flatMap(\.certificates))
                pool = certificates
                guard version.replaces(files.map { checked[$0] }, certificates) else { continue }
                for file in files { kinds[file] = version.kind }
            }
        }
    }
}

/// A version of a certificate that isn't used: the files that belong together.
private struct UnusedVersion: Hashable {
    /// The directory, and what the names have in common.
    let place: String
    let isLater: Bool
    /// The certificates that are used instead. `nil` if the files are of no use to a server, whatever they contain.
    let used: [X509Certificate]?

    var kind: String { isLater ? "later version" : "earlier version" }

    /// Whether the certificates that are used are for the same hosts as the files, at least for one of each.
    func replaces(_ files: [CheckedFile], _ pool: CertificatePool) -> Bool {
        guard let used else { return true }
        let names = used.flatMap(\.subjectAlternativeNames)
        let leaves = files.flatMap(\.certificates).filter(pool.isLeaf)
        let requests = files.flatMap(\.keys).filter { $0.kind == .request && !$0.hosts.isEmpty }.map(\.hosts)
        let hosts = leaves.map { $0.subjectAlternativeNames.compactMap(FileCheck.host) } + requests
        // mutant files-version-damaged: true by FilesInUseTests/unrelatedVersions
        guard !hosts.isEmpty else { return files.allSatisfy(\.problems.isEmpty) }
        // mutant files-version-names: true by FilesInUseTests/unrelatedVersions
        return hosts.allSatisfy { $0.contains { host in names.contains { host.matches($0) } } }
    }
}

/// The files of a directory that was named, by their paths in it. Each directory ends with a slash.
private struct Tree {
    private var directories: [String: [(name: String, index: Int)]] = [:]
    /// The certificates that files begin with.
    private var leaves: [String: X509Certificate] = [:]
    /// The directories in which certbot has certificates in use.
    private var certbot: Set<String> = []
    /// The certificates in use of each directory of lego.
    private var lego: [String: [X509Certificate]] = [:]

    init(_ group: [(file: CheckedFile, index: Int)], in operand: String) {
        var names: Set<String> = []
        for (file, index) in group {
            let parts = file.input.path.dropFirst(operand.count).split(separator: "/").map(String.init)
            let directory = Self.path(parts.dropLast())
            directories[directory, default: []].append((parts.last ?? "", index))
            names.insert(Self.path(parts))
            guard let leaf = file.certificates.first else { continue }
            leaves[directory + (parts.last ?? "")] = leaf
            if parts.last == "cert.pem", parts.dropLast(2).last == "live" {
                certbot.insert(Self.path(parts.dropLast(3)))
            }
        }
        for (path, leaf) in leaves where path.hasSuffix(".crt") {
            let parts = path.split(separator: "/").map(String.init)
            guard parts.dropLast().last == "certificates", names.contains(path.dropLast(4) + ".json/") else {
                continue
            }
            lego[Self.path(parts.dropLast(2)), default: []].append(leaf)
        }
    }

    private static func path(_ parts: some Sequence<String>) -> String { parts.map { $0 + "/" }.joined() }

    /// The versions that by their names and by what is beside their directories aren't used, with the indices of their
    /// files.
    var versions: [UnusedVersion: [Int]] {
        var versions: [UnusedVersion: [Int]] = [:]
        for (directory, files) in directories {
            let numbered = Numbered(in: directory, self)
            for (name, index) in files {
                guard let version = numbered.version(of: name) ?? version(of: name, in: directory) else { continue }
                versions[version, default: []].append(index)
            }
        }
        return versions
    }

    /// Returns the version of a file whose name has no number of one.
    private func version(of name: String, in directory: String) -> UnusedVersion? {
        let parts = directory.split(separator: "/").map(String.init)
        // certbot's requests and keys, one for each order.
        if ["csr", "keys"].contains(parts.last), name.hasSuffix("-certbot.pem") {
            guard certbot.contains(Self.path(parts.dropLast())) else { return nil }
            return UnusedVersion(place: directory + name, isLater: false, used: nil)
        }
        // Copies of what acme.sh replaced.
        if parts.last == "backup", name.hasSuffix(".bak") {
            let used = certificatesOfAcmeSh(Self.path(parts.dropLast()))
            return used.isEmpty ? nil : UnusedVersion(place: directory, isLater: false, used: used)
        }
        // What was revoked or removed, below lego's directory.
        guard let start = parts.firstIndex(of: "archives"), let used = lego[Self.path(parts[..<start])] else {
            return nil
        }
        let endings = [".issuer.crt", ".crt", ".key", ".json", ".pem", ".pfx", ".csr"]
        let ending = endings.first(where: name.hasSuffix) ?? ""
        return UnusedVersion(
            place: directory + name.dropLast(ending.count), isLater: false, used: name.hasSuffix(".zip") ? nil : used)
    }

    /// Returns the certificates in a directory with acme.sh's settings of them.
    private func certificatesOfAcmeSh(_ directory: String) -> [X509Certificate] {
        (directories[directory] ?? []).filter { $0.name.hasSuffix(".conf") }
            .compactMap { leaves[directory + $0.name.dropLast(5) + ".cer"] }
    }

    /// The numbered files of a directory, beside those that servers use.
    private struct Numbered {
        private let directory: String
        private let separator: String
        private let used: [X509Certificate]
        /// The numbers of the files with the certificates that are used.
        private let current: [Int]
        /// Whether servers use no file of the directory.
        private let isArchive: Bool

        init(in directory: String, _ tree: Tree) {
            let parts = directory.split(separator: "/").map(String.init)
            isArchive = parts.dropLast().last == "archive"
            self.directory = directory
            // certbot's archive, the one that dehydrated fills with --cleanup, and dehydrated's files.
            var places = [(directory, "-")]
            if isArchive, let certificate = parts.last {
                let root = Tree.path(parts.dropLast(2))
                places = [("\(root)live/\(certificate)/", ""), ("\(root)certs/\(certificate)/", "-")]
            }
            for (place, separator) in places {
                let used = ["cert", "fullchain"].compactMap { kind in
                    tree.leaves["\(place)\(kind).pem"].map { (kind, $0) }
                }
                let current = used.compactMap { kind, leaf in
                    Set([directory, place]).flatMap { place in
                        (tree.directories[place] ?? []).filter {
                            $0.name.hasPrefix(kind + separator) && tree.leaves[place + $0.name] == leaf
                        }
                    }.compactMap { Self.number(of: $0.name, separator) }.max()
                }
                guard !current.isEmpty else { continue }
                (self.used, self.current, self.separator) = (used.map(\.1), current, separator)
                return
            }
            (used, current, separator) = ([], [], "")
        }

        /// Returns the version of a file, unless it is the one in use, or one that may be used next.
        func version(of name: String) -> UnusedVersion? {
            guard let number = Self.number(of: name, separator), let first = current.min(), !current.contains(number)
            else { return nil }
            // mutant files-version: true by FilesInUseTests/versionsInUse
            guard number < first || isArchive else { return nil }
            return UnusedVersion(place: "\(directory)\(number)", isLater: number > first, used: used)
        }

        /// Returns the number of a version. dehydrated's are seconds since 1970.
        private static func number(of name: String, _ separator: String) -> Int? {
            for kind in UnusedVersions.names where name.hasPrefix(kind + separator) {
                let digits = name.dropFirst(kind.count + separator.count).prefix { $0 != "." }
                let ending = name.dropFirst(kind.count + separator.count + digits.count)
                guard [".pem", ".csr"].contains(ending), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    separator.isEmpty || digits.count >= 10
                else { continue }
                return Int(digits)
            }
            return nil
        }
    }
}
