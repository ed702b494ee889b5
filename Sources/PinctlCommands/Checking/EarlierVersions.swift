import CertificateTrust

/// The files of a directory in which ACME clients keep what no server uses any more.
///
/// A file counts only if the certificate that replaced it is in the same directory tree, so that nothing is ignored for
/// its name alone, and only if its own directory wasn't named.
struct EarlierVersions {
    /// The indices of the files among all.
    private(set) var files: Set<Int> = []

    /// The kinds of files that certbot and dehydrated number.
    private static let kinds = ["cert", "chain", "fullchain", "privkey"]

    init(_ checked: [CheckedFile]) {
        for (operand, group) in Dictionary(grouping: checked.indices, by: { checked[$0].input.operand }) {
            // A file that was named is what was asked for.
            guard let operand else { continue }
            let tree = Tree(group.map { (checked[$0], $0) }, in: operand)
            for (directory, names) in tree.directories {
                for (name, index) in names where tree.isEarlier(name, in: directory) { files.insert(index) }
            }
        }
    }

    /// The files of a directory that was named, by their paths in it. Each directory ends with a slash.
    private struct Tree {
        private(set) var directories: [String: [(name: String, index: Int)]] = [:]
        /// The certificates that files begin with.
        private var leaves: [String: X509Certificate] = [:]
        /// The directories in which certbot and lego have certificates in use.
        private var certbot: Set<String> = []
        private var lego: Set<String> = []

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
            for path in leaves.keys where path.hasSuffix(".crt") {
                let parts = path.split(separator: "/").map(String.init)
                guard parts.dropLast().last == "certificates", names.contains(path.dropLast(4) + ".json/") else {
                    continue
                }
                lego.insert(Self.path(parts.dropLast(2)))
            }
        }

        private static func path(_ parts: some Sequence<String>) -> String { parts.map { $0 + "/" }.joined() }

        /// Whether a file is an earlier version, by its name and by what is beside its directory.
        func isEarlier(_ name: String, in directory: String) -> Bool {
            let parts = directory.split(separator: "/").map(String.init)
            // certbot's requests and keys, one for each order.
            if ["csr", "keys"].contains(parts.last), name.hasSuffix("-certbot.pem") {
                return certbot.contains(Self.path(parts.dropLast()))
            }
            // Copies of what acme.sh replaced.
            if parts.last == "backup", name.hasSuffix(".bak") { return isOfAcmeSh(Self.path(parts.dropLast())) }
            // What was revoked or removed, below lego's directory.
            if let start = parts.firstIndex(of: "archives") { return lego.contains(Self.path(parts[..<start])) }
            if parts.dropLast().last == "archive", let certificate = parts.last {
                let root = Self.path(parts.dropLast(2))
                // certbot's archive, and the one that dehydrated fills with --cleanup.
                return isNumbered(name, in: directory, used: "\(root)live/\(certificate)/", "")
                    || isNumbered(name, in: directory, used: "\(root)certs/\(certificate)/", "-")
            }
            return isNumbered(name, in: directory, used: directory, "-")
        }

        /// Whether a file has a number below that of the version in the directory that servers use.
        private func isNumbered(_ name: String, in directory: String, used: String, _ separator: String) -> Bool {
            guard let number = Self.number(of: name, separator), let current = current(in: directory, used, separator)
            else { return false }
            // mutant files-version: true for `number < current` by FilesInUseTests/certbotVersionsInUse
            return number < current
        }

        /// Returns the number of the version in use: that of the files with the same certificates.
        private func current(in directory: String, _ used: String, _ separator: String) -> Int? {
            ["cert", "fullchain"].compactMap { kind -> Int? in
                guard let leaf = leaves["\(used)\(kind).pem"] else { return nil }
                let versions = Set([directory, used]).flatMap { place in
                    (directories[place] ?? []).filter {
                        $0.name.hasPrefix(kind + separator) && leaves[place + $0.name] == leaf
                    }
                }
                return versions.compactMap { Self.number(of: $0.name, separator) }.max()
            }.min()
        }

        /// Returns the number of a version. dehydrated's are seconds since 1970.
        private static func number(of name: String, _ separator: String) -> Int? {
            for kind in EarlierVersions.kinds where name.hasPrefix(kind + separator) {
                let digits = name.dropFirst(kind.count + separator.count).prefix { $0 != "." }
                let ending = name.dropFirst(kind.count + separator.count + digits.count)
                guard [".pem", ".csr"].contains(ending), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                    separator.isEmpty || digits.count >= 10
                else { continue }
                return Int(digits)
            }
            return nil
        }

        /// Whether a directory has acme.sh's settings of a certificate, and the certificate.
        private func isOfAcmeSh(_ directory: String) -> Bool {
            (directories[directory] ?? []).contains { entry in
                entry.name.hasSuffix(".conf") && leaves[directory + entry.name.dropLast(5) + ".cer"] != nil
            }
        }
    }
}
