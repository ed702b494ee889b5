import CPinctlLinux

/// One compressed stream that is decompressed in steps (RFC 1950 to RFC 1952). Each step has bounded output, so the
/// sender decides neither how much memory a step takes nor how long it runs.
///
/// It uses about 40 KiB. Checksums and lengths are checked by the library at the end of the stream.
// The pointer is to a structure of our own, which doesn't move, because the library keeps its address.
@safe package final class InflateStream {
    /// The format of a stream.
    package enum Format: CInt, Sendable {
        /// RFC 1952: a header, and at the end a CRC-32 and the length.
        case gzip = 31
        /// RFC 1950: a header, and at the end an Adler-32 checksum.
        case zlib = 15
        /// RFC 1951: without header and checksum.
        case raw = -15
    }

    /// The result of one step.
    package struct Step: Sendable {
        /// The decompressed bytes. If there are as many as the limit, more can follow without new input.
        package let output: [UInt8]
        /// The number of input bytes that were consumed.
        package let consumed: Int
        /// Whether the stream is complete. The checksum matched.
        package let isEnd: Bool
    }

    private let library: ZlibLibrary
    private let stream: UnsafeMutablePointer<CLinux_z_stream>

    // The return values of zlib.
    private static let success: CInt = 0
    private static let streamEnd: CInt = 1
    private static let needsDictionary: CInt = 2
    private static let dataError: CInt = -3
    private static let memoryError: CInt = -4
    /// No progress was possible without more input.
    private static let bufferError: CInt = -5
    private static let versionError: CInt = -6

    /// Creates a stream. `version` is the version of zlib that `z_stream` belongs to, of which the library compares the
    /// first character, and `size` the size of that structure.
    package init(
        _ format: Format, _ library: ZlibLibrary, version: String = "1",
        size: Int = unsafe MemoryLayout<CLinux_z_stream>.size
    ) throws(ZlibError) {
        let stream = UnsafeMutablePointer<CLinux_z_stream>.allocate(capacity: 1)
        unsafe stream.initialize(to: CLinux_z_stream())
        let code = unsafe library.initialize(stream, format.rawValue, version, CInt(clamping: size))
        // mutant zlib-version: true by ZlibTests
        guard code == Self.success else {
            // Before the properties are set, since the deinitializer must not run.
            unsafe stream.deallocate()
            throw Self.error(code)
        }
        self.library = library
        unsafe self.stream = stream
    }

    deinit {
        // Returns an error only for a structure that isn't a stream.
        unsafe _ = library.end(stream)
        unsafe stream.deallocate()
    }

    /// Decompresses the next bytes, with at most `limit` bytes of output.
    ///
    /// With empty input it returns output that the previous step had no room for.
    package func step(_ input: ArraySlice<UInt8>, limit: Int) throws(ZlibError) -> Step {
        let input = input.prefix(Int(CInt.max))
        let limit = max(1, min(limit, Int(CInt.max)))
        let offered = input.count
        var code = Self.success
        var remaining = 0
        let output = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            unsafe input.withUnsafeBufferPointer { bytes in
                unsafe stream.pointee.next_in = bytes.baseAddress
                unsafe stream.pointee.avail_in = UInt32(bytes.count)
                unsafe stream.pointee.next_out = buffer.baseAddress
                unsafe stream.pointee.avail_out = UInt32(limit)
                // Z_NO_FLUSH.
                unsafe code = library.inflate(stream, 0)
                unsafe count = limit - Int(stream.pointee.avail_out)
                unsafe remaining = Int(stream.pointee.avail_in)
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.avail_in = 0
                unsafe stream.pointee.next_out = nil
                unsafe stream.pointee.avail_out = 0
            }
        }
        switch code {
        case Self.success, Self.streamEnd, Self.bufferError:
            return Step(output: output, consumed: offered - remaining, isEnd: code == Self.streamEnd)
        case Self.dataError: throw .malformed(message)
        default: throw Self.error(code)
        }
    }

    /// Starts another stream of the same format.
    package func reset() throws(ZlibError) {
        let code = unsafe library.reset(stream)
        guard code == Self.success else { throw Self.error(code) }
    }

    /// The library's text for its last error.
    private var message: String {
        guard let text = unsafe stream.pointee.msg else { return "data error" }
        return unsafe String(cString: text)
    }

    private static func error(_ code: CInt) -> ZlibError {
        switch code {
        case needsDictionary: .dictionaryRequired
        case memoryError: .outOfMemory
        case versionError: .mismatch
        default: .unexpected(code: Int(code))
        }
    }
}
