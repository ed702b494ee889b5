/// The programs that verify with other libraries, each with the arguments in front of its own.
struct Peer {
    let name: String
    let command: [String]
}

/// Returns the CPU time of a verification from DER by other libraries, which have cryptography of their own: that of all
/// their threads.
func peerVerification(_ chain: MeasuredChain, _ peers: [Peer]) throws -> [(name: String, nanoseconds: Double)] {
    try peers.map { peer in
        let text = try output(of: peer.command + [chain.chain, chain.anchors, host, "100"])
        guard let nanoseconds = Double(text.split(separator: "\n").first ?? "") else {
            throw BenchError("\(peer.name) said \(text)")
        }
        return (peer.name, nanoseconds)
    }
}
