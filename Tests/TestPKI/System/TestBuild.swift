import Foundation

/// The build of the running tests.
package enum TestBuild {
    /// Returns the directory that contains the tests and the built programs, without a slash at its end.
    package static func folder() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return String(tests[..<(tests.lastIndex(of: "/") ?? tests.endIndex)])
    }

    /// Compiles Swift files to `program` with modules of this build. Warnings are errors. The compiler treats the files
    /// as part of another package, which sees only public declarations.
    package static func compile(
        _ files: [String], with modules: [String], languageMode: Int = 6, options: [String] = [], to program: String
    ) async throws -> TestCommand.Result {
        let build = try folder()
        let objects = try String(
            contentsOfFile: "\(build)/pinctlPackageTests.product/Objects.LinkFileList", encoding: .utf8
        ).split(separator: "\n").map(String.init).filter { line in modules.contains { line.contains("/\($0).build/") } }
        guard let object = objects.first(where: { !$0.hasSuffix(".swiftmodule.o") }) else {
            throw TestPKIError("compiling \(program)", "the build of these tests names no object of \(modules)")
        }
        let list = try TestFolder()
        var command = ["swiftc", "-swift-version", "\(languageMode)", "-warnings-as-errors", "-module-name", "Program"]
        command += ["-o", program, "-module-cache-path", "\(build)/ModuleCache", "-I", "\(build)/Modules"]
        for headers in ["CPinctlOpenSSL", "CPinctlLinux"] {
            command += ["-I", "\(Repository.root)/Sources/\(headers)"]
        }
        command += try instrument(of: object) + options + files
        command.append("@" + (try list.add(objects.joined(separator: "\n"))))
        return try await TestCommand.runAside(command)
    }

    /// Returns the option for the runtime library of an object that was compiled with `swift test --sanitize` or with
    /// coverage.
    private static func instrument(of object: String) throws -> [String] {
        let contents = try Data(contentsOf: URL(filePath: object))
        return [
            ("__asan_", "-sanitize=address"), ("__tsan_", "-sanitize=thread"), ("__llvm_profile_", "-profile-generate"),
        ].filter { contents.range(of: Data($0.0.utf8)) != nil }.map(\.1)
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
