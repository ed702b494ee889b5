import Foundation
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PolicyUpdates

/// A process that is killed while it saves bundles.
@Suite(.timeLimit(.minutes(20)))
struct PolicyKillTests {
    /// The number of times that the process is killed. PINCTL_KILLS sets another one.
    private static let kills = ProcessInfo.processInfo.environment["PINCTL_KILLS"].flatMap { Int($0) } ?? 40

    private static let modules = [
        "PolicyUpdates", "PinnedNetworking", "PinctlGSSAPI", "PinctlZlib", "PinctlTLSTransport", "PinctlHTTPMessages",
        "CertificatePinning", "CertificateTrust", "OpenSSLBridge", "PinctlBasics", "PinctlLibC", "PinctlFoundation",
    ]

    /// Receives the bundles that follow the saved one, from a directory of files, as fast as it can.
    private static let program = """
        import PolicyUpdates

        @main struct Saver {
            static func main() async throws {
                let words = CommandLine.arguments
                let updater = PolicyUpdater(
                    from: URL(filePath: "/"),
                    keySet: try PolicyKeySet(json: [UInt8](Data(contentsOf: URL(filePath: words[1] + "/keys")))),
                    builtIn: try PinningPolicy(contentsOfFile: words[1] + "/built-in.json"), directory: words[2],
                    now: { Date(timeIntervalSince1970: 1_790_000_000) }
                ) { _ in }
                await updater.start()
                var sequence = await updater.sequence
                while true {
                    sequence += 1
                    guard let data = FileManager.default.contents(atPath: "\\(words[1])/\\(sequence)") else { return }
                    await updater.receive([UInt8](data))
                }
            }
        }
        """

    @Test("A process that is killed while it saves leaves the bundle before or the new one (PU4)")
    func kills() async throws {
        let publisher = try Publisher()
        let directory = try TestDirectory()
        _ = try directory.add(publisher.keySet([0, 1, 2]), name: "keys")
        _ = try directory.add(Publisher.policy("built-in.example"), name: "built-in.json")
        let count = 100 * Self.kills
        for sequence in 1...count {
            _ = try directory.add(try publisher.bundle(sequence: sequence), name: "\(sequence)")
        }
        let source = try directory.add("import PinnedNetworking\n" + Self.program, name: "main.swift")
        let saver = directory.path + "/saver"
        let result = try await TestBuild.compile(
            [source], with: Self.modules, options: ["-parse-as-library"], to: saver)
        try #require(result.status == 0, "\(result.text)")
        let program = try UpdatedProgram(publisher, in: directory)
        var (last, longest) = (0, 0.1)
        for round in 0..<Self.kills {
            let before = last
            // Most of the time is the program's start, which takes longer beside other programs.
            defer { longest = last > before ? max(0.1, longest * 0.9) : min(5, longest * 1.2) }
            let pause = Double.random(in: 0.01...longest)
            let command = "\(saver) \(directory.path) \(directory.path)/state & sleep \(pause); kill -9 $!; wait"
            _ = try await TestCommand.runAside(["bash", "-c", command], environment: ["LC_ALL=C"])
            let updater = try await program.start()
            let sequence = await updater.sequence
            #expect(sequence >= last, "round \(round)")
            #expect(updater.host == (sequence == 0 ? "built-in.example" : "host\(sequence).example"))
            #expect(!program.outcomesSoFar().contains("saved refused"), "round \(round)")
            last = sequence
        }
        // It was saving in most rounds, and never came to the end.
        #expect(last > Self.kills)
        #expect(last < count)
    }
}
