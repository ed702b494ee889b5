import CertificateTrust

/// The private keys in files, by the name that a certificate beside them has too: `privkey.pem` for `fullchain.pem`,
/// `api.key` for `api.crt`, `data.tls.key` for `data.tls.crt` in a Kubernetes Secret.
///
/// Such a key is the one that a server gets with the certificate. Keys with other names may be for anything.
struct NamedKeys {
    /// A key with the file that has it.
    struct Entry {
        /// The name of the file, or `nil` for that of the certificate.
        let title: String?
        let key: SPKIFingerprint
    }

    private var entries: [String: [Entry]] = [:]

    init(_ files: [CheckedFile]) {
        for file in files {
            for part in file.parts {
                let keys = part.content.chains.flatMap(\.keys).compactMap(\.self)
                let title = part.name.map { "\(file.title) (\($0))" } ?? file.title
                entries[Self.name(part, file), default: []] += keys.map { Entry(title: title, key: $0) }
            }
        }
    }

    /// Returns the first key named for a certificate that isn't its key, unless another one with that name is.
    func misfit(of leaf: X509Certificate, in part: CheckedFile.Part, of file: CheckedFile) -> Entry? {
        let found = entries[Self.name(part, file)] ?? []
        return found.contains { $0.key == leaf.spkiFingerprint } ? nil : found.first
    }

    /// Returns the directory of a file, or the file itself for a value in it, with the common part of the names. Of
    /// the directories `certs` and `private`, as in `/etc/ssl`, it is the one in which both are.
    private static func name(_ part: CheckedFile.Part, _ file: CheckedFile) -> String {
        if let name = part.name { return "\(file.input.path)\0\(stem(name))" }
        var directory = file.input.directory
        // mutant files-private: false by FilesInUseTests/otherKeys
        if ["certs", "private"].contains(directory.split(separator: "/").last ?? "") {
            directory = directory.dropLast(directory.hasSuffix("s") ? 5 : 7)
        }
        return "\(directory)\0\(stem(file.input.name))"
    }

    private static let endings = [".pem", ".crt", ".cer", ".cert", ".der", ".key", ".p8"]
    private static let words = [
        "fullchain", "certificate", "cert", "chain", "bundle", "private_key", "private-key", "privatekey", "privkey",
        "private", "key",
    ]

    /// Whether a name has the number of a version, as in certbot's archive.
    static func isVersion(_ name: String) -> Bool {
        let stem = stem(name)
        return !stem.isEmpty && stem.allSatisfy(\.isNumber)
    }

    /// Returns a name without its ending and without the word for the contents at its beginning or end.
    static func stem(_ name: String) -> String {
        var stem = name.lowercased()[...]
        while let ending = endings.first(where: stem.hasSuffix) { stem = stem.dropLast(ending.count) }
        let separators: Set<Character> = [".", "-", "_"]
        for word in words {
            guard stem != word else { return "" }
            if stem.hasSuffix(word), separators.contains(stem.dropLast(word.count).last ?? " ") {
                return String(stem.dropLast(word.count + 1))
            }
            if stem.hasPrefix(word) {
                // A number, as in certbot's archive, tells versions apart.
                let rest = stem.dropFirst(word.count)
                let number = separators.contains(rest.first ?? " ") ? rest.dropFirst() : rest
                if !number.isEmpty, number.allSatisfy(\.isNumber) { return String(number) }
            }
        }
        return String(stem)
    }
}
