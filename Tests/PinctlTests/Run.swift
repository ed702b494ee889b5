import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlCommands
import PinctlTestPKI

/// 2026-11-20T00:00:00Z, the default time of the tests. Minted certificates are valid then.
let testTime = Date(timeIntervalSince1970: 1_795_132_800)

/// The result of running pinctl: its output and exit status.
struct Run: Sendable {
    let status: Int32
    let output: String
    let errors: String

    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }

    /// The JSON document on standard output.
    func decoded<Document: Decodable>(as type: Document.Type) throws -> Document {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(type, from: Data(output.utf8))
    }
}

/// The first words of every remedy that leads to a served key, and the last ones.
let ifYours =
    "if this change is yours (confirm on the server itself that pinctl hash of its certificate file prints the served "
    + "leaf pin)"
let ifNotYours = "; if not, the connection may be intercepted, so don't pin any served key"

/// Without this, commands would find the policy of the directory that the tests run in.
private let noPolicy = ["PINCTL_POLICY": "/no/such/pins.jsonc"]

/// Runs a command line inside this process. Connections get the time that a busy machine needs, unless a flag sets it.
func pinctl(
    _ words: [String], variables: [String: String] = [:], now: Date = testTime, terminal: Terminal = Terminal(),
    isInterrupted: @escaping @Sendable () -> Bool = { false },
    suffixWarning: @escaping @Sendable (Date, Bool) -> String? = { _, _ in nil }
) async -> Run {
    let variables = noPolicy.merging(variables) { $1 }
    let isPatient = ["check", "init", "show"].contains(words.first) && !words.contains("--timeout")
    let words = words.prefix(1) + (isPatient ? ["--timeout=60", "--connect-timeout=60"] : []) + words.dropFirst()
    let output = Sink()
    let errors = Sink()
    let status = await Pinctl.run(
        Array(words),
        in: CommandEnvironment(
            variables: { variables }, now: { now }, terminal: terminal, isInterrupted: isInterrupted,
            suffixWarning: suffixWarning),
        output: output.buffer, diagnostics: errors.buffer)
    return Run(status: status.rawValue, output: output.text, errors: errors.text)
}

func pinctl(
    _ words: String..., variables: [String: String] = [:], now: Date = testTime, terminal: Terminal = Terminal()
) async -> Run {
    await pinctl(words, variables: variables, now: now, terminal: terminal)
}

/// Runs a bash script in which `pinctl` is the built program. A script that hangs is ended with status 124.
func shell(_ script: String, in directory: TestDirectory? = nil, patience seconds: Int = 60) async throws -> Run {
    let setUp = "PATH=\(try TestBuild.directory()):$PATH; \(directory.map { "cd \($0.path); " } ?? "")"
    let result = try await TestCommand.runAside(["timeout", "\(seconds)", "bash", "-c", setUp + script])
    return Run(
        status: result.status, output: String(decoding: result.output, as: UTF8.self),
        errors: String(decoding: result.errors, as: UTF8.self))
}

private final class Sink: Sendable {
    private let bytes = Locked<[UInt8]>([])

    var text: String { bytes.withLock { String(decoding: $0, as: UTF8.self) } }

    var buffer: OutputBuffer { OutputBuffer { chunk in self.bytes.withLock { $0 += chunk } } }
}
