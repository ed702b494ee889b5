import PinctlBasics

/// The words of a text that say whether a digest beside them is a pin.
///
/// Words are divided as in names of programs, so `certPins` has a pin, and neither `spinner` nor `mapping` has one.
struct PinWords: OptionSet {
    let rawValue: Int

    /// Pinning by name: `pin`, `spki`, `publicKeyHashes`.
    static let pin = PinWords(rawValue: 1)
    /// `fingerprint` or `thumbprint`.
    static let fingerprint = PinWords(rawValue: 2)
    /// Certificates or TLS.
    static let tls = PinWords(rawValue: 4)
    /// Keys, as opposed to certificates.
    static let key = PinWords(rawValue: 8)
    /// Digests of certificates, as opposed to those of keys.
    static let certificate = PinWords(rawValue: 16)
    /// Something that is identified by a digest and isn't a certificate of a server, such as an image or a package.
    static let other = PinWords(rawValue: 32)
    /// An address for reports, which isn't a host that is pinned.
    static let report = PinWords(rawValue: 64)
    /// The name of an app's package, beside which the digests of certificates are those that sign the app.
    static let app = PinWords(rawValue: 128)

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ text: ArraySlice<UInt8>) {
        var found: PinWords = []
        var (last, lastButOne) = ("", "")
        /// Whether the last two words are parts of one name.
        var isLastJoined = false
        /// Whether one of the last two words says that a certificate signs something.
        var (signs, lastSigns) = (false, false)
        Self.forEachWord(text) { word, isJoined in
            found.formUnion(Self.meanings[word] ?? [])
            if Self.digests.contains(word) {
                if last == "key" && ["public", "pub"].contains(lastButOne) || last == "pubkey" {
                    found.formUnion([.pin, .tls, .key])
                }
                // Neither the end of a name, as in "DigiCert SHA2", nor a certificate that signs an app.
                // mutant find-signer: true for `!(signs || lastSigns)` by PinSearchTests/notFound
                if Self.certificates.contains(last), isJoined || !isLastJoined, !(signs || lastSigns) {
                    found.formUnion([.pin, .tls, .certificate])
                }
            }
            // The key that signs an app, as in `sha256_cert_fingerprints` of Digital Asset Links.
            if word == "fingerprints", last == "cert", lastButOne == "sha" { found.insert(.other) }
            if word == "key" || word == "keys", ["public", "pub"].contains(last) { found.formUnion([.tls, .key]) }
            if ["print", "prints"].contains(word), last == "finger", isJoined { found.insert(.fingerprint) }
            if word == "fingerprint", ["assert", "ca"].contains(last), isJoined { found.insert(.tls) }
            if word == "name", last == "package", isJoined { found.insert(.app) }
            // A certificate that is self-signed isn't the signature of a package.
            let isSignature = Self.signatures.contains(word) && last != "self"
            if isSignature { found.insert(.other) }
            (signs, lastSigns) = (lastSigns, isSignature)
            (lastButOne, last, isLastJoined) = (last, word, isJoined)
        }
        self = found
    }

    private static let digests: Set = ["hash", "hashes", "sha", "digest", "digests"]
    private static let certificates: Set = ["cert", "certificate"]
    private static let signatures: Set = [
        "sign", "signing", "signature", "signatures", "signed", "signer", "apk", "keystore",
    ]

    // MARK: Names

    /// Whether a name is that of a secret or of something else that has the length of a digest and is never one of a
    /// certificate: `token`, `privateKey`, or kubeadm's `certificateKey`.
    static func isSecret(_ name: ArraySlice<UInt8>) -> Bool {
        let words = words(name)
        guard !words.isEmpty, PinWords(name).isDisjoint(with: [.pin, .fingerprint]) else { return false }
        if words.contains(where: secrets.contains) { return true }
        // The ID of a log of Certificate Transparency.
        if words == ["log", "id"] { return true }
        return zip(words, words.dropFirst()).contains { secretKeys.contains($0) && ["key", "keys"].contains($1) }
            && words.last.map { !digests.contains($0) } ?? true
    }

    private static let secrets: Set = [
        "token", "tokens", "secret", "secrets", "password", "passwd", "passphrase", "apikey", "authorization",
        "credential", "credentials", "privatekey", "secretkey", "accesskey", "encryptionkey", "mnemonic",
    ]
    /// The words before `key` that make it a secret.
    private static let secretKeys: Set = [
        "private", "secret", "encryption", "encrypt", "decryption", "certificate", "session", "signing", "api",
        "access", "master", "auth", "shared", "aes", "hmac", "symmetric", "license", "storage",
    ]

    /// Texts in lower case without which a text has no word of pinning (``pin``).
    static let parts = ["pin", "spki", "pkp", "trustkit", "hash", "digest", "sha", "256"]

    private static let meanings: [String: PinWords] = {
        var meanings: [String: PinWords] = [:]
        for word in ["pin", "pins", "pinned", "pinning", "pinnig", "pining", "pinner", "pinset", "pinsets"] {
            meanings[word] = .pin
        }
        for word in [
            "spki", "spkis", "hpkp", "pkp", "pubkeypin", "pubkeypins", "publickeyhash", "publickeyhashes", "keypins",
        ] {
            meanings[word] = [.pin, .tls, .key]
        }
        for word in [
            "certpin", "certpins", "sslpin", "sslpins", "sslpinning", "certpinning", "trustkit", "pinnedpubkey",
        ] {
            meanings[word] = [.pin, .tls]
        }
        meanings["certhash"] = [.pin, .tls, .certificate]
        meanings["certhashes"] = meanings["certhash"]
        for word in ["fingerprint", "fingerprints", "fingerprintset", "thumbprint", "thumbprints"] {
            meanings[word] = .fingerprint
        }
        // fetchmail, and urllib3's `assert_fingerprint`.
        meanings["sslfingerprint"] = [.fingerprint, .tls]
        for word in ["cert", "certs", "certificate", "certificates"] { meanings[word] = .tls }
        for word in ["ssl", "tls", "https", "okhttp"] { meanings[word] = .tls }
        meanings["pubkey"] = [.tls, .key]
        // As in the example for checkServerIdentity in the documentation of Node.js.
        meanings["pubkey256"] = [.pin, .tls, .key]
        for word in ["cert256", "fingerprint256"] { meanings[word] = [.pin, .tls, .certificate] }
        for word in [
            "integrity", "checksum", "checksums", "docker", "image", "images", "tarball", "lockfile", "commit",
            "archive", "idp", "saml",
            "etag", "hmac", "salt", "cookie", "csrf", "nonce", "assetlinks", "wheel", "download", "sri",
        ] {
            meanings[word] = .other
        }
        for word in ["report", "reports", "reporting"] { meanings[word] = .report }
        for word in ["talsec", "freerasp"] { meanings[word] = .app }
        return meanings
    }()

    /// Returns the words of a text in lower case. A capital letter begins one, unless it is inside an abbreviation.
    static func words(_ text: ArraySlice<UInt8>) -> [String] {
        var words: [String] = []
        forEachWord(text) { word, _ in words.append(word) }
        return words
    }

    /// Calls a function with each word, and with whether it is part of the same name as the one before it.
    private static func forEachWord(_ text: ArraySlice<UInt8>, _ body: (String, Bool) -> Void) {
        var word: [UInt8] = []
        var isJoined = false
        func isCapital(_ byte: UInt8) -> Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte }
        func isSmall(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte }
        func end() {
            if !word.isEmpty {
                body(String(decoding: word, as: UTF8.self), isJoined)
                isJoined = true
            }
            word = []
        }
        for index in text.indices {
            let byte = text[index]
            guard isCapital(byte) || isSmall(byte) else {
                if byte == UInt8(ascii: "2"), text[index...].starts(with: "256".utf8) {
                    let longer = word + "256".utf8
                    if meanings[String(decoding: longer, as: UTF8.self)] != nil { word = longer }
                }
                end()
                if !byte.isWordByte, byte != UInt8(ascii: "-"), byte != UInt8(ascii: ".") { isJoined = false }
                continue
            }
            if isCapital(byte), index > text.startIndex {
                let next = index + 1 < text.endIndex ? text[index + 1] : 0
                if isSmall(text[index - 1]) || isCapital(text[index - 1]) && isSmall(next) && next != UInt8(ascii: "s")
                {
                    end()
                }
            }
            word.append(byte | 0x20)
        }
        end()
    }
}
