import Glibc

/// Compression with the system's zlib, for the bodies of test servers.
package enum TestCompression {
    private typealias Compress =
        @convention(c) (
            UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt>, UnsafePointer<UInt8>?, UInt, CInt
        ) -> CInt
    private typealias Checksum = @convention(c) (UInt, UnsafePointer<UInt8>?, UInt32) -> UInt

    /// Returns the bytes in zlib's format (RFC 1950), which HTTP calls deflate.
    package static func zlib(_ bytes: [UInt8]) throws -> [UInt8] {
        guard let library = unsafe dlopen("libz.so.1", RTLD_NOW), let symbol = unsafe dlsym(library, "compress2") else {
            throw TestPKIError("compress2", "zlib cannot be loaded")
        }
        let compress = unsafe unsafeBitCast(symbol, to: Compress.self)
        var code: CInt = 0
        // Incompressible bytes grow by 5 bytes for each block.
        let room = bytes.count + bytes.count / 1000 + 64
        let compressed = unsafe [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            var size = UInt(room)
            unsafe code = compress(buffer.baseAddress, &size, bytes, UInt(bytes.count), 6)
            count = Int(size)
        }
        guard code == 0 else { throw TestPKIError("compress2", "return value \(code)") }
        return compressed
    }

    /// Returns the bytes as raw deflate (RFC 1951).
    package static func raw(_ bytes: [UInt8]) throws -> [UInt8] { Array(try zlib(bytes).dropFirst(2).dropLast(4)) }

    /// Returns the bytes as one member of a gzip file (RFC 1952).
    package static func gzip(
        _ bytes: [UInt8], header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]
    ) throws -> [UInt8] {
        guard let library = unsafe dlopen("libz.so.1", RTLD_NOW), let symbol = unsafe dlsym(library, "crc32") else {
            throw TestPKIError("crc32", "zlib cannot be loaded")
        }
        let checksum = unsafe unsafeBitCast(symbol, to: Checksum.self)
        let sum = unsafe checksum(0, bytes, UInt32(bytes.count))
        return header + (try raw(bytes)) + littleEndian(UInt32(sum)) + littleEndian(UInt32(bytes.count))
    }

    private static func littleEndian(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
}
