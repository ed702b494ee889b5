import Foundation

/// What one run of a command took.
struct ProcessRun {
    /// Nanoseconds.
    let wallTime: Double
    /// Peak resident set, KiB.
    let memory: Double
    /// Nanoseconds, of all threads, in and out of the kernel.
    let cpuTime: Double
}

/// What a program writes to standard output or, if so wanted, to standard error.
func output(of command: [String], standardError: Bool = false) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    let pipe = Pipe()
    process.standardOutput = standardError ? FileHandle.nullDevice : pipe
    if standardError { process.standardError = pipe }
    try process.run()
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw BenchError("\(command.joined(separator: " ")) failed: \(text)") }
    return text
}

/// A program in PATH; nil when it is not installed.
func findTool(_ name: String) -> String? {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
        .first { FileManager.default.isExecutableFile(atPath: $0) }
}

/// How many instructions a command takes, as valgrind counts them.
func instructions(_ valgrind: String, _ command: [String]) throws -> Double {
    let text = try output(
        of: [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"] + command, standardError: true)
    guard let line = text.split(separator: "\n").first(where: { $0.contains("Collected :") }),
        let count = line.split(separator: " ").last.flatMap({ Double($0) })
    else { throw BenchError("valgrind counted nothing: \(text)") }
    return count
}

/// Runs commands in turn through `runner`; each has to end well. One list of runs for each.
func runInTurn(_ runner: String, rounds: Int, _ commands: [[String]]) throws -> [[ProcessRun]] {
    let text = try output(of: [runner, "\(rounds)"] + commands.flatMap { $0 + ["--"] })
    var runs = commands.map { _ in [ProcessRun]() }
    for line in text.split(separator: "\n") {
        let fields = line.split(separator: " ").compactMap { Double($0) }
        guard fields.count == 5 else { throw BenchError("the runner said \(line)") }
        let command = Int(fields[0])
        guard fields[3] == 0 else { throw BenchError("\(commands[command].joined(separator: " ")) failed") }
        runs[command].append(ProcessRun(wallTime: fields[1], memory: fields[2], cpuTime: fields[4]))
    }
    guard runs.allSatisfy({ $0.count == rounds }) else { throw BenchError("the runner did not run every command") }
    return runs
}

/// Start-up and the pin of one certificate: both builds of `pinctl` against a minimal C program and the pipeline of
/// `openssl` commands that people use.
func startUp(_ tools: Tools, certificate: String, _ report: inout Report) throws {
    let pipeline =
        "openssl x509 -in '\(certificate)' -noout -pubkey | openssl pkey -pubin -outform der "
        + "| openssl dgst -sha256 -binary | openssl base64"
    let names = ["OpenSSL in C", "pinctl hash, static", "pinctl hash, dynamic", "pipeline of openssl commands"]
    let runs = try runInTurn(
        tools.runner, rounds: 41,
        [
            [tools.cHasher, certificate], [tools.staticPinctl, "hash", certificate],
            [tools.pinctl, "hash", certificate], ["sh", "-c", pipeline],
        ])
    let times = zip(names, runs).map { Times(name: $0, rounds: $1.map(\.wallTime)) }
    report.heading("Start, and the pin of one PEM certificate (wall time)")
    report.row(times[0].name, time(times[0].median))
    report.row(
        times[1].name, time(times[1].median),
        Target(measured: times[1].ratio(to: times[0]), unit: "times C", bound: .atMost, limit: 1.7))
    for build in times[1...2] {
        report.row(
            build.name, time(build.median),
            Target(measured: build.ratio(to: times[3]), unit: "of the pipeline", bound: .atMost, limit: 1.0 / 3))
    }
    report.row(times[3].name, time(times[3].median))
}

/// The labelled lines that `pinctl hash` prints of a bundle, beside the plain C loop, which hashes and prints none.
func labelledLines(_ tools: Tools, bundle: String, _ report: inout Report) throws {
    let count = Double(try swiftPins(bundle).count)
    let names = ["chunks, table base64, walk, C", "pinctl hash, dynamic", "pinctl hash, static"]
    let runs = try runInTurn(
        tools.runner, rounds: 7,
        [
            [CommandLine.arguments[0], "pins-c", bundle], [tools.pinctl, "hash", "--long", bundle],
            [tools.staticPinctl, "hash", "--long", bundle],
        ])
    let times = zip(names, runs).map { Times(name: $0, rounds: $1.map { $0.cpuTime / count }) }
    report.heading("A labelled line for each certificate of a PEM file of \(Int(count)) (CPU time of the process)")
    report.row(times[0].name, time(times[0].median))
    // 250,000 lines a second where the loop hashes a million. The clock of a shared machine changes by more than half
    // from one minute to the next, and the loop's speed changes with it.
    for contender in times.dropFirst() {
        let target = Target(
            measured: contender.ratio(to: times[0]), unit: "times the C loop", bound: .atMost, limit: 3)
        report.row(contender.name, "\(time(contender.median)), \(perSecond(contender.median)) a second", target)
    }
}

private func perSecond(_ nanoseconds: Double) -> String { decimal(1_000_000_000 / nanoseconds, 0) }

/// Time and memory over a large PEM file: the growth of the peak over the same command on one certificate.
func largeFile(_ tools: Tools, large: String, one: String, _ report: inout Report) throws {
    let commands = [
        ("pinctl hash", [tools.pinctl, "hash"]), ("CertificateFile, Swift", [CommandLine.arguments[0], "pins"]),
    ]
    let runs = try runInTurn(tools.runner, rounds: 5, commands.flatMap { [$0.1 + [large], $0.1 + [one]] })
    report.heading(
        "A PEM file of \(try swiftPins(large).count) certificates (wall time; peak memory over that for one)")
    for (index, command) in commands.enumerated() {
        let times = Times(name: command.0, rounds: runs[2 * index].map(\.wallTime))
        let growth = zip(runs[2 * index], runs[2 * index + 1]).map { ($0.memory - $1.memory) / 1024 }.max() ?? 0
        report.row(
            times.name, time(times.median), Target(measured: growth, unit: "MiB", bound: .atMost, limit: 8))
    }
}

/// The search of a tree for pins, beside ripgrep's for one pattern.
func searches(_ tools: Tools, _ report: inout Report) throws {
    guard let ripgrep = findTool("rg") else {
        return report.heading("SKIPPED: pinctl find beside ripgrep, which isn't installed")
    }
    for tree in ["/usr/include", "/usr/lib/python3", "/usr/share"] where FileManager.default.fileExists(atPath: tree) {
        // Both exit with 1 if they find nothing.
        let commands = [
            "\(ripgrep) --count 'sha256/[A-Za-z0-9+/]{43}=' \(tree)", "\(tools.staticPinctl) find \(tree)",
        ].map { ["sh", "-c", "\($0) >/dev/null 2>&1 || true"] }
        let runs = try runInTurn(tools.runner, rounds: 7, commands)
        let times = zip(["ripgrep, one pattern", "pinctl find, static"], runs).map {
            Times(name: $0, rounds: $1.map(\.wallTime))
        }
        report.heading("Pins in \(tree) (wall time)")
        report.row(times[0].name, time(times[0].median))
        report.row(
            times[1].name, time(times[1].median),
            Target(measured: times[1].ratio(to: times[0]), unit: "times ripgrep", bound: .atMost, limit: 2))
    }
}
