import CPinctlLinux
import PinctlLibC

/// The system's zlib, loaded on first use (`dlopen`).
// Unchecked Sendable: these are pointers to functions of a library that is never unloaded.
@safe package struct ZlibLibrary: @unchecked Sendable {
    let initialize: CLinux_inflate_init
    let inflate: CLinux_inflate
    let reset: CLinux_inflate_reset
    let end: CLinux_inflate_end

    #if canImport(Darwin)
    private static let fileName = "/usr/lib/libz.1.dylib"
    #else
    /// The file name of zlib, and of zlib-ng in its compatible form, in the Linux distributions.
    private static let fileName = "libz.so.1"
    #endif

    /// The library, or nil if it isn't installed, lacks a function, or refuses the layout of `z_stream`.
    package static let system: ZlibLibrary? = {
        guard let library = ZlibLibrary(fileName), (try? InflateStream(.gzip, library)) != nil else { return nil }
        return library
    }()

    /// Loads a library by its file name. Returns nil if it can't be loaded or lacks a function.
    package init?(_ name: String) {
        guard let library = unsafe dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
        func find<Function>(_ symbol: String, _: Function.Type = Function.self) -> Function? {
            guard let found = unsafe dlsym(library, symbol) else { return nil }
            return unsafe unsafeBitCast(found, to: Function.self)
        }
        guard let initialize: CLinux_inflate_init = unsafe find("inflateInit2_"),
            let inflate: CLinux_inflate = unsafe find("inflate"),
            let reset: CLinux_inflate_reset = unsafe find("inflateReset"),
            let end: CLinux_inflate_end = unsafe find("inflateEnd")
        else { return nil }
        unsafe self.initialize = initialize
        unsafe self.inflate = inflate
        unsafe self.reset = reset
        unsafe self.end = end
    }
}

/// An error of zlib.
package enum ZlibError: Error, Sendable, Hashable {
    /// The library has another major version or another layout of `z_stream` than this client was built for.
    case mismatch
    /// The data isn't compressed in the expected format, or its checksum or length is wrong. The text is the library's.
    case malformed(String)
    /// The data requires a preset dictionary, which HTTP doesn't provide.
    case dictionaryRequired
    case outOfMemory
    /// Another return value of a function.
    case unexpected(code: Int)
}
