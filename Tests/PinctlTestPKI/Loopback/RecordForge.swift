import CPinctlOpenSSL

/// A forge of TLS 1.3 records that OpenSSL wouldn't create, encrypted with the server's own key.
///
/// It starts where the server has sent nothing after its Finished: without tickets, and before the first write. After
/// that, the server can't write by itself.
package struct RecordForge {
    private let key: [UInt8]
    private let vector: [UInt8]
    private var sequence: UInt64 = 0

    /// - Parameter secret: The `server_application_traffic_secret_0` of `TLS_AES_256_GCM_SHA384`, 48 octets.
    fileprivate init(secret: [UInt8]) throws(TestPKIError) {
        key = try Self.expand(secret, "key", 32)
        vector = try Self.expand(secret, "iv", 12)
    }

    /// Computes HKDF-Expand-Label with an empty context, for at most one block (RFC 8446, section 7.1).
    private static func expand(_ secret: [UInt8], _ label: String, _ count: Int) throws(TestPKIError) -> [UInt8] {
        let name = Array("tls13 \(label)".utf8)
        let input = [0, UInt8(count), UInt8(name.count)] + name + [0, 1]
        var block = [UInt8](repeating: 0, count: 48)
        guard unsafe HMAC(EVP_sha384(), secret, Int32(secret.count), input, input.count, &block, nil) != nil else {
            throw .openSSL("HMAC")
        }
        return Array(block.prefix(count))
    }

    /// Returns a record: contents of any type and length, followed by zeros (RFC 8446, section 5.2).
    ///
    /// Without a type, only the zeros follow the contents.
    package mutating func record(
        _ contents: [UInt8], type: UInt8? = 23, padding: Int = 0
    ) throws(TestPKIError) -> [UInt8] {
        let plaintext = contents + (type.map { [$0] } ?? []) + [UInt8](repeating: 0, count: padding)
        let count = plaintext.count + 16
        let head: [UInt8] = [23, 3, 3, UInt8(count >> 8), UInt8(count & 0xFF)]
        var nonce = vector
        for index in 0..<8 { nonce[4 + index] ^= UInt8(truncatingIfNeeded: sequence >> (56 - 8 * index)) }
        sequence += 1

        let context = try unsafe make("EVP_CIPHER_CTX_new") { unsafe EVP_CIPHER_CTX_new() }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        var written: Int32 = 0
        var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: 16)
        try check("EVP_EncryptInit_ex") {
            unsafe EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce)
        }
        try check("EVP_EncryptUpdate") {
            unsafe EVP_EncryptUpdate(context, nil, &written, head, Int32(head.count)) == 1
                && (plaintext.isEmpty
                    || EVP_EncryptUpdate(context, &ciphertext, &written, plaintext, Int32(plaintext.count)) == 1)
                ? 1 : 0
        }
        try check("EVP_EncryptFinal_ex") { unsafe EVP_EncryptFinal_ex(context, nil, &written) }
        try check("EVP_CTRL_AEAD_GET_TAG") {
            unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag)
        }
        return head + ciphertext + tag
    }
}

extension LoopbackServer.Connection {
    /// Returns a forge of this connection's records.
    package func forge() throws(TestPKIError) -> RecordForge {
        guard trafficSecret.count == 48 else { throw TestPKIError("forge", "not TLS_AES_256_GCM_SHA384") }
        return try RecordForge(secret: trafficSecret)
    }

    /// Reads a line of OpenSSL's key log: a label, the client's random, and a secret.
    func note(keyLogLine line: String) {
        let words = line.split(separator: " ")
        guard words.count == 3, words[0] == "SERVER_TRAFFIC_SECRET_0" else { return }
        let digits = Array(words[2])
        trafficSecret = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
    }
}
