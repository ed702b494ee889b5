import Glibc
import PinctlTestPKI

/// A program that ran to its end in a directory, with its output in two files there.
struct Child: Sendable {
    /// The exit status, 128 plus the number of a signal, or nil if it didn't end in time.
    let status: Int32?

    /// Runs a program with these variables only. Its output goes to these files.
    init(
        _ command: [String], variables: [String], directory: String, output: String, errors: String, limit: Double
    ) throws {
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC
        let files = unsafe [
            open("/dev/null", O_RDONLY | O_CLOEXEC), open(output, flags, 0o600), open(errors, flags, 0o600),
        ]
        defer { for file in files where file >= 0 { close(file) } }
        guard files.allSatisfy({ $0 >= 0 }) else { throw TortureError("\(output) can't be opened: error \(errno)") }
        let child = try TestCommand.spawn(
            ["env", "-i", "--chdir=\(directory)"] + variables + command, files: files, environment: [])
        status = Self.wait(for: child, limit: limit)
    }

    private static func wait(for child: pid_t, limit: Double) -> Int32? {
        var status: Int32 = 0
        let start = ContinuousClock.now
        while unsafe waitpid(child, &status, WNOHANG) == 0 {
            if .now - start > .seconds(limit) {
                kill(child, SIGKILL)
                unsafe waitpid(child, &status, 0)
                return nil
            }
            usleep(300)
        }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    }
}

/// The memory that the interposer shares with this program (`struct page` in `interposer.c`).
@safe final class Page {
    let path: String
    private let address: UnsafeMutableRawPointer
    private static let size = 4096

    init(path: String) throws(TortureError) {
        self.path = path
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0, ftruncate(descriptor, Self.size) == 0,
            let address = unsafe mmap(nil, Self.size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe address != MAP_FAILED
        else { throw TortureError("\(path) can't be mapped: error \(errno)") }
        close(descriptor)
        unsafe self.address = unsafe address
    }

    func clear() { unsafe address.initializeMemory(as: UInt8.self, repeating: 0, count: Self.size) }

    /// 0: the call didn't come. 1: it failed. 2: it came, and its file is of another kind.
    var fired: UInt32 { unsafe address.load(as: UInt32.self) }

    /// The caller of the failed call.
    var caller: String { text(at: 4) }

    /// The library that crashed, or nothing.
    var crash: String { text(at: 256) }

    private func text(at offset: Int) -> String {
        unsafe String(cString: (address + offset).assumingMemoryBound(to: CChar.self))
    }
}

struct TortureError: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { description = text }
}
