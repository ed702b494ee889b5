import PinctlHTTPMessages

/// The field value that authorizes one request, and the data to check the server's own proof.
struct DigestAuthorization: Sendable {
    let value: [UInt8]
    let proof: DigestProof
}

/// The data that client and server hash to prove to each other that they know the secret (RFC 7616, sections 3.4.1 and
/// 3.5).
struct DigestProof: Sendable, Hashable {
    let algorithm: DigestAlgorithm
    let secret: String
    let nonce: [UInt8]
    let target: String
    let quality: DigestChallenge.Quality?
    let count: String
    let clientNonce: String

    /// The result of checking a server's proof.
    enum Verdict: Sendable {
        case valid
        case forged
        /// The server also hashed its body, which hasn't arrived yet.
        case needsBody
    }

    /// Returns the client's response, or `nil` if it covers a body that isn't available.
    func response(method: String, body: [UInt8]?) -> String? {
        response(method: method, body: body, quality: quality)
    }

    /// Checks the server's proof in `Authentication-Info`. Returns `nil` if there is none.
    ///
    /// The proof covers this request's client nonce and count, so a proof from an earlier response doesn't match.
    func verdict(on information: [String: String], body: [UInt8]? = nil) -> Verdict? {
        guard let given = information["rspauth"] else { return nil }
        guard information["cnonce"] ?? clientNonce == clientNonce,
            HTTPField.foldedName(information["nc"] ?? count) == count
        else { return .forged }
        var quality = self.quality
        if let named = information["qop"] {
            guard let known = DigestChallenge.Quality(rawValue: HTTPField.foldedName(named)) else { return .forged }
            quality = known
        }
        if quality == .authInt, body == nil { return .needsBody }
        let expected = response(method: "", body: body, quality: quality)
        // mutant forged-proof: true for `expected == HTTPField.foldedName(given)` by ServerProofTests DigestTests
        //   DigestExchangeTests
        return expected == HTTPField.foldedName(given) ? .valid : .forged
    }

    private func response(method: String, body: [UInt8]?, quality: DigestChallenge.Quality?) -> String? {
        var message = "\(method):\(target)"
        if quality == .authInt {
            guard let body, let bodyDigest = algorithm.hex(body) else { return nil }
            message += ":" + bodyDigest
        }
        guard let digest = algorithm.hex(message.utf8) else { return nil }
        guard let quality else { return algorithm.hex(secret.utf8, nonce, digest.utf8) }
        return algorithm.hex(
            secret.utf8, nonce, count.utf8, clientNonce.utf8, quality.rawValue.utf8, digest.utf8)
    }
}
