import PinctlBasics

/// The connections of the programs that a service judges.
struct JudgedConnections: Sendable {
    private struct Peer: Hashable {
        let process: UInt32?
        let address: String?
        let port: UInt16?
    }

    /// The refusals in order, each with its number.
    private(set) var refusals: [(text: String, count: Int)] = []
    private(set) var acceptedCount = 0
    private(set) var refusedCount = 0
    /// The number of accepted connections to servers without a name or a rule.
    private(set) var unnamedCount = 0
    /// The processes into which the guard was loaded.
    private(set) var started: Set<UInt32> = []
    private var attempts: [Peer: (count: Int, program: String)] = [:]
    private var judged: [Peer: Int] = [:]
    private var judgedPorts: Set<Peer> = []

    /// The number of different texts and peers that are kept.
    private static let limit = 10_000

    /// Notes an event. Returns the line to print at once, if any.
    mutating func note(_ event: VerdictService.Event) -> String? {
        switch event {
        case .started(let message):
            if let process = message.process, started.count < Self.limit { started.insert(process) }
        case .connected(let message):
            let peer = Peer(process: message.process, address: message.address, port: message.port)
            guard attempts[peer] != nil || attempts.count < Self.limit else { return nil }
            attempts[peer, default: (0, message.source)].count += 1
        case .judged(let question, let answer):
            if judged.count < Self.limit {
                judged[Peer(process: question.process, address: question.address, port: question.port), default: 0] += 1
                judgedPorts.insert(Peer(process: question.process, address: nil, port: question.port))
            }
            guard !answer.isAccepted else {
                acceptedCount += 1
                if question.host == nil, question.address == nil { unnamedCount += 1 }
                return nil
            }
            refusedCount += 1
            let text = "refused \(question.server) for \(question.source): \(answer.reason)"
            if let index = refusals.firstIndex(where: { $0.text == text }) {
                refusals[index].count += 1
                return nil
            }
            if refusals.count < Self.limit { refusals.append((text, 1)) }
            return text
        case .malformed(let reason): return "refused a malformed question: \(reason)"
        }
        return nil
    }

    /// The connections without a verdict, each as `ADDRESS:PORT by PROGRAM`.
    ///
    /// A client that tries several addresses of a server connects more often than it is judged. An attempt therefore
    /// counts as judged if the same process was judged at the same port. A verdict without a port counts for one.
    var unseen: [String] {
        var portless = judged.filter { $0.key.port == nil }.reduce(into: [:] as [UInt32?: Int]) { counts, entry in
            counts[entry.key.process, default: 0] += entry.value
        }
        return attempts.sorted { ($0.key.address ?? "") < ($1.key.address ?? "") }.filter { peer, attempt in
            // mutant unseen-connection: false for `judged[peer] == nil` by JudgedConnectionsTests
            guard judged[peer] == nil, !judgedPorts.contains(Peer(process: peer.process, address: nil, port: peer.port))
            else { return false }
            guard let count = portless[peer.process], count >= attempt.count else { return true }
            portless[peer.process] = count - attempt.count
            return false
        }.map { peer, attempt in
            let address = peer.address ?? "an unknown address"
            let place = address.contains(":") ? "[\(address)]" : address
            return "\(visibleText(place))\(peer.port.map { ":\($0)" } ?? "") by \(attempt.program)"
        }.sorted()
    }
}
