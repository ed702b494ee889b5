import Foundation
import TestPKI
import Testing

/// A program that the compiler treats as part of another package: it is built with the modules of the running tests and
/// sees only their public declarations.
struct CompiledProgram {
    private let folder: TestFolder
    private static let modules = [
        "PinnedNetworking", "SystemGSSAPI", "TLSTransport", "HTTPMessages", "CertificatePinning", "CertificateTrust",
        "OpenSSLBridge", "Basics", "LibC", "PlatformFoundation",
    ]

    /// Compiles the files of `Programs/NAME` and the shared one, with their listings inserted.
    init(_ name: String, languageMode: Int) async throws {
        folder = try TestFolder()
        let programs = "\(Repository.root)/Tests/PinnedNetworkingTests/Listings/Programs"
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(programs)/\(name)").filter {
            $0.hasSuffix(".swift")
        }
        let sources = try (["Site.swift"] + names.map { "\(name)/\($0)" }).map { file in
            let program = try String(contentsOfFile: "\(programs)/\(file)", encoding: .utf8)
            return try folder.add(
                try Seeds.complete(program), name: file.replacingOccurrences(of: "/", with: "-"))
        }
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let build = tests[..<(tests.lastIndex(of: "/") ?? tests.endIndex)]
        let objects = try String(
            contentsOfFile: "\(build)/pinctlPackageTests.product/Objects.LinkFileList", encoding: .utf8
        ).split(separator: "\n").filter { line in Self.modules.contains { line.contains("/\($0).build/") } }
        let object = try #require(
            objects.first { !$0.hasSuffix(".swiftmodule.o") }, "the build of these tests names no object of the modules"
        )
        let command =
            ["swiftc", "-swift-version", "\(languageMode)", "-warnings-as-errors", "-parse-as-library"]
            + ["-module-name", "Program", "-o", folder.path + "/program", "-module-cache-path", "\(build)/ModuleCache"]
            + ["-I", "\(build)/Modules", "-I", "\(Repository.root)/Sources/COpenSSL"]
            + ["-I", "\(Repository.root)/Sources/CLinux"]
            + (try Self.sanitizer(of: String(object)))
            + sources + ["@" + (try folder.add(objects.joined(separator: "\n")))]
        let result = try await Self.run(command)
        try #require(result.status == 0, "\(name) does not compile in mode \(languageMode): \(result.text)")
    }

    /// The option for the runtime library of an object that was compiled with `swift test --sanitize`.
    private static func sanitizer(of object: String) throws -> [String] {
        let contents = try Data(contentsOf: URL(filePath: object))
        for (name, symbol) in [("address", "__asan_"), ("thread", "__tsan_")]
        where contents.range(of: Data(symbol.utf8)) != nil {
            return ["-sanitize=\(name)"]
        }
        return []
    }

    var path: String { folder.path + "/program" }

    /// Adds a file to the program's bundle.
    func addResource(_ text: String, name: String) throws { _ = try folder.add(text, name: name) }

    /// The lines that the program prints. It uses `roots` as the operating system's trust store.
    func output(_ arguments: [String], roots: [TestCertificate], limit: Int = 120) async throws -> [String] {
        let store = try folder.add(roots.map(\.pemText).joined())
        let result = try await Self.run(
            ["timeout", "\(limit)", folder.path + "/program"] + arguments, environment: ["SSL_CERT_FILE=\(store)"])
        #expect(result.status == 0, "\(arguments): \(result.text)")
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Runs a command on a thread outside the small pool of Swift's tasks.
    static func run(_ command: [String], environment: [String] = []) async throws -> TestCommand.Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                let environment = ["LC_ALL=C", "ASAN_OPTIONS=detect_leaks=0"] + environment
                continuation.resume(with: Result { try TestCommand.run(command, environment: environment) })
            }
        }
    }
}
