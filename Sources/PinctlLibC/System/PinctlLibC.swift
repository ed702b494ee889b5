// The system's C library. A file imports this module instead of choosing. The names are C's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

#if canImport(Darwin)
@_exported public import Darwin

// What Darwin names differently than Linux, under Linux's names.

extension stat {
    package var st_mtim: timespec { st_mtimespec }
    package var st_ctim: timespec { st_ctimespec }
}

/// Overwrites memory in a way that the compiler can't optimize away (`memset_s`).
package func explicit_bzero(_ start: UnsafeMutableRawPointer, _ count: Int) {
    _ = unsafe memset_s(start, count, 0, count)
}

/// The type of TCP sockets, which Glibc imports as an enumeration.
package let streamSocket = SOCK_STREAM
#else
@_exported public import Glibc

package let streamSocket = CInt(SOCK_STREAM.rawValue)
#endif
