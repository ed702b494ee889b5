import Glibc

/// A search for bytes in the memory of this process (`/proc/self/mem`).
package enum MemoryScan {
    /// Whether the process has no more memory than an ordinary program. A sanitizer maps terabytes, and keeps freed
    /// memory.
    package static var isPossible: Bool {
        guard let regions = try? regions() else { return false }
        return regions.reduce(0) { $0 + ($1.1 - $1.0) } < 1 << 38
    }

    /// Returns how often `needle` appears in writable memory. The bytes are passed inverted and compared inverted, so
    /// that the scan doesn't create a copy that the next scan would find.
    package static func count(inverted needle: [UInt8]) throws(TestPKIError) -> Int {
        let memory = unsafe open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
        guard memory >= 0 else { throw .system("/proc/self/mem") }
        defer { close(memory) }
        let size = 1 << 20
        let overlap = needle.count - 1
        // The buffer is outside the heap, so that its own location can be skipped.
        guard
            let buffer = unsafe mmap(
                nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
            unsafe buffer != MAP_FAILED
        else { throw .system("mmap") }
        defer { unsafe munmap(buffer, size) }
        let own = UInt(bitPattern: buffer)
        var found = 0
        for (start, end) in try regions() {
            var position = start
            while position < end {
                // The kernel joins adjacent regions, so the buffer may be in the middle of one.
                if position < own + UInt(size), own < position + UInt(size), end > own {
                    if position >= own {
                        position = own + UInt(size)
                        continue
                    }
                }
                var length = min(UInt(size), end - position)
                if position < own, position + length > own { length = own - position }
                let count = unsafe pread(memory, buffer, Int(length), Int(position))
                guard count > 0 else { break }
                let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: count)
                found += unsafe matches(of: needle, in: bytes)
                if count <= overlap || position + UInt(count) >= end { break }
                position += UInt(count - overlap)
            }
        }
        unsafe memset(buffer, 0, size)
        return found
    }

    private static func matches(of needle: [UInt8], in bytes: UnsafeRawBufferPointer) -> Int {
        guard let first = needle.first, let base = bytes.baseAddress, bytes.count >= needle.count else {
            return 0
        }
        var count = 0
        var start = 0
        while start <= bytes.count - needle.count,
            let found = unsafe memchr(base + start, CInt(~first), bytes.count - needle.count + 1 - start)
        {
            let position = unsafe UnsafeRawPointer(found) - base
            if needle.indices.allSatisfy({ unsafe bytes[position + $0] == ~needle[$0] }) { count += 1 }
            start = position + 1
        }
        return count
    }

    /// Returns the memory regions that can be read and written.
    private static func regions() throws(TestPKIError) -> [(UInt, UInt)] {
        let file = unsafe open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw .system("/proc/self/maps") }
        defer { close(file) }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe read(file, &part, part.count)
            guard count > 0 else { break }
            text += part[..<count]
        }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count > 1, words[1].hasPrefix("rw"), !line.hasSuffix("[vvar]") else { return nil }
            let ends = words[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            return ends.count == 2 ? (ends[0], ends[1]) : nil
        }
    }
}
