import CertificateTrust
import Glibc

/// Writes a file that did not exist: whole or not at all, and never over another one.
func writeNewFile(_ path: String, _ bytes: [UInt8]) throws(NewFileError) {
    let temporary = "\(path).\(getpid()).new"
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw NewFileError(errno: errno) }
    defer { _ = unsafe unlink(temporary) }
    var code = StandardStreams.write(bytes, to: descriptor)
    if code == 0, fsync(descriptor) != 0 { code = errno }
    if close(descriptor) != 0, code == 0 { code = errno }
    guard code == 0 else { throw NewFileError(errno: code) }
    // Unlike rename(2), link(2) does not replace what is there, be it a symbolic link.
    guard unsafe link(temporary, path) == 0 else { throw NewFileError(errno: errno) }
}

/// Why a new file was not written.
struct NewFileError: Error {
    let errno: Int32
}

extension NewFileError: CustomStringConvertible {
    var description: String {
        switch errno {
        case EEXIST: "exists already: remove it, or name another file"
        case ENOENT: "its folder does not exist: make it first"
        case EACCES: "permission denied: check who may write there"
        default: "cannot be written: \(systemErrorText(errno))"
        }
    }
}
