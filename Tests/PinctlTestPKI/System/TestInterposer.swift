import Glibc

/// A library that fails one call of a program, the one of `tools/torture/run`.
package struct TestInterposer: Sendable {
    private let directory: TestDirectory
    private let page: String

    /// Compiles the library.
    package init() async throws {
        directory = try TestDirectory()
        page = directory.path + "/page"
        let result = try await TestCommand.runAside([
            "gcc", "-std=gnu17", "-O1", "-shared", "-fPIC", "-o", directory.path + "/interposer.so",
            Repository.root + "/tools/torture/interposer.c",
        ])
        guard result.status == 0 else { throw TestPKIError("gcc", result.text) }
    }

    /// Runs a command with a call that fails, such as `read 3 5 f once`, which `interposer.c` describes. Returns also
    /// whether that call came.
    package func run(
        _ command: [String], failing call: String, environment: [String] = []
    ) async throws -> (result: TestCommand.Result, hasFailed: Bool) {
        let file = unsafe open(page, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0, ftruncate(file, 4096) == 0 else { throw TestPKIError.system(page) }
        defer { close(file) }
        // Neither timeout nor env is affected.
        let result = try await TestCommand.runAside(
            [
                "timeout", "60", "env", "LD_PRELOAD=\(directory.path)/interposer.so", "TORTURE_PAGE=\(page)",
                "TORTURE_CALL=\(call)",
            ] + command, environment: ["LC_ALL=C", "SWIFT_BACKTRACE=enable=no"] + environment)
        var state: UInt32 = 0
        guard unsafe pread(file, &state, 4, 0) == 4 else { throw TestPKIError.system(page) }
        return (result, state == 1)
    }
}
