import PinctlBasics

/// The connections of the programs that a service judges.
struct JudgedConnections: Sendable {
    private struct Peer: Hashable {
        let process: UInt32?
        let address: String?
        let port: UInt16?
    }

    /// The connections of a process to a peer.
    private struct Record {
        var program = ""
        /// The number of those that were reported and may have been used.
        var attempts = 0
        var isJudged = false
    }

    /// Texts with their numbers, in order.
    struct Lines: Sendable {
        private(set) var all: [(text: String, count: Int)] = []
        private var indexes: [String: Int] = [:]

        /// Counts a text. Returns whether it is new.
        fileprivate mutating func add(_ text: String) -> Bool {
            if let index = indexes[text] {
                all[index].count += 1
                return false
            }
            guard all.count < JudgedConnections.limit else { return true }
            indexes[text] = all.count
            all.append((text, 1))
            return true
        }
    }

    /// The refusals, and the servers that were accepted only because a rule doesn't enforce its pins.
    private(set) var refusals = Lines()
    private(set) var reports = Lines()
    private(set) var acceptedCount = 0
    private(set) var refusedCount = 0
    /// The number of accepted connections to servers whose names aren't known.
    private(set) var unnamedCount = 0
    /// The processes into which the guard was loaded.
    private(set) var started: Set<UInt32> = []
    /// The programs whose connections the guard can't see.
    private(set) var unguarded = Lines()
    private var records: [Peer: Record] = [:]
    /// The verdicts of processes on connections whose peers aren't known.
    private var portless: [UInt32?: Int] = [:]
    /// Whether there were more peers than are kept, so that some connections aren't known.
    private(set) var isCut = false

    /// The number of different texts and peers that are kept.
    static let limit = 10_000

    /// Notes an event. Returns the line to print at once, if any.
    mutating func note(_ event: VerdictService.Event) -> String? {
        switch event {
        case .started(let message):
            if let process = message.process, started.count < Self.limit { started.insert(process) }
        case .unguarded(let message):
            _ = unguarded.add(message.program.map(visibleText) ?? "a program")
        case .connected(let message):
            change(message) { record in
                record.attempts += 1
                record.program = message.source
            }
        case .unused(let message):
            let peer = Peer(process: message.process, address: message.address, port: message.port)
            if let record = records[peer], record.attempts > 0 { records[peer]?.attempts -= 1 }
        case .judged(let question, let answer):
            if question.port == nil {
                if portless[question.process] != nil || portless.count < Self.limit {
                    portless[question.process, default: 0] += 1
                }
            } else {
                change(question) { $0.isJudged = true }
            }
            return note(question, answer)
        case .malformed(let reason): return "refused a malformed question: \(reason)"
        }
        return nil
    }

    private mutating func note(_ question: VerdictMessage, _ answer: VerdictAnswer) -> String? {
        let text = "\(question.server) for \(question.source): \(answer.reason)"
        guard answer.isAccepted else {
            refusedCount += 1
            return refusals.add("refused \(text)") ? "refused \(text)" : nil
        }
        acceptedCount += 1
        if answer.isNameless { unnamedCount += 1 }
        return answer.isReported && reports.add("reported \(text)") ? "reported \(text)" : nil
    }

    /// Changes the record of a message's peer. When there are too many, those without an unjudged connection go.
    private mutating func change(_ message: VerdictMessage, _ body: (inout Record) -> Void) {
        let peer = Peer(process: message.process, address: message.address, port: message.port)
        if records[peer] == nil, records.count >= Self.limit, !isCut {
            records = records.filter { !$1.isJudged && $1.attempts > 0 }
            // If most are left, each further one would look at all again.
            isCut = records.count >= Self.limit / 2
        }
        // mutant unseen-limit: true by JudgedConnectionsTests/limits
        guard records[peer] != nil || !isCut else { return }
        body(&records[peer, default: Record()])
    }

    /// The connections without a verdict, each as `ADDRESS:PORT by PROGRAM`.
    ///
    /// A verdict without a port counts for one of its process.
    var unseen: [String] {
        var portless = portless
        let unseen = records.sorted { ($0.key.address ?? "") < ($1.key.address ?? "") }.filter { peer, record in
            // mutant unseen-connection: false for `!record.isJudged` by JudgedConnectionsTests
            guard record.attempts > 0, !record.isJudged else { return false }
            guard let count = portless[peer.process], count >= record.attempts else { return true }
            portless[peer.process] = count - record.attempts
            return false
        }
        return unseen.map { peer, record in
            let address = peer.address ?? "an unknown address"
            let place = address.contains(":") ? "[\(address)]" : address
            return "\(visibleText(place))\(peer.port.map { ":\($0)" } ?? "") by \(record.program)"
        }.sorted()
    }

    /// The line about connections that aren't known, if any.
    var cut: String? {
        guard isCut else { return nil }
        return "others, which aren't known because there were more than \(grouped(Self.limit / 2)) without a verdict"
    }
}
