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
    /// The number of accepted connections to servers whose names aren't known.
    private(set) var unnamedCount = 0
    /// The processes into which the guard was loaded.
    private(set) var started: Set<UInt32> = []
    private var attempts: [Peer: (count: Int, program: String)] = [:]
    private var judged: [Peer: Int] = [:]
    /// Whether there were more peers than are kept, so that some connections aren't known.
    private var isCut = false

    /// The number of different texts and peers that are kept.
    static let limit = 10_000

    /// Notes an event. Returns the line to print at once, if any.
    mutating func note(_ event: VerdictService.Event) -> String? {
        switch event {
        case .started(let message):
            if let process = message.process, started.count < Self.limit { started.insert(process) }
        case .connected(let message):
            let peer = Peer(process: message.process, address: message.address, port: message.port)
            guard attempts[peer] != nil || attempts.count < Self.limit else {
                isCut = true
                return nil
            }
            attempts[peer, default: (0, message.source)].count += 1
        case .judged(let question, let answer):
            let peer = Peer(process: question.process, address: question.address, port: question.port)
            if judged[peer] != nil || judged.count < Self.limit { judged[peer, default: 0] += 1 }
            guard !answer.isAccepted else {
                acceptedCount += 1
                if answer.isNameless { unnamedCount += 1 }
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
        var portless: [UInt32?: Int] = [:]
        for (peer, count) in judged where peer.port == nil { portless[peer.process, default: 0] += count }
        let ports = Set(judged.keys.map { Peer(process: $0.process, address: nil, port: $0.port) })
        let unseen = attempts.sorted { ($0.key.address ?? "") < ($1.key.address ?? "") }.filter { peer, attempt in
            // mutant unseen-connection: false for `judged[peer] == nil` by JudgedConnectionsTests
            guard judged[peer] == nil, !ports.contains(Peer(process: peer.process, address: nil, port: peer.port))
            else { return false }
            guard let count = portless[peer.process], count >= attempt.count else { return true }
            portless[peer.process] = count - attempt.count
            return false
        }
        return unseen.map { peer, attempt in
            let address = peer.address ?? "an unknown address"
            let place = address.contains(":") ? "[\(address)]" : address
            return "\(visibleText(place))\(peer.port.map { ":\($0)" } ?? "") by \(attempt.program)"
        }.sorted() + (isCut ? ["others, because there were more than \(grouped(Self.limit)) different ones"] : [])
    }
}
