import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("pinctl swift-flags")
struct SwiftFlagsTests {
    private static let compiler = "Swift version 6.3.1 (swift-6.3.1-RELEASE)"
    private static let target = "x86_64-unknown-linux-gnu"
    private static let library = "debug/libPinnedNetworking.a"
    private let directory: TestDirectory
    private let prefix: String

    init() throws {
        directory = try TestDirectory()
        prefix = directory.path + "/prefix"
        _ = try TestCommand.run(["mkdir", "-p", prefix + "/debug/modules", directory.path + "/bin"])
        _ = try directory.add("objects", name: "prefix/\(Self.library)")
        _ = try directory.add("a module", name: "prefix/debug/modules/PinnedNetworking.swiftmodule")
        try manifest()
        try addCompiler("swiftc")
    }

    /// Writes the manifest of the prefix.
    private func manifest(
        pinctl: String = "0.1.0", commit: String? = nil, compiler: String = compiler, target: String = target
    ) throws {
        let files = [Self.library, "debug/modules/PinnedNetworking.swiftmodule"]
        var lines = ["pinctl \(pinctl)", "compiler \(compiler)", "target \(target)"]
        if let commit { lines.append("commit \(commit)") }
        for file in files {
            let output = try TestCommand.run(["sha256sum", "\(prefix)/\(file)"]).output
            lines.append("file \(String(decoding: output.prefix(64), as: UTF8.self)) \(file)")
        }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: prefix + "/manifest"))
    }

    /// Adds a program that answers as a compiler does.
    private func addCompiler(_ name: String, _ version: String = compiler, target: String = target) throws {
        let script = "#!/bin/sh\n[ \"$1\" = -version ] || exit 1\necho '\(version)'\necho 'Target: \(target)'\n"
        _ = try directory.add(Array(script.utf8), name: "bin/\(name)", mode: 0o700)
    }

    private func flags(_ words: String..., variables: [String: String] = [:]) async -> Run {
        let own = ["PATH": directory.path + "/bin"]
        return await pinctl(
            ["swift-flags", "--prefix", prefix] + words, variables: own.merging(variables) { $1 })
    }

    /// Expects bad input, this in its message, and a flag with which `swift build` fails.
    private func expect(_ run: Run, _ text: String) {
        #expect(run.status == 2)
        #expect(run.output == "--pinctl-swift-flags-failed\n")
        #expect(run.errors.contains(text), "\(run.errors)")
    }

    @Test("The flags are one line, which a shell splits into words")
    func line() async throws {
        let run = await flags()
        #expect(
            run.output == "--configuration debug -Xswiftc -module-alias "
                + "-Xswiftc FoundationNetworking=PinnedNetworking -Xswiftc -I -Xswiftc \(prefix)/debug/modules "
                + "-Xlinker \(prefix)/\(Self.library) -Xlinker -lssl -Xlinker -lcrypto "
                + "-Xlinker -lswiftSynchronization\n"
        )
        #expect(run.status == 0)
    }

    @Test("The flags for a program that contains the runtime name its libraries behind the one that needs them")
    func staticLibrary() async throws {
        let run = await flags("--static-swift-stdlib")
        #expect(run.output.hasPrefix("--configuration debug --static-swift-stdlib -Xswiftc"))
        #expect(run.output.contains("-Xlinker --start-group -Xlinker \(prefix)/\(Self.library) -Xlinker -lFoundation "))
        #expect(run.output.hasSuffix("--end-group -Xlinker -lssl -Xlinker -lcrypto -Xlinker -lstdc++ -Xlinker -lm\n"))
    }

    @Test("Modules of another version of pinctl, or of other sources, are refused")
    func otherVersion() async throws {
        try manifest(pinctl: "0.0.9")
        expect(await flags(), "is of pinctl 0.0.9, and this is 0.1.0: install both from one release")
        try manifest(commit: "0123456789abcdef")
        #expect(await flags().status == 0)
        let prefix = try SwiftPrefix(at: prefix)
        try prefix.requireVersion(commit: 0x0123_4567_89AB_CDEF)
        #expect(throws: UsageError.self) { try prefix.requireVersion(commit: 1) }
    }

    @Test("Another compiler or target is refused, and so is SWIFT_EXEC if it is another one")
    func otherCompiler() async throws {
        try addCompiler("newer", "Swift version 6.3.2 (swift-6.3.2-RELEASE)")
        expect(
            await flags(variables: ["SWIFT_EXEC": directory.path + "/bin/newer"]),
            "/bin/newer is \"Swift version 6.3.2 (swift-6.3.2-RELEASE)\" for \(Self.target), and the modules in ")
        expect(await flags(variables: ["SWIFT_EXEC": "newer"]), "6.3.2")
        expect(await flags(variables: ["SWIFT_EXEC": "nosuch"]), "SWIFT_EXEC: nosuch: no such program")
        try manifest(target: "aarch64-unknown-linux-gnu")
        expect(await flags(), "for aarch64-unknown-linux-gnu: use that compiler")
    }

    @Test("The compiler is the one beside swift, even if another one is earlier in PATH")
    func besideSwift() async throws {
        _ = try TestCommand.run(["mkdir", directory.path + "/links", directory.path + "/bin/toolchain"])
        try addCompiler("toolchain/swift")
        try addCompiler("toolchain/swiftc", "Swift version 5.10 (swift-5.10-RELEASE)")
        _ = try TestCommand.run(["ln", "-s", directory.path + "/bin/toolchain/swift", directory.path + "/links/swift"])
        expect(await flags(variables: ["PATH": "\(directory.path)/bin:\(directory.path)/links"]), "Swift version 5.10")
    }

    @Test("A compiler that fails, or none, is refused")
    func noCompiler() async throws {
        expect(await flags(variables: ["PATH": "/nosuch"]), "swiftc isn't in PATH")
        _ = try directory.add(Array("#!/bin/sh\nexit 1\n".utf8), name: "bin/failing", mode: 0o700)
        expect(await flags(variables: ["SWIFT_EXEC": "failing"]), "/bin/failing -version: printed no version")
    }

    @Test("A file that is missing or was changed is refused, and so is a configuration without modules")
    func files() async throws {
        expect(await flags("-c", "release"), "has no modules for release builds")
        let path = prefix + "/debug/modules/PinnedNetworking.swiftmodule"
        try Data("A module".utf8).write(to: URL(fileURLWithPath: path))
        expect(await flags(), "\(path): was changed since the modules were built")
        _ = try TestCommand.run(["rm", path])
        expect(await flags(), "\(path): no such file")
    }

    @Test("A manifest that is missing or isn't understood is refused")
    func manifests() async throws {
        for text in ["", "pinctl 0.1.0\n", "pinctl 0.1.0\ncompiler a\ntarget b\nnews c\n", "file 1234\n"] {
            try Data(text.utf8).write(to: URL(fileURLWithPath: prefix + "/manifest"))
            expect(await flags(), "/manifest: isn't a manifest of tools/swift-prefix")
        }
        _ = try TestCommand.run(["rm", prefix + "/manifest"])
        expect(await flags(), "/manifest: no such file")
    }

    @Test("Wrong usage also lets swift build fail, but --check and JSON print no flag")
    func usage() async throws {
        expect(await flags("--nosuch"), "swift-flags has no flag --nosuch")
        #expect(await flags("--nosuch", "--json").output.contains("pinctl-swift-flags-failed") == false)
        #expect(await pinctl("swift-flags", "--check").output.isEmpty)
    }

    @Test("A path that a shell would split or change is refused", arguments: [" ", "*", "'", "\\", "\n"])
    func path(_ text: String) async throws {
        let moved = directory.path + "/a\(text)b"
        _ = try TestCommand.run(["cp", "-r", prefix, moved])
        let run = await pinctl(
            ["swift-flags", "--prefix", moved], variables: ["PATH": directory.path + "/bin"])
        expect(run, "the shell would split or change this path")
    }
}
