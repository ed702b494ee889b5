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

    init(rawValue: Int) { self.rawValue = rawValue }

    init(_ text: ArraySlice<UInt8>) {
        var found: PinWords = []
        var (last, lastButOne) = ("", "")
        for word in Self.words(text) {
            found.formUnion(Self.meanings[word] ?? [])
            if ["hash", "hashes", "sha", "digest", "digests"].contains(word) {
                if last == "key" && ["public", "pub"].contains(lastButOne) || last == "pubkey" {
                    found.formUnion([.pin, .tls, .key])
                }
                if ["cert", "certificate"].contains(last) { found.formUnion([.pin, .tls, .certificate]) }
            }
            // The key that signs an app, as in `sha256_cert_fingerprints` of Digital Asset Links.
            if word == "fingerprints", last == "cert", lastButOne == "sha" { found.insert(.other) }
            if word == "key" || word == "keys", ["public", "pub"].contains(last) { found.formUnion([.tls, .key]) }
            // A certificate that is self-signed isn't the signature of a package.
            if Self.signatures.contains(word), last != "self" { found.insert(.other) }
            (lastButOne, last) = (last, word)
        }
        self = found
    }

    private static let signatures: Set = [
        "sign", "signing", "signature", "signatures", "signed", "signer", "apk", "keystore",
    ]

    /// Texts in lower case without which a text has no word of pinning (``pin``).
    static let parts = ["pin", "spki", "pkp", "trustkit", "hash", "digest", "sha", "256"]

    private static let meanings: [String: PinWords] = {
        var meanings: [String: PinWords] = [:]
        for word in ["pin", "pins", "pinned", "pinning", "pinner", "pinset", "pinsets"] { meanings[word] = .pin }
        for word in ["spki", "hpkp", "pkp", "pubkeypin", "pubkeypins", "publickeyhash", "publickeyhashes", "keypins"] {
            meanings[word] = [.pin, .tls, .key]
        }
        for word in [
            "certpin", "certpins", "sslpin", "sslpins", "sslpinning", "certpinning", "trustkit", "pinnedpubkey",
        ] {
            meanings[word] = [.pin, .tls]
        }
        meanings["certhash"] = [.pin, .tls, .certificate]
        meanings["certhashes"] = meanings["certhash"]
        for word in ["fingerprint", "fingerprints", "thumbprint", "thumbprints"] { meanings[word] = .fingerprint }
        for word in ["cert", "certs", "certificate", "certificates"] { meanings[word] = .tls }
        for word in ["ssl", "tls", "https", "okhttp"] { meanings[word] = .tls }
        meanings["pubkey"] = [.tls, .key]
        // As in the example for checkServerIdentity in the documentation of Node.js.
        meanings["pubkey256"] = [.pin, .tls, .key]
        for word in ["cert256", "fingerprint256"] { meanings[word] = [.pin, .tls, .certificate] }
        for word in [
            "integrity", "checksum", "checksums", "docker", "image", "images", "tarball", "lockfile", "commit",
            "archive",
            "etag", "hmac", "salt", "cookie", "csrf", "nonce", "assetlinks", "wheel", "download", "sri",
        ] {
            meanings[word] = .other
        }
        for word in ["report", "reports", "reporting"] { meanings[word] = .report }
        return meanings
    }()

    /// Returns the words of a text in lower case. A capital letter begins one, unless it is inside an abbreviation.
    static func words(_ text: ArraySlice<UInt8>) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        func isCapital(_ byte: UInt8) -> Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte }
        func isSmall(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte }
        func end() {
            if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
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
        return words
    }
}
