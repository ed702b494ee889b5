import PinctlLibC

/// Overwrites secret bytes in a way that the compiler can't optimize away (`explicit_bzero`). Earlier copies aren't
/// wiped.
package func wipe(_ bytes: inout [UInt8]) {
    unsafe bytes.withUnsafeMutableBytes { buffer in
        guard let base = buffer.baseAddress else { return }
        unsafe explicit_bzero(base, buffer.count)
    }
}
