import CertificateTrust
import Foundation

/// The name that the measured chains are for.
let host = "bench.example.com"

/// Verifies a chain with the library again and again.
struct SwiftVerification {
    private let presented: PresentedChain
    private let name: ServerName
    private let store: TrustStore
    private let time = Date()

    init(chain: String, anchors: String) throws {
        let certificates = try CertificateFile.read(chain)
        presented = PresentedChain(leaf: certificates[0], intermediates: Array(certificates.dropFirst()))
        name = try ServerName(host)
        store = try TrustStore(files: [anchors])
    }

    func verify(times: Int) throws -> Int {
        for _ in 0..<times {
            _ = try ServerTrust(presented: presented, name: name, store: store).evaluate(at: time)
        }
        return times
    }
}

/// Verification over parsed certificates: the library against a C loop over `X509_verify_cert`, in time and, where
/// valgrind is installed, in instructions, which no neighbour on the machine disturbs.
func verification(_ name: String, _ folder: String, _ tools: Tools, _ report: inout Report) throws {
    let (chain, anchors) = (folder + "/chain.pem", folder + "/anchors.pem")
    let c = try CVerification(chain: chain, anchors: anchors)
    let swift = try SwiftVerification(chain: chain, anchors: anchors)
    let pieces = 10
    let times = try contest(
        [
            Contender("X509_verify_cert, C") { c.verify(host, times: pieces) },
            Contender("ServerTrust.evaluate, Swift") { try swift.verify(times: pieces) },
        ], pieces: pieces)
    var targets = [Target(measured: times[1].ratio(to: times[0]), unit: "of C", bound: .atMost, limit: 1.05)]
    if let valgrind = findTool("valgrind") {
        let counts = try ["verify-c", "verify-swift"].map { way in
            let counts = try [1, 51].map { times in
                try instructions(valgrind, [tools.strippedBench, way, chain, anchors, "\(times)"])
            }
            return counts[1] - counts[0]
        }
        targets.append(
            Target(measured: counts[1] / counts[0], unit: "of its instructions", bound: .atMost, limit: 1.02))
    }
    report.heading("Verification of a parsed chain: \(name)")
    report.row(times[0].name, time(times[0].median))
    report.row(times[1].name, time(times[1].median), targets)
}
