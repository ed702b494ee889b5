import COpenSSL

/// Returns the SHA-1 digest (`SHA1_Init`, `SHA1_Update`, `SHA1_Final`), 20 bytes. Used only for OCSP identifiers (RFC
/// 6960, section 4.1.1), which only locate a certificate, so no security depends on it.
package func sha1(_ bytes: Span<UInt8>) -> [UInt8] {
    [UInt8](capacity: Int(SHA_DIGEST_LENGTH)) { output in
        var digest = [20 of UInt8](repeating: 0)
        var target = digest.mutableSpan
        unsafe bytes.withUnsafeBufferPointer { input in
            unsafe target.withUnsafeMutableBufferPointer { target in
                let done = unsafe COpenSSL_SHA1(input.baseAddress, input.count, target.baseAddress)
                precondition(done == 1, "SHA1_Final failed")
            }
        }
        for index in digest.indices { output.append(digest[index]) }
    }
}
