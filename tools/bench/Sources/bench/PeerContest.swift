/// The programs that verify with other libraries, each with the arguments in front of its own.
struct Peer {
    let name: String
    let command: [String]
}

/// Verification from DER by other libraries, which have cryptography of their own: for comparison, without a target.
/// The CPU time of all their threads.
func peerVerification(_ chain: MeasuredChain, _ peers: [Peer], _ report: Report) throws {
    for peer in peers {
        let text = try output(of: peer.command + [chain.chain, chain.anchors, host, "100"])
        guard let nanoseconds = Double(text.split(separator: "\n").first ?? "") else {
            throw BenchError("\(peer.name) said \(text)")
        }
        report.row(peer.name, time(nanoseconds))
    }
}
