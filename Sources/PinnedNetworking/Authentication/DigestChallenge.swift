import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages

/// A supported Digest challenge (RFC 7616, section 3.3, or RFC 2069 without `qop`).
struct DigestChallenge: Sendable, Hashable {
    /// The quality of protection: the request line alone, or also the body.
    enum Quality: String, Sendable {
        case auth
        case authInt = "auth-int"
    }

    /// The bytes as received, like nonce and opaque, because the server compares them in its own encoding.
    let realm: [UInt8]?
    let nonce: [UInt8]
    let opaque: [UInt8]?
    let algorithm: DigestAlgorithm
    /// The quality of protection, or `nil` for RFC 2069.
    let quality: Quality?
    /// Whether the nonce was too old. The credential wasn't refused.
    let isStale: Bool
    /// Whether the user name is sent as a digest (section 3.4.4).
    let hashesUser: Bool
    /// Whether the server reads UTF-8 (section 3.3, `charset`).
    let readsUTF8: Bool
    /// The URIs of the space: the first ``KnownAuthentication/pathLimit`` ones, without those that are too long. `nil`
    /// means the whole server.
    let domain: [String]?

    /// The maximum size of a nonce in bytes. A nonce is stored for as long as it is used. Servers' own nonces have
    /// fewer than 200 bytes.
    static let nonceLimit = 4_096
    /// The maximum size of a URI of the space in bytes: the longest stored path plus the longest server name.
    static let uriLimit = KnownAuthentication.pathSizeLimit + 300

    /// Parses a Digest challenge. Returns `nil` for another scheme, for an unsupported algorithm or quality, and if
    /// OpenSSL doesn't provide the digest.
    ///
    /// Prefers `auth` to `auth-int`, which requires the whole body before the head of the request is sent.
    init?(_ challenge: HTTPChallenge) {
        let parameters = challenge.parameters
        guard challenge.scheme == "digest", let nonce = challenge.values["nonce"], nonce.count <= Self.nonceLimit,
            let algorithm = DigestAlgorithm(parameters["algorithm"]), algorithm.digest.hash([]) != nil
        else { return nil }
        if let offer = parameters["qop"] {
            let offered = HTTPField.foldedName(offer).split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init)
            guard let quality = [Quality.auth, .authInt].first(where: { offered.contains($0.rawValue) }) else {
                return nil
            }
            self.quality = quality
        } else {
            // Before RFC 7616 there was only MD5. With SHA, `qop` is required.
            guard algorithm.digest == .md5, !algorithm.isSession else { return nil }
            quality = nil
        }
        self.nonce = nonce
        self.algorithm = algorithm
        realm = challenge.values["realm"]
        opaque = challenge.values["opaque"]
        isStale = parameters["stale"].map(HTTPField.foldedName) == "true"
        hashesUser = parameters["userhash"].map(HTTPField.foldedName) == "true"
        readsUTF8 = parameters["charset"].map(HTTPField.foldedName) == "utf-8"
        domain = parameters["domain"].flatMap(Self.domain)
    }

    /// Parses the URIs of the space. Those after the limit aren't read, since requests also add paths to a space.
    private static func domain(_ text: String) -> [String]? {
        let limit = KnownAuthentication.pathLimit
        let entries = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: limit).prefix(limit)
        guard !entries.isEmpty else { return nil }
        return entries.filter { $0.count <= uriLimit }.map { String(Substring($0)) }
    }
}

/// The hash algorithm of a Digest challenge (RFC 7616, section 6.1).
struct DigestAlgorithm: Sendable, Hashable {
    let digest: MessageDigest
    /// Whether the secret is bound to the first nonces (`-sess`).
    let isSession: Bool
    /// The name in the challenge, or `nil` if it has none, which means MD5.
    let name: String?

    init?(_ name: String?) {
        let spellings: [(String, MessageDigest)] = [
            ("MD5", .md5), ("SHA-256", .sha256), ("SHA-512-256", .sha512_256),
        ]
        guard let name else {
            (digest, isSession, self.name) = (.md5, false, nil)
            return
        }
        for (spelling, digest) in spellings {
            for suffix in ["", "-sess"] where HTTPField.foldedName(spelling + suffix) == HTTPField.foldedName(name) {
                (self.digest, isSession, self.name) = (digest, !suffix.isEmpty, spelling + suffix)
                return
            }
        }
        return nil
    }

    /// Returns the digest of the parts joined by colons, in hexadecimal. Returns `nil` if OpenSSL doesn't provide it.
    func hex(_ parts: any Collection<UInt8>...) -> String? {
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ":")) }
            bytes.append(contentsOf: part)
        }
        return digest.hash(bytes).map { Hexadecimal.encode($0) }
    }
}
