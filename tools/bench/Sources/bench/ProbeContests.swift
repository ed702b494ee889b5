import Foundation

/// Servers on loopback, and the programs that ask them for their certificates.
struct ProbeField {
    /// Where `root.pem`, `anchors.pem` (the system's roots and this one) and the keys are.
    let directory: String
    /// The port of the servers at 127.0.1.1 and so on.
    let port: String
    let count: Int
    let runner: String
    let delay: String
    let pinctl: String

    /// The pin of the root, which every server's chain holds.
    let pin: String

    init(directory: String, port: String, count: Int, runner: String, delay: String, pinctl: String) throws {
        self.directory = directory
        self.port = port
        self.count = count
        self.runner = runner
        self.delay = delay
        self.pinctl = pinctl
        pin = try output(of: [pinctl, "hash", "\(directory)/root.pem"]).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// A file of targets in one of the networks.
    func targets(_ network: Int, _ count: Int, _ name: String) throws -> String {
        let lines = (1...count).map { "127.0.\(network).\($0):\(port)" }
        return try file(lines, name)
    }

    /// So many targets of different names, at the same servers over and over.
    func named(_ count: Int) throws -> String {
        try file((0..<count).map { "h\($0).bench.test:\(port)@127.0.1.\($0 % self.count + 1)" }, "named")
    }

    private func file(_ lines: [String], _ name: String) throws -> String {
        let path = "\(directory)/\(name)"
        try (lines.joined(separator: "\n") + "\n").write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    func check(_ targets: String, anchors: String, atOnce: Int = 64) -> [String] {
        [pinctl, "check", "--first", "--ca-file", "\(directory)/\(anchors)", "--pin", pin, "--jobs", "\(atOnce)"]
            + ["--targets", targets]
    }

    func curl(_ addresses: String, anchors: String, atOnce: Int = 64) -> [String] {
        ["curl", "--silent", "--no-progress-meter", "--head", "--parallel", "--parallel-immediate", "--parallel-max"]
            + ["\(atOnce)", "--cacert", "\(directory)/\(anchors)", "--output", "/dev/null"]
            + ["https://\(addresses):\(port)/"]
    }
}

/// All servers at once, by one process of each program.
func manyServers(_ field: ProbeField, anchors: String, _ report: inout Report) throws {
    let targets = try field.targets(1, field.count, "targets")
    let runs = try runInTurn(
        field.runner, rounds: 7,
        [
            field.check(targets, anchors: anchors),
            field.curl("127.0.1.[1-\(field.count)]", anchors: anchors),
        ])
    let ours = Times(name: "pinctl check --pin", rounds: runs[0].map(\.wallTime))
    let curl = Times(name: "curl --parallel", rounds: runs[1].map(\.wallTime))
    let roots = anchors == "root.pem" ? "one root" : "the system's roots"
    report.heading("\(field.count) servers, 64 at a time, \(roots) (wall)")
    report.row(curl.name, time(curl.median))
    report.row(
        ours.name, time(ours.median),
        Target(measured: ours.ratio(to: curl), unit: "of curl", bound: .atMost, limit: 0.45))
}

/// A few servers, by the scanners and by the pipeline of `openssl` commands that people paste, which are slower.
func scanners(_ field: ProbeField, sslyze: String?, _ report: inout Report) throws {
    let count = 20
    let targets = try field.targets(1, count, "few")
    let pipeline =
        "openssl s_client -connect $0 -CAfile '\(field.directory)/anchors.pem' </dev/null 2>/dev/null | openssl x509 "
        + "-noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | openssl base64"
    var contenders: [(name: String, command: [String])] = [
        ("pinctl check --pin", field.check(targets, anchors: "anchors.pem")),
        (
            "pipeline of openssl commands, 64 at a time",
            ["xargs", "-a", targets, "-P", "64", "-n", "1", "sh", "-c", pipeline]
        ),
    ]
    if findTool("sslscan") != nil {
        contenders.append(
            (
                "sslscan, certificates alone",
                [
                    "sslscan", "--targets=\(targets)", "--no-ciphersuites", "--no-renegotiation", "--no-compression",
                    "--no-heartbleed", "--no-groups", "--no-fallback", "--show-certificate",
                ]
            ))
    }
    if let sslyze {
        contenders.append(("sslyze --certinfo", [sslyze, "--certinfo", "--quiet", "--targets_in", targets]))
    }
    let runs = try runInTurn(field.runner, rounds: 5, contenders.map(\.command))
    report.heading("\(count) servers, their pins or certificates (wall)")
    let times = zip(contenders, runs).map { Times(name: $0.name, rounds: $1.map(\.wallTime)) }
    report.row(times[0].name, time(times[0].median))
    for other in times.dropFirst() {
        report.row(
            other.name, time(other.median),
            Target(measured: other.ratio(to: times[0]), unit: "times pinctl", bound: .atLeast, limit: 1))
    }
    if findTool("sslscan") == nil { report.row("sslscan", "SKIPPED", "it is not installed") }
    if sslyze == nil { report.row("sslyze", "SKIPPED", "it is not installed") }
}

/// One server, where starting is most of it.
func oneServer(_ field: ProbeField, _ report: inout Report) throws {
    let target = "127.0.1.1:\(field.port)"
    let runs = try runInTurn(
        field.runner, rounds: 21,
        [
            [
                field.pinctl, "check", "--first", "--ca-file", "\(field.directory)/anchors.pem", "--pin", field.pin,
                target,
            ],
            field.curl("127.0.1.1", anchors: "anchors.pem", atOnce: 1),
        ])
    let ours = Times(name: "pinctl check --pin", rounds: runs[0].map(\.wallTime))
    let curl = Times(name: "curl", rounds: runs[1].map(\.wallTime))
    report.heading("One server, the system's roots (wall)")
    report.row(curl.name, time(curl.median))
    report.row(
        ours.name, time(ours.median),
        Target(measured: ours.ratio(to: curl), unit: "of curl", bound: .atMost, limit: 1.2))
}

/// Servers that are 40 ms away: the ideal is a round trip for each server, as many at a time as are allowed.
func farServers(_ field: ProbeField, _ report: inout Report) throws {
    let (roundTrip, atOnce) = (40, 16)
    let relay = Process()
    relay.executableURL = URL(fileURLWithPath: field.delay)
    relay.arguments = ["\(roundTrip / 2)", field.port, "\(field.count)"]
    let (input, listening) = (Pipe(), Pipe())
    relay.standardInput = input
    relay.standardOutput = listening
    try relay.run()
    defer {
        try? input.fileHandleForWriting.close()
        relay.waitUntilExit()
    }
    guard !listening.fileHandleForReading.availableData.isEmpty else { throw BenchError("the relay does not listen") }
    let targets = try field.targets(2, field.count, "far")
    let runs = try runInTurn(
        field.runner, rounds: 5,
        [
            field.check(targets, anchors: "anchors.pem", atOnce: atOnce),
            field.curl("127.0.2.[1-\(field.count)]", anchors: "anchors.pem", atOnce: atOnce),
        ])
    let ours = Times(name: "pinctl check --pin", rounds: runs[0].map(\.wallTime))
    let curl = Times(name: "curl --parallel", rounds: runs[1].map(\.wallTime))
    let ideal = Double((field.count + atOnce - 1) / atOnce * roundTrip) * 1_000_000
    report.heading("\(field.count) servers \(roundTrip) ms away, \(atOnce) at a time; ideal \(time(ideal)) (wall)")
    report.row(curl.name, time(curl.median))
    report.row(
        ours.name, time(ours.median),
        Target(measured: ours.median / ideal, unit: "of the ideal", bound: .atMost, limit: 1.2))
}

/// What many targets take of memory.
func manyTargets(_ field: ProbeField, _ report: inout Report) throws {
    let count = 2_000
    let targets = try field.named(count)
    let runs = try runInTurn(field.runner, rounds: 5, [field.check(targets, anchors: "anchors.pem", atOnce: 256)])
    let memory = runs[0].map { $0.memory / 1024 }.max() ?? 0
    report.heading("\(count) targets, 256 at a time (wall time; peak memory)")
    report.row(
        "pinctl check --pin", time(Times(name: "", rounds: runs[0].map(\.wallTime)).median),
        Target(measured: memory, unit: "MiB", bound: .atMost, limit: 64))
}
