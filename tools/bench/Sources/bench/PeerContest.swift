/// The programs that verify with other libraries, each with the arguments in front of its own.
struct Peer {
    let name: String
    let command: [String]

    /// Returns the CPU time of a verification from DER by another library, which has cryptography of its own, in
    /// nanoseconds: that of all its threads.
    func verification(_ chain: MeasuredChain) throws -> Double {
        let text = try output(of: command + [chain.chain, chain.anchors, host, "20"])
        guard let nanoseconds = Double(text.split(separator: "\n").first ?? "") else {
            throw BenchError("\(name) said \(text)")
        }
        return nanoseconds
    }
}
