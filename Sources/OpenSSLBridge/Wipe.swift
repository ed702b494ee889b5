import COpenSSL

/// Overwrites bytes that were secret (`OPENSSL_cleanse`), which a compiler does not leave out. Copies made before are
/// their makers' to wipe.
package func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
}
