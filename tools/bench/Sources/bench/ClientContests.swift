import Foundation

/// A server on loopback, and the clients that are measured against it.
struct ClientField {
    enum Security { case http, https }

    /// Where the server's files are: `root.pem`, `anchors.pem` (the system's roots and this one), `policy.json`.
    let directory: String
    /// Addresses of the server. At the last one a connection serves one request, and no session is resumed.
    let http, https, closing: String
    let runner: String
    let client: String
    /// The client without symbols: valgrind gives up over Swift's.
    let strippedClient: String
    /// The same requests through Foundation's `URLSession`.
    let foundationClient: String

    /// Requests by `curl`, one process.
    func curl(_ count: Int, atOnce: Int = 1, _ address: String, anchors: String) -> [String] {
        ["curl", "--silent", "--no-progress-meter", "--cacert", "\(directory)/\(anchors)", "--output", "/dev/null"]
            + (atOnce == 1 ? [] : ["--parallel", "--parallel-immediate", "--parallel-max", "\(atOnce)"])
            + ["\(address)/five?[1-\(count)]"]
    }

    /// Requests by this project's `URLSession`, one process.
    func ours(
        _ count: Int, atOnce: Int = 1, _ address: String, anchors: String, pinned: Bool, stripped: Bool = false
    ) -> [String] {
        [stripped ? strippedClient : client, "requests", "\(count)", "\(atOnce)", "\(address)/five"]
            + ["\(directory)/\(anchors)"] + (pinned ? ["\(directory)/policy.json"] : [])
    }

    /// Requests by Foundation's `URLSession`, one process; nil when it cannot be made to trust the server.
    func foundation(_ count: Int, atOnce: Int, _ security: Security) -> [String]? {
        let address = security == .http ? http : https
        func command(_ count: Int) -> [String] {
            [foundationClient, "requests", "\(count)", "\(atOnce)", "\(address)/five"]
        }
        guard security == .https else { return command(count) }
        // It trusts the system's file alone. Another one is put there, for this process only.
        guard let unshare = findTool("unshare") else { return nil }
        let script = "mount --bind \"$0\" /etc/ssl/certs/ca-certificates.crt && exec \"$@\""
        let trusting =
            [unshare, "--user", "--map-root-user", "--mount", "sh", "-c", script, "\(directory)/root.pem"]
        return (try? output(of: trusting + command(1))) == nil ? nil : trusting + command(count)
    }
}

/// The processor time of a request on a connection that is kept, and the requests a second, from the start of a process
/// to its end.
func requests(_ security: ClientField.Security, atOnce: Int, _ field: ClientField, _ report: inout Report) throws {
    // Each takes a second or two.
    let counts = (ours: 20_000, foundation: 2_000)
    let address = security == .http ? field.http : field.https
    let foundation = field.foundation(counts.foundation, atOnce: atOnce, security)
    let runs = try runInTurn(
        field.runner, rounds: 7,
        [
            field.ours(counts.ours, atOnce: atOnce, address, anchors: "root.pem", pinned: security == .https),
            field.curl(counts.ours, atOnce: atOnce, address, anchors: "root.pem"),
        ] + (foundation.map { [$0] } ?? []))
    func times(_ name: String, _ runs: [ProcessRun], _ count: Int) -> Times {
        Times(name: name, rounds: runs.map { $0.cpuTime / Double(count) })
    }
    func figures(_ times: Times, _ runs: [ProcessRun], _ count: Int) -> String {
        let wall = Times(name: times.name, rounds: runs.map { $0.wallTime / Double(count) })
        return "\(time(times.median)), \(decimal(1_000_000_000 / wall.median, 0)) /s"
    }
    let ours = times("PinnedNetworking", runs[0], counts.ours)
    let curl = times("curl", runs[1], counts.ours)

    report.heading(
        "A request with \(security == .http ? "HTTP" : "HTTPS, pinned here alone"), \(atOnce) at a time "
            + "(CPU time; requests a second)")
    report.row(curl.name, figures(curl, runs[1], counts.ours))
    report.row(
        ours.name, figures(ours, runs[0], counts.ours),
        Target(measured: ours.ratio(to: curl), unit: "of curl", bound: .atMost, limit: 1))
    guard foundation != nil else {
        return report.row("FoundationNetworking", "SKIPPED", "it cannot be made to trust a certificate here")
    }
    let peer = times("FoundationNetworking", runs[2], counts.foundation)
    report.row(peer.name, figures(peer, runs[2], counts.foundation))
    report.row(
        ours.name, figures(ours, runs[0], counts.ours),
        Target(measured: peer.ratio(to: ours), unit: "times Foundation", bound: .atLeast, limit: 3))
}

/// What a new connection costs that trusts a file of the usual size.
func newConnections(_ field: ClientField, _ report: inout Report) throws {
    let counts = (ours: 400, curl: 50)
    let runs = try runInTurn(
        field.runner, rounds: 7,
        [
            field.ours(counts.ours, field.closing, anchors: "anchors.pem", pinned: true),
            field.curl(counts.curl, field.closing, anchors: "anchors.pem"),
        ])
    let ours = Times(name: "PinnedNetworking, pinned", rounds: runs[0].map { $0.cpuTime / Double(counts.ours) })
    let curl = Times(name: "curl --cacert", rounds: runs[1].map { $0.cpuTime / Double(counts.curl) })
    report.heading("A new TLS connection for a request, with the system's roots and one more (CPU time)")
    report.row(curl.name, time(curl.median))
    report.row(
        ours.name, time(ours.median),
        Target(measured: ours.ratio(to: curl), unit: "of curl", bound: .atMost, limit: 0.05))
}

/// What a policy of three pins adds to a new connection, in instructions: it is less than what neighbours on the
/// machine disturb.
func pinsOfHandshake(_ field: ClientField, _ report: inout Report) throws {
    report.heading("A policy of three pins, over a new TLS connection without (instructions)")
    guard let valgrind = findTool("valgrind") else { return report.row("pins", "SKIPPED", "valgrind is not installed") }
    let connections = 50
    let counts = try [false, true].map { pinned in
        let counts = try [1, 1 + connections].map { count in
            try instructions(
                valgrind,
                field.ours(count, field.closing, anchors: "anchors.pem", pinned: pinned, stripped: true))
        }
        return (counts[1] - counts[0]) / Double(connections)
    }
    report.row("without", "\(decimal(counts[0], 0))")
    report.row(
        "pinned", "\(decimal(counts[1], 0))",
        Target(measured: (counts[1] / counts[0] - 1) * 100, unit: "% more", bound: .atMost, limit: 1))
}

/// How far the peak of the resident set rises over a body of 100 MB, the most of some runs.
func streams(_ field: ClientField, _ report: inout Report) throws {
    report.heading("A body of 100 MB with HTTPS, streamed (wall time; rise of the peak memory)")
    for way in [(name: "AsyncBytes", word: "bytes"), (name: "URLSessionDataDelegate", word: "delegate")] {
        var times = Times(name: way.name)
        var growth = 0.0
        for _ in 0..<5 {
            let start = DispatchTime.now()
            let text = try output(of: [field.client, way.word, "\(field.https)/large", "\(field.directory)/root.pem"])
            times.rounds.append(Double(DispatchTime.now().uptimeNanoseconds - start.uptimeNanoseconds))
            let fields = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
            guard fields.count == 2, fields[1] == 100_000_000 else { throw BenchError("the client said \(text)") }
            growth = max(growth, fields[0] / 1024)
        }
        report.row(
            times.name, time(times.median), Target(measured: growth, unit: "MiB", bound: .atMost, limit: 8))
    }
}
