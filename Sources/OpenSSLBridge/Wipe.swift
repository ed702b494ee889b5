import COpenSSL

/// Overwrites secret bytes in a way that the compiler can't optimize away (`OPENSSL_cleanse`). Earlier copies aren't
/// wiped.
package func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) }
}
