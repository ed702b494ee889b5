import Glibc

/// A directory whose files are deleted with the last reference to it.
package final class TestDirectory: Sendable {
    package let path: String

    package init() throws(TestPKIError) {
        var template = Array("/tmp/testpki-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw .system("mkdtemp") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit { _ = try? TestCommand.run(["rm", "-rf", path]) }

    /// Writes a file, by default under a unique name, and returns its path. `mode` applies regardless of the umask.
    package func add(
        _ bytes: [UInt8], name: String? = nil, mode: UInt32 = 0o600
    ) throws(TestPKIError) -> String {
        let file = path + "/" + (name ?? String(UInt64.random(in: .min ... .max), radix: 16))
        let descriptor = unsafe open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .system(file) }
        defer { close(descriptor) }
        guard unsafe write(descriptor, bytes, bytes.count) == bytes.count else { throw .system(file) }
        guard fchmod(descriptor, mode) == 0 else { throw .system(file) }
        return file
    }

    package func add(_ text: String, name: String? = nil) throws(TestPKIError) -> String {
        try add(Array(text.utf8), name: name)
    }
}
