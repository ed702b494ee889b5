import CertificateTrust
import Foundation

/// A chain that is meant to make an evaluation slow or large, as `mint` writes them.
private struct WorstCase {
    let name: String
    let host: ServerName
    let time: Date
    let presented: [[UInt8]]
    let store: TrustStore
    let evidence: RevocationEvidence
    let revocation: RevocationMode

    init(file: String) throws {
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count > 3, let seconds = Double(lines[2]) else { throw BenchError("\(file) is no chain") }
        func objects(_ kind: String) -> [[UInt8]] {
            lines.dropFirst(3).filter { $0.hasPrefix(kind) }
                .map { Array(Data(base64Encoded: String($0.dropFirst(kind.count))) ?? Data()) }
        }
        name = String(lines[0])
        host = try ServerName(String(lines[1]))
        time = Date(timeIntervalSince1970: seconds)
        presented = objects("presented ")
        store = TrustStore(certificates: try objects("anchor ").map { try X509Certificate(derBytes: $0) })
        evidence = RevocationEvidence(
            lists: try objects("list ").map { try CertificateRevocationList(derBytes: $0) },
            stapledOCSP: objects("staple ").first)
        revocation = evidence.lists.isEmpty && evidence.stapledOCSP == nil ? .ignore : .use
    }

    /// Evaluates the chain from DER, and refuses every path, so that all of them are looked for.
    func evaluate(_ policy: TrustPolicy) {
        guard let chain = try? PresentedChain(derCertificates: presented) else { return }
        var policy = policy
        policy.revocation = revocation
        let trust = ServerTrust(presented: chain, name: host, store: store, policy: policy, revocation: evidence)
        _ = try? trust.evaluate(at: time, accepting: { _ in false })
    }
}

/// What one evaluation takes: CPU time in nanoseconds, and how far the peak of the resident set rises, in KiB. To be
/// called once a process, since freed memory is used again.
func worstCase(file: String, profile: String, ordinary: MeasuredChain) throws -> String {
    let chain = try WorstCase(file: file)
    // What is made once a process, by OpenSSL above all.
    _ = try SwiftVerification(chain: ordinary.chain, anchors: ordinary.anchors).verify(.der, times: 1)
    trimMemory()
    // Lowers the peak to what is resident now (proc(5)).
    try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    let (memory, start) = (try peakMemory(), cpuTime())
    chain.evaluate(profile == "strict" ? .strict : .default)
    return "\(cpuTime() - start) \(try peakMemory() - memory) \(chain.name)"
}

/// KiB.
private func peakMemory() throws -> Double {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
        let size = line.split(separator: " ").dropLast().last.flatMap({ Double($0) })
    else { throw BenchError("/proc/self/status has no VmHWM") }
    return size
}

/// Evaluations of chains that are meant to be slow or large, every path refused, in both profiles: the costliest ones.
func worstCases(_ directory: String, ordinary: MeasuredChain, _ report: inout Report) throws {
    struct Cost {
        var name = ""
        /// Milliseconds.
        var time = 0.0
        /// MiB.
        var memory = 0.0
    }
    let files = try FileManager.default.contentsOfDirectory(atPath: directory).map { "\(directory)/\($0)" }
    let costs = try files.flatMap { file in
        try ["default", "strict"].map { profile in
            let command = [
                CommandLine.arguments[0], "worst-case", file, profile, ordinary.chain, ordinary.anchors,
            ]
            let fields = try output(of: command).split(separator: " ", maxSplits: 2)
            guard fields.count == 3, let time = Double(fields[0]), let memory = Double(fields[1]) else {
                throw BenchError("\(file) was not measured")
            }
            let name = fields[2].split(separator: "\n").first.map(String.init) ?? ""
            return Cost(name: "\(profile): \(name)", time: time / 1_000_000, memory: memory / 1024)
        }
    }
    report.heading("Evaluations of \(files.count) chains that are meant to be slow or large, in both profiles")
    for cost in costs.sorted(by: { $0.time > $1.time }).prefix(8) {
        report.row(
            cost.name, "\(decimal(cost.memory, 1)) MiB",
            Target(measured: cost.time, unit: "ms", bound: .atMost, limit: 250))
    }
    for cost in costs.sorted(by: { $0.memory > $1.memory }).prefix(4) {
        report.row(
            cost.name, time(cost.time * 1_000_000),
            Target(measured: cost.memory, unit: "MiB", bound: .atMost, limit: 32))
    }
}
