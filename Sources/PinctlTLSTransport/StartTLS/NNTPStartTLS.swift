/// NNTP (RFC 4642): greeting, CAPABILITIES, STARTTLS.
struct NNTPStartTLS: StartTLSMachine {
    private enum State { case greeting, capabilities, list, goAhead }

    private var state = State.greeting
    private var isOffered = false
    private var reply = NumberedReply.Reader()

    var opening: StartTLSAction { .needMore }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        if state == .list { return try list(&input) }
        guard let reply = try reply.next(&input) else { return .needMore }
        switch (state, reply.code) {
        case (.greeting, 200), (.greeting, 201):
            state = .capabilities
            return .send(Array("CAPABILITIES\r\n".utf8))
        case (.capabilities, 101):
            state = .list
            return try list(&input)
        // A server older than RFC 3977 has no capability list.
        case (.capabilities, 500): return ask()
        case (.goAhead, 382): return .upgrade
        case (.goAhead, 500), (.goAhead, 503): throw .notOffered
        default: throw .refused(reply.words)
        }
    }

    private mutating func list(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        while let line = try input.takeLine() {
            if line.elementsEqual([0x2E]) {
                guard isOffered else { throw .notOffered }
                return ask()
            }
            if line.hasWord("STARTTLS") { isOffered = true }
        }
        return .needMore
    }

    private mutating func ask() -> StartTLSAction {
        state = .goAhead
        return .send(Array("STARTTLS\r\n".utf8))
    }
}
