import PinctlTestPKI
import Testing

@Suite(
    "Failed builds of the scripts",
    .enabled(if: TestCommand.isPresent("swift", "--version"), "the Swift toolchain isn't in PATH"))
struct BuildFailureTests {
    /// Runs a script of bash in the project's root, with a home directory of its own.
    private func bash(_ script: String, home: TestDirectory, path: String? = nil) throws -> TestCommand.Result {
        try TestCommand.run(
            ["bash", "-c", script],
            environment: ["LC_ALL=C", "HOME=\(home.path)"] + (path.map { ["PATH=\($0)"] } ?? []))
    }

    @Test("tools/quickstart prints what the compiler says once, and last what to do")
    func quickstart() throws {
        let directory = try TestDirectory()
        let copy = """
            mkdir "$HOME/copy"
            tar --create --exclude=.build --exclude=.git Package.swift Sources Tests tools pins |
                tar --extract --directory "$HOME/copy"
            cd "$HOME/copy"
            """
        for (change, error, remedy) in [
            (
                "echo 'let broken: Int = \"text\"' >>Sources/PinctlLibC/System/PinctlLibC.swift",
                "cannot convert value of type 'String' to specified type 'Int'", "correct the lines that are named"
            ),
            (
                "sed -i 's|__has_include(<openssl/ssl.h>)|0|' Sources/CPinctlOpenSSL/shims.h",
                "OpenSSL's headers are missing", "install OpenSSL's headers and libraries: apt-get install libssl-dev"
            ),
        ] {
            let run = try bash("\(copy)\n\(change)\ntools/quickstart --no-install", home: directory)
            let errors = String(decoding: run.errors, as: UTF8.self)
            guard !errors.contains("packages are missing") else { return }
            #expect(run.status == 1)
            let lines = errors.split(separator: "\n")
            #expect(lines.count { $0.contains("error: \(error)") || $0.contains("\"\(error)") } == 1, "\(errors)")
            let last = try #require(lines.last { $0.hasPrefix("What to do: ") }, "\(errors)")
            #expect(last.contains(remedy), "\(errors)")
            #expect(lines.count <= 26 && !errors.contains("Compiling"), "\(errors)")
            _ = try bash("rm -rf \"$HOME/copy\"", home: directory)
        }
    }

    @Test("A build that can't link, runs no compiler, is killed or says nothing is explained too")
    func others() throws {
        let directory = try TestDirectory()
        let package = """
            source tools/lib.sh
            root=$HOME
            cd "$HOME"
            mkdir -p Sources/tiny
            echo 'print(1)' >Sources/tiny/main.swift
            cat >Package.swift <<END
            // swift-tools-version: 6.0
            import PackageDescription
            let package = Package(
                name: "tiny",
                targets: [.executableTarget(name: "tiny", linkerSettings: [.linkedLibrary("LIBRARY")])])
            END
            """
        for (command, texts) in [
            (
                "sed -i s/LIBRARY/ssl-absent/ Package.swift; run_build swift build",
                ["-lssl-absent", "apt-get install libssl-dev"]
            ),
            ("with_progress env PATH=/nowhere swift build", ["swift", "(exit code 127)", "What to do: "]),
            ("with_progress bash -c 'echo \"[1/2] Compiling\"; kill -9 $$'", ["(exit code 137)", "free memory"]),
            ("run_build bash -c 'echo \"[1/2] Compiling\"; echo odd; exit 3'", ["(exit code 3)", "odd"]),
            ("run_build bash -c 'seq -f \"a:%g: error: e\" 90; exit 1'", ["a:20: error", "and 70 more lines"]),
        ] {
            let run = try bash("\(package)\n\(command)", home: directory)
            let errors = String(decoding: run.errors, as: UTF8.self)
            #expect(run.status != 0)
            for text in texts + ["The whole output is in \(directory.path)/.build/failed-build.log"] {
                #expect(errors.contains(text), "\(command): \(errors)")
            }
            #expect(!errors.contains("[1/2]"), "\(errors)")
        }
    }
}
