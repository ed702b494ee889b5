import CertificateTrust
import HTTPMessages

/// A Digest challenge that can be answered (RFC 7616, section 3.3; without `qop` RFC 2069).
struct DigestChallenge: Sendable, Hashable {
    /// The quality of protection: the request line alone, or the body too.
    enum Quality: String, Sendable {
        case auth
        case authInt = "auth-int"
    }

    /// As it came, like nonce and opaque: that is what the server compares, in whatever characters it writes.
    let realm: [UInt8]?
    let nonce: [UInt8]
    let opaque: [UInt8]?
    let algorithm: DigestAlgorithm
    /// Nil for RFC 2069.
    let quality: Quality?
    /// The nonce was too old, and nothing is wrong with the credential.
    let isStale: Bool
    /// The user name is sent as a digest (section 3.4.4).
    let hashesUser: Bool
    /// The server reads UTF-8 (section 3.3, `charset`).
    let readsUTF8: Bool
    /// The URIs of the space, the first ``KnownAuthentication/pathLimit`` and none that is long; nil for the whole
    /// server.
    let domain: [String]?

    /// A nonce is kept for as long as it serves; servers' own take under 200 bytes.
    static let nonceLimit = 4_096
    /// Bytes of a URI of the space: a path that counts, behind the longest name of a server.
    static let uriLimit = KnownAuthentication.pathSizeLimit + 300

    /// Nil for another scheme, for an unknown algorithm or quality, and where OpenSSL does not offer the digest.
    ///
    /// `auth` goes before `auth-int`, which needs the whole body before the head of its request.
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
            // Before RFC 7616 there was nothing but MD5; whoever knows SHA knows `qop`, which it demands.
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

    /// The rest of a longer list is left out unread: spaces grow by what is asked for, too.
    private static func domain(_ text: String) -> [String]? {
        let limit = KnownAuthentication.pathLimit
        let entries = text.utf8.split(separator: UInt8(ascii: " "), maxSplits: limit).prefix(limit)
        guard !entries.isEmpty else { return nil }
        return entries.filter { $0.count <= uriLimit }.map { String(Substring($0)) }
    }
}

/// How Digest hashes (RFC 7616, section 6.1).
struct DigestAlgorithm: Sendable, Hashable {
    let digest: MessageDigest
    /// Whether the secret is bound to the first nonces (`-sess`).
    let isSession: Bool
    /// As the challenge named it; nil when it did not, which means MD5.
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

    /// The digest of some texts with colons between, in hexadecimal digits; nil where OpenSSL does not offer it.
    func hex(_ parts: any Collection<UInt8>...) -> String? {
        var bytes: [UInt8] = []
        for (index, part) in parts.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ":")) }
            bytes.append(contentsOf: part)
        }
        return digest.hash(bytes)?.map { hexadecimal($0) }.joined()
    }
}

/// A number in all its hexadecimal digits, lower case.
func hexadecimal(_ number: some FixedWidthInteger & UnsignedInteger) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: number.bitWidth / 4 - digits.count) + digits
}
