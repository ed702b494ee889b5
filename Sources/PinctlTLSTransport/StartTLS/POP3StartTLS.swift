/// POP3 (RFC 2595, section 4): greeting, CAPA, STLS.
struct POP3StartTLS: StartTLSMachine {
    private enum State { case greeting, capabilities, list, goAhead }

    private var state = State.greeting
    private var isOffered = false

    var opening: StartTLSAction { .needMore }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        while let line = try input.takeLine() {
            let isGood = line.hasWord("+OK")
            guard isGood || line.hasWord("-ERR") || state == .list else { throw .unexpected(line) }
            switch state {
            case .greeting:
                guard isGood else { throw .refused(line) }
                state = .capabilities
                return .send(Array("CAPA\r\n".utf8))
            case .capabilities:
                // A server older than RFC 2449 has no capability list.
                guard isGood else { return ask() }
                state = .list
            case .list:
                if line.elementsEqual([0x2E]) {
                    guard isOffered else { throw .notOffered }
                    return ask()
                }
                if line.hasWord("STLS") { isOffered = true }
            case .goAhead:
                guard isGood else { throw .refused(line) }
                return .upgrade
            }
        }
        return .needMore
    }

    private mutating func ask() -> StartTLSAction {
        state = .goAhead
        return .send(Array("STLS\r\n".utf8))
    }
}
