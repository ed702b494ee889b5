import CertificateTrust
import Foundation

/// The name that the measured chains are for.
let host = "bench.example.com"

/// What a verification starts from.
enum ChainForm: String {
    /// Certificates that are parsed once.
    case parsed
    /// Bytes, parsed each time.
    case der
    /// Bytes of leaves that one CA signed, each verified once with the same store, which remembers the CA.
    case siblings
    /// Bytes of a chain that was verified before with the same store, which remembers its signatures.
    case again
}

/// Verifies a chain again and again.
protocol Verification: Sendable {
    init(chain: String, anchors: String) throws
    /// Returns how often it was found good.
    func verify(_ form: ChainForm, times: Int) throws -> Int
}

/// The library's.
struct SwiftVerification: Verification {
    private let presented: PresentedChain
    private let ders: [[UInt8]]
    /// Chains that differ in the leaf.
    private let siblings: [[[UInt8]]]
    private let name: ServerName
    private let store: TrustStore
    private let time = Date()

    init(chain: String, anchors: String) throws {
        let certificates = try CertificateFile.read(chain)
        let leaves = URL(fileURLWithPath: chain).deletingLastPathComponent().appendingPathComponent("leaves.pem").path
        // Only the chains of tools/bench/run have siblings.
        let others = FileManager.default.fileExists(atPath: leaves) ? try CertificateFile.read(leaves) : []
        siblings = others.map { [$0.derBytes] + certificates.dropFirst().map(\.derBytes) }
        presented = PresentedChain(leaf: certificates[0], intermediates: Array(certificates.dropFirst()))
        ders = certificates.map(\.derBytes)
        name = try ServerName(host)
        store = try TrustStore(files: [anchors])
    }

    func verify(_ form: ChainForm, times: Int) throws -> Int {
        var used = store
        let chains = form == .siblings ? siblings : [ders]
        guard !chains.isEmpty else { throw BenchError("leaves.pem is missing beside the chain") }
        for number in 0..<times {
            // The same anchors, in a store that remembers nothing yet.
            if form != .again, number.isMultiple(of: chains.count) { used = TrustStore(combining: [store]) }
            let presented =
                try form == .parsed ? presented : PresentedChain(derCertificates: chains[number % chains.count])
            _ = try ServerTrust(presented: presented, name: name, store: used).evaluate(at: time)
        }
        return times
    }
}

/// A chain in files, leaf first, and anchors that it leads to.
struct MeasuredChain {
    let name: String
    let chain: String
    let anchors: String

    func open() throws -> (c: CVerification, swift: SwiftVerification) {
        (try CVerification(chain: chain, anchors: anchors), try SwiftVerification(chain: chain, anchors: anchors))
    }
}

extension MeasuredChain {
    init(_ kind: String, in directory: String) {
        self.init(
            name: kind + ", one intermediate", chain: "\(directory)/\(kind)/chain.pem",
            anchors: "\(directory)/\(kind)/anchors.pem")
    }
}

/// Verification on one thread: the library against a C loop over `X509_verify_cert`, in time and, where valgrind is
/// installed, in instructions, which no neighbour on the machine disturbs.
func verification(_ chain: MeasuredChain, _ form: ChainForm, _ tools: Tools, _ report: inout Report) throws {
    let (c, swift) = try chain.open()
    let pieces = 10
    var contenders = [
        Contender("X509_verify_cert, C") { c.verify(form, times: pieces) },
        Contender("ServerTrust.evaluate, Swift") { try swift.verify(form, times: pieces) },
    ]
    if form == .der {
        contenders += [
            Contender("the same, \(pieces) leaves of one CA") { try swift.verify(.siblings, times: pieces) },
            Contender("the same, verified before") { try swift.verify(.again, times: pieces) },
        ]
    }
    let ours = contenders.count
    let peers = form == .der ? tools.peers : []
    let times = try contest(
        contenders, pieces: pieces, others: peers.map { peer in (peer.name, { try peer.verification(chain) }) })
    var targets = [Target(measured: times[1].ratio(to: times[0]), unit: "of C", bound: .atMost, limit: 1.05)]
    if let valgrind = findTool("valgrind") {
        let counts = try ["verify-c", "verify-swift"].map { way in
            let counts = try [1, 51].map { times in
                try instructions(
                    valgrind,
                    [tools.strippedBench, way, form.rawValue, chain.chain, chain.anchors, "\(times)"])
            }
            return counts[1] - counts[0]
        }
        targets.append(
            Target(measured: counts[1] / counts[0], unit: "of its instructions", bound: .atMost, limit: 1.02))
    }
    report.heading("Verification of a chain \(form == .der ? "from DER" : "that is parsed"): \(chain.name)")
    report.row(times[0].name, time(times[0].median))
    report.row(times[1].name, time(times[1].median), targets)
    guard form == .der else { return }
    let fastest = times[ours...].min { $0.median < $1.median }
    for (times, limit) in zip(times[2..<ours], [0.8, 0.5]) {
        if let fastest {
            report.row(
                times.name, time(times.median),
                Target(measured: times.ratio(to: fastest), unit: "of the fastest peer", bound: .atMost, limit: limit))
        } else {
            report.row(times.name, time(times.median))
        }
    }
    for peer in times[ours...] { report.row(peer.name, time(peer.median)) }
}
