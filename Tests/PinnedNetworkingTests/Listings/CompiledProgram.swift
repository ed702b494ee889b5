import Foundation
import PinctlTestPKI
import Testing

/// A program that the compiler treats as part of another package: it is built with the modules of the running tests and
/// sees only their public declarations.
struct CompiledProgram {
    private let directory: TestDirectory
    /// The modules that a program with PinnedNetworking consists of.
    static let modules = [
        "PinnedNetworking", "PinctlGSSAPI", "PinctlZlib", "PinctlTLSTransport", "PinctlHTTPMessages",
        "CertificatePinning",
        "CertificateTrust", "OpenSSLBridge", "PinctlBasics", "PinctlLibC", "PinctlFoundation",
    ]

    /// Compiles the files of `Programs/NAME` and the shared one, with their listings inserted. `more` are further modules
    /// that the program consists of.
    init(_ name: String, languageMode: Int, adding more: [String] = []) async throws {
        directory = try TestDirectory()
        let programs = "\(Repository.root)/Tests/PinnedNetworkingTests/Listings/Programs"
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(programs)/\(name)").filter {
            $0.hasSuffix(".swift")
        }
        let sources = try (["Site.swift"] + names.map { "\(name)/\($0)" }).map { file in
            let program = try String(contentsOfFile: "\(programs)/\(file)", encoding: .utf8)
            return try directory.add(
                try Seeds.complete(program), name: file.replacingOccurrences(of: "/", with: "-"))
        }
        let result = try await TestBuild.compile(
            sources, with: Self.modules + more, languageMode: languageMode, options: ["-parse-as-library"], to: path)
        try #require(result.status == 0, "\(name) does not compile in mode \(languageMode): \(result.text)")
    }

    var path: String { directory.path + "/program" }

    /// Adds a file to the program's bundle.
    func addResource(_ text: String, name: String) throws { _ = try directory.add(text, name: name) }

    /// The lines that the program prints. It uses `roots` as the operating system's trust store.
    func output(_ arguments: [String], roots: [TestCertificate], limit: Int = 120) async throws -> [String] {
        let store = try directory.add(roots.map(\.pemText).joined())
        let result = try await Self.run(
            ["timeout", "\(limit)", directory.path + "/program"] + arguments, environment: ["SSL_CERT_FILE=\(store)"])
        #expect(result.status == 0, "\(arguments): \(result.text)")
        return String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Runs a command with the environment for a program of this build.
    static func run(_ command: [String], environment: [String] = []) async throws -> TestCommand.Result {
        try await TestCommand.runAside(
            command, environment: ["LC_ALL=C", "ASAN_OPTIONS=detect_leaks=0"] + environment)
    }
}
