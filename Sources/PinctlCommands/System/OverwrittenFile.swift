import PinctlLibC

/// Writes a file completely or not at all, whether it exists or not. A pipe or device is written to directly.
func overwriteFile(_ path: String, _ bytes: [UInt8]) throws(NewFileError) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
        guard errno == ENOENT else { throw NewFileError(errno: errno) }
        return try withTemporaryFile(beside: path, mode: 0o644, bytes) { temporary throws(NewFileError) in
            guard unsafe rename(temporary, path) == 0 else { throw NewFileError(errno: errno) }
        }
    }
    guard status.st_mode & S_IFMT != S_IFREG else { return try replaceFile(path, bytes) }
    // A blocking open of a pipe without a reader would wait forever.
    let descriptor = unsafe open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { throw NewFileError(errno: errno) }
    let code = StandardStreams.write(bytes, to: descriptor)
    guard close(descriptor) == 0, code == 0 else { throw NewFileError(errno: code == 0 ? errno : code) }
}

/// Throws the error that `overwriteFile` would throw, to detect it before a long run.
func checkOverwritable(_ path: String) throws(NewFileError) {
    var status = stat()
    let exists = unsafe stat(path, &status) == 0
    guard !exists || status.st_mode & S_IFMT != S_IFDIR else { throw NewFileError(errno: EISDIR) }
    if exists, status.st_mode & S_IFMT != S_IFREG {
        guard unsafe access(path, W_OK) == 0 else { throw NewFileError(errno: errno) }
        return
    }
    // If a symbolic link leads to a file, the directory of that file must be writable.
    var file = path
    if exists {
        guard let target = unsafe realpath(path, nil) else { throw NewFileError(errno: errno) }
        defer { unsafe free(target) }
        file = unsafe String(cString: target)
    }
    let directory = parentDirectory(of: file)
    guard unsafe stat(directory, &status) == 0 else { throw NewFileError(errno: errno) }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw NewFileError(errno: ENOTDIR) }
    guard unsafe access(directory, W_OK | X_OK) == 0 else { throw NewFileError(errno: errno) }
}

/// Appends to a file, which is created if necessary. `text` receives the current size of the file.
func appendToFile(_ path: String, _ text: (Int) -> [UInt8]) throws(NewFileError) {
    let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw NewFileError(errno: errno) }
    var status = stat()
    let size = unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    let code = StandardStreams.write(text(size), to: descriptor)
    guard close(descriptor) == 0, code == 0 else { throw NewFileError(errno: code == 0 ? errno : code) }
}
