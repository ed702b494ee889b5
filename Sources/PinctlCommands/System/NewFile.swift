import CertificateTrust
import PinctlBasics
import PinctlLibC

/// Writes a new file completely or not at all. It never overwrites an existing file. A pipe or device is written to
/// directly.
func writeNewFile(_ path: String, _ bytes: [UInt8]) throws(NewFileError) {
    if isDevice(path) { return try overwriteFile(path, bytes) }
    try withTemporaryFile(beside: path, mode: 0o644, bytes) { temporary throws(NewFileError) in
        // Unlike rename(2), link(2) doesn't replace an existing file, not even a symbolic link.
        // mutant new-file-link: rename(temporary, path) == 0 for `link(temporary, path) == 0` by InitTests ProcessTests
        //   ShowTests
        guard unsafe link(temporary, path) == 0 else { throw NewFileError(errno: errno) }
    }
}

/// Throws the error that `writeNewFile` would throw, to detect it before a long run.
func checkNew(_ path: String) throws(NewFileError) {
    var status = stat()
    guard !isDevice(path), unsafe lstat(path, &status) == 0 else { return try checkOverwritable(path) }
    throw NewFileError(errno: EEXIST)
}

/// Whether something exists that isn't a regular file or a directory, at the end of symbolic links.
private func isDevice(_ path: String) -> Bool {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return false }
    return status.st_mode & S_IFMT != S_IFREG && status.st_mode & S_IFMT != S_IFDIR
}

/// Returns the path of an existing file without symbolic links, or `nil` if there is none.
func resolvedPath(_ path: String) -> String? {
    guard let target = unsafe realpath(path, nil) else { return nil }
    defer { unsafe free(target) }
    return unsafe String(cString: target)
}

/// Replaces the contents of an existing file completely or not at all, and keeps its permissions.
func replaceFile(_ path: String, _ bytes: [UInt8]) throws(NewFileError) {
    do throws(FilesError) {
        try replaceFiles([(path, bytes)])
    } catch {
        throw error.reason
    }
}

/// Replaces the contents of existing files. All new contents are on the disk before the first file is replaced, so that
/// a full disk changes none.
func replaceFiles(_ files: [(path: String, bytes: [UInt8])]) throws(FilesError) {
    var replaced: [String] = []
    try replaceFiles(files[...], &replaced)
}

private func replaceFiles(
    _ files: ArraySlice<(path: String, bytes: [UInt8])>, _ replaced: inout [String]
) throws(FilesError) {
    guard let (path, bytes) = files.first else { return }
    var others: FilesError?
    do throws(NewFileError) {
        // rename(2) would replace a symbolic link instead of the file it leads to.
        guard let file = resolvedPath(path) else { throw NewFileError(errno: errno) }
        var status = stat()
        guard unsafe stat(file, &status) == 0 else { throw NewFileError(errno: errno) }
        try withTemporaryFile(beside: file, mode: status.st_mode & 0o777, bytes) { temporary throws(NewFileError) in
            // open(2) removes the bits of umask(2) from the mode.
            guard unsafe chmod(temporary, status.st_mode & 0o777) == 0 else { throw NewFileError(errno: errno) }
            do throws(FilesError) {
                try replaceFiles(files.dropFirst(), &replaced)
            } catch {
                others = error
                return
            }
            guard unsafe rename(temporary, file) == 0 else { throw NewFileError(errno: errno) }
            replaced.append(path)
        }
    } catch {
        throw FilesError(path: path, reason: error, replaced: replaced)
    }
    guard let others else { return }
    throw others
}

/// The reason why a file wasn't replaced, with those that had been before.
struct FilesError: Error {
    let path: String
    let reason: NewFileError
    let replaced: [String]
}

/// Writes a temporary file next to `path`, syncs it to disk and passes its path to `body`. The file is removed
/// afterwards.
func withTemporaryFile(
    beside path: String, mode: mode_t, _ bytes: [UInt8], _ body: (String) throws(NewFileError) -> Void
) throws(NewFileError) {
    // mutant new-file-signal: {} by PinctlTests.FailedCallTests/signals
    DeferredSignals.begin()
    defer { DeferredSignals.end() }
    let temporary = "\(path).\(getpid()).new"
    let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
    guard descriptor >= 0 else { throw NewFileError(errno: errno) }
    defer { _ = unsafe unlink(temporary) }
    var code = StandardStreams.write(bytes, to: descriptor)
    if code == 0, fsync(descriptor) != 0 { code = errno }
    if close(descriptor) != 0, code == 0 { code = errno }
    // mutant new-file-write: true by ReportFileTests/diskFillsUp
    guard code == 0 else { throw NewFileError(errno: code) }
    try body(temporary)
}

/// The reason why a file wasn't written.
struct NewFileError: Error {
    let errno: Int32
}

extension NewFileError: CustomStringConvertible {
    var description: String {
        switch errno {
        case EEXIST: "already exists: remove it, or name another file"
        case ENOENT: "its directory does not exist: create it first"
        case EACCES: "permission denied: check the permissions of the file and its directory"
        case EISDIR: "is a directory: name a file in it"
        case ENOTDIR: "part of its path is not a directory: check the path"
        case ENOSPC, EDQUOT: "no space left on device: free some space, or name another file"
        case EROFS: "is on a read-only file system: name another file"
        case ENXIO: "no process reads from it: start the reader first"
        default: "cannot be written: \(systemErrorText(errno))"
        }
    }
}
