import Foundation
import Glibc

/// The build of the running tests.
package enum TestBuild {
    /// Returns the directory that contains the tests and the built programs, without a slash at its end.
    package static func directory() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return String(tests[..<(tests.lastIndex(of: "/") ?? tests.endIndex)])
    }

    /// Compiles Swift files to `program` with modules of this build. Warnings are errors. The compiler treats the files
    /// as part of another package, which sees only public declarations.
    package static func compile(
        _ files: [String], with modules: [String], languageMode: Int = 6, options: [String] = [], to program: String
    ) async throws -> TestCommand.Result {
        let build = try directory()
        let objects = try String(
            contentsOfFile: "\(build)/pinctlPackageTests.product/Objects.LinkFileList", encoding: .utf8
        ).split(separator: "\n").map(String.init).filter { line in modules.contains { line.contains("/\($0).build/") } }
        guard let object = objects.first(where: { !$0.hasSuffix(".swiftmodule.o") }) else {
            throw TestPKIError("compiling \(program)", "the build of these tests names no object of \(modules)")
        }
        let list = try TestDirectory()
        var command = ["swiftc", "-swift-version", "\(languageMode)", "-warnings-as-errors", "-module-name", "Program"]
        command += ["-o", program, "-module-cache-path", "\(build)/ModuleCache", "-I", "\(build)/Modules"]
        for headers in ["CPinctlOpenSSL", "CPinctlLinux"] {
            command += ["-I", "\(Repository.root)/Sources/\(headers)"]
        }
        command += try instruments(of: object) + options + files
        command.append("@" + (try list.add(objects.joined(separator: "\n"))))
        return try await TestCommand.runAside(command)
    }

    /// Returns the options for the runtime libraries of objects that were compiled with `swift test --sanitize` or with
    /// coverage, whose variable names the file for the counters.
    private static func instruments(of object: String) throws -> [String] {
        let contents = try Data(contentsOf: URL(filePath: object))
        let sanitizers = [("address", "__asan_"), ("thread", "__tsan_")]
            .filter { contents.range(of: Data($0.1.utf8)) != nil }.map { "-sanitize=\($0.0)" }
        return unsafe sanitizers + (getenv("LLVM_PROFILE_FILE") == nil ? [] : ["-profile-generate"])
    }
}

extension TestCommand {
    /// Runs `command` on a thread outside the small pool of Swift's tasks. If all threads of that pool waited for
    /// programs, no server and no client in this process would make progress.
    package static func runAside(
        _ command: [String], environment: [String] = ["LC_ALL=C"]
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Swift.Result { try run(command, environment: environment) })
            }
        }
    }
}
