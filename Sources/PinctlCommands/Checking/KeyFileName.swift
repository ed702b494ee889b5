/// The name of a file with certificates or keys, divided into what tells them apart and what is the same for all.
struct KeyFileName: Hashable {
    /// The directory of the file, or for a value of a document the file and the value that contains it.
    let directory: String
    /// The directory without the words for its contents, which is the same for `certs` and `private`, and for `ssl.crt`
    /// and `ssl.key`. It ends with a slash if there is such a word.
    let pair: String
    /// The name without its ending and without the words for its contents: `api` for `api-key.pem`.
    let stem: String
    /// The rest of the stem without the words that are the same for all servers, such as `server`, and without
    /// separators.
    let words: String

    init(_ input: InputPath) {
        directory = plainPath(String(input.directory))
        pair = Self.pair(directory)
        stem = Self.stem(input.name)
        words = Self.ownWords(of: stem)
    }

    init(_ part: CheckedFile.Part, of file: CheckedFile) {
        if let value = part.name { self.init(value: value, in: file.input.path) } else { self.init(file.input) }
    }

    private init(value: String, in file: String) {
        // The end of `data.tls.crt` is the ending of a file's name, too.
        var path = value[...]
        if let ending = Self.endings.first(where: path.lowercased().hasSuffix) { path = path.dropLast(ending.count) }
        let start = path.lastIndex(of: ".").map { value.index(after: $0) } ?? value.startIndex
        directory = "\(file)\0\(value[..<start])"
        pair = directory
        stem = Self.stem(String(value[start...]))
        words = Self.ownWords(of: stem)
    }

    /// The directories in which the certificate of a key may be, the closest first. Keys in `private` may be for
    /// certificates above it.
    var pairs: [String] { pair.hasSuffix("/") ? [pair, String(pair.dropLast())] : [pair] }

    /// Whether a key with the name is for something else than the certificate beside it, such as the next one.
    var isForAnotherPurpose: Bool { !Self.purposes.isDisjoint(with: Self.words(of: stem)) }

    /// Returns the words by which a key may be named for a host: all of its labels, or the first ones.
    static func words(ofHost host: String) -> Set<String> {
        var labels = words(of: host)
        if labels.first == "www" { labels.removeFirst() }
        let beginnings = labels.indices.prefix(8).map { labels[...$0].joined(separator: "-") }
        return Set(beginnings).subtracting(purposes).union([labels.joined(separator: "-")]).subtracting([""])
    }

    /// Whether the name of a file says that it has a private key.
    static func isOfKey(_ name: String) -> Bool { ["key", "priv"].contains(where: name.lowercased().contains) }

    /// Whether the words of a name say that the file has a private key for a certificate, and nothing else.
    static func isOfPrivateKey(_ name: String) -> Bool {
        let words = Set(words(of: name))
        return !words.isDisjoint(with: ["key", "privkey", "privatekey", "private", "priv"])
            && words.isDisjoint(with: purposes.union(["dh", "pub", "pubkey", "public", "pinned", "cert", "crt"]))
    }

    /// Whether a name has the number of a version, as in certbot's archive.
    static func isVersion(_ name: String) -> Bool {
        let stem = stem(name)
        return !stem.isEmpty && stem.allSatisfy(\.isNumber)
    }
}

extension KeyFileName {
    private static let endings = [".pem", ".crt", ".cer", ".cert", ".der", ".key", ".p8"]
    /// The words for the contents of files. A word is before those that it contains.
    private static let contents = [
        "fullchain", "certificates", "certificate", "certs", "cert", "crt", "signed", "chained", "chain", "bundle",
        "private_key", "private-key", "privatekey", "privkey", "private", "priv", "pkey", "key", "leaf",
    ]
    /// The words for the contents of directories.
    private static let directories: Set<String> = [
        "certificates", "certificate", "certs", "cert", "crts", "crt", "issued", "public", "private", "privkeys",
        "priv", "keys", "key", "secrets", "secret",
    ]
    /// The words that the names for any server have.
    private static let common: Set<String> = [
        "server", "tls", "ssl", "https", "http", "host", "site", "domain", "default", "current", "nginx", "apache",
        "httpd", "haproxy", "wildcard", "star",
    ]
    /// The words in the names of keys that aren't those of the certificate beside them.
    private static let purposes: Set<String> = [
        "backup", "bak", "standby", "spare", "reserve", "next", "new", "future", "upcoming", "pending", "staged", "old",
        "orig", "previous", "prev", "former", "expired", "retired", "revoked", "ca", "root", "rootca", "intermediate",
        "issuer", "acme", "account", "user", "client", "jwt", "jws", "jwk", "oauth", "oidc", "saml", "idp", "signing",
        "sign", "signer", "token", "session", "ticket", "tickets", "cookie", "ssh", "rsync", "dkim", "gpg", "pgp",
        "ech", "vpn", "wireguard", "wg", "tsig", "dnssec", "ksk", "zsk", "sa", "encryption", "codesign", "license",
        "deploy", "apns", "push", "vapid",
    ]
    private static let separators: Set<Character> = [".", "-", "_"]

    /// Returns the words of a name, in lower case.
    private static func words(of name: String) -> [String] {
        name.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }

    private static func ownWords(of stem: String) -> String {
        words(of: stem).filter { !common.contains($0) }.joined(separator: "-")
    }

    /// Returns a directory without the words for its contents in the last two parts of its path. The files of
    /// `private/api` are beside those of `certs/api`.
    private static func pair(_ directory: String) -> String {
        let parts = directory.split(separator: "/").map(String.init)
        let end = parts.suffix(2).map { part in
            let name = part.lowercased()
            // mutant files-private: false by FilesInUseTests/otherKeys
            if directories.contains(name) { return "" }
            // mutant files-pair: false for 2 by FilesInUseTests/genericNames
            guard let separator = name.lastIndex(where: separators.contains), separator > name.startIndex,
                directories.contains(String(name[name.index(after: separator)...]))
            else { return part }
            return String(name[..<separator])
        }
        let plain = (parts.dropLast(2) + end.filter { !$0.isEmpty }).joined(separator: "/")
        return (directory.hasPrefix("/") ? "/" : "") + plain + (end == parts.suffix(2) ? "" : "/")
    }

    /// Returns a name without its ending and without the words for the contents at its beginning and end.
    private static func stem(_ name: String) -> String {
        var stem = name.lowercased()[...]
        while let ending = endings.first(where: stem.hasSuffix) { stem = stem.dropLast(ending.count) }
        while let rest = withoutWord(stem) { stem = rest }
        return String(stem)
    }

    /// Returns a name without a word for its contents, or `nil` if it has none.
    private static func withoutWord(_ name: Substring) -> Substring? {
        for word in contents {
            guard name != word else { return "" }
            if name.hasSuffix(word) {
                let rest = name.dropLast(word.count)
                if separators.contains(rest.last ?? " ") { return rest.dropLast() }
                // servercert.pem
                if ["cert", "key"].contains(word), rest.count > 1, rest.allSatisfy(\.isLetter) { return rest }
            }
            if name.hasPrefix(word) {
                let rest = name.dropFirst(word.count)
                let isApart = separators.contains(rest.first ?? " ")
                let text = isApart ? rest.dropFirst() : rest
                guard !text.isEmpty else { continue }
                // A number, as in certbot's archive, tells versions apart. A host may begin with such a word.
                if text.allSatisfy(\.isNumber) || isApart && (rest.first != "." || !text.contains(".")) { return text }
            }
        }
        return nil
    }
}
