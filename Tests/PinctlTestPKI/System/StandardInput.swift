import Glibc

/// The standard input of this process.
package enum StandardInput {
    /// Runs `body` with a file as standard input. Only one call at a time is possible, because the process has only one
    /// standard input.
    package static func reading<Result>(
        _ path: String, _ body: () async throws -> Result
    ) async throws -> Result {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw TestPKIError.system(path) }
        let held = fcntl(0, F_DUPFD_CLOEXEC, 3)
        guard held >= 0, dup2(file, 0) == 0 else { throw TestPKIError.system("dup2") }
        close(file)
        defer {
            dup2(held, 0)
            close(held)
        }
        return try await body()
    }
}
