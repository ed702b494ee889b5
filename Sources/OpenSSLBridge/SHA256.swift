import COpenSSL

/// Returns the SHA-256 digest (`SHA256_Init`, `SHA256_Update`, `SHA256_Final`), 32 bytes.
///
/// The low-level functions can't fail: they allocate nothing and consult no provider.
package func sha256(_ bytes: Span<UInt8>) -> [32 of UInt8] {
    var digest = [32 of UInt8](repeating: 0)
    var output = digest.mutableSpan
    unsafe bytes.withUnsafeBufferPointer { input in
        unsafe output.withUnsafeMutableBufferPointer { output in
            let done = unsafe COpenSSL_SHA256(input.baseAddress, input.count, output.baseAddress)
            precondition(done == 1, "SHA256_Final failed")
        }
    }
    return digest
}
