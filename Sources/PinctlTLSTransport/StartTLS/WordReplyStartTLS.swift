/// IMAP (RFC 9051, section 6.2.1): greeting, CAPABILITY, STARTTLS.
struct IMAPStartTLS: StartTLSMachine {
    private enum State { case greeting, capabilities, goAhead }

    private var state = State.greeting
    private var isOffered = false

    var opening: StartTLSAction { .needMore }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        while let line = try input.takeLine() {
            let words = line.words
            guard let tag = words.first, let word = words.dropFirst().first else { throw .unexpected(line) }
            if tag.elementsEqual([0x2A]) {
                if word.hasWord("BYE") { throw .refused(line) }
                guard state == .greeting else {
                    if state == .capabilities, word.hasWord("CAPABILITY") {
                        isOffered = words.dropFirst(2).contains { $0.hasWord("STARTTLS") }
                    }
                    continue
                }
                // After PREAUTH, STARTTLS isn't possible any more, and an attacker on the path could have sent it.
                // mutant starttls-preauth: true by StartTLSMachineTests
                guard word.hasWord("OK") else { throw .refused(line) }
                state = .capabilities
                return .send(Array("a1 CAPABILITY\r\n".utf8))
            }
            switch state {
            case .capabilities where tag.hasWord("A1"):
                guard word.hasWord("OK") else { throw .refused(line) }
                guard isOffered else { throw .notOffered }
                state = .goAhead
                return .send(Array("a2 STARTTLS\r\n".utf8))
            case .goAhead where tag.hasWord("A2"):
                guard word.hasWord("OK") else { throw .refused(line) }
                return .upgrade
            default: throw .unexpected(line)
            }
        }
        return .needMore
    }
}

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

/// ManageSieve (RFC 5804, section 2.2): the server first lists its capabilities, then STARTTLS.
struct SieveStartTLS: StartTLSMachine {
    private var isAsked = false
    private var isOffered = false

    var opening: StartTLSAction { .needMore }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        while let line = try input.takeLine() {
            if line.hasWord("OK") {
                guard !isAsked else { return .upgrade }
                guard isOffered else { throw .notOffered }
                isAsked = true
                return .send(Array("STARTTLS\r\n".utf8))
            }
            if line.hasWord("NO") || line.hasWord("BYE") { throw .refused(line) }
            guard !isAsked, line.first == 0x22 else { throw .unexpected(line) }
            if line.hasWord("\"STARTTLS\"") { isOffered = true }
        }
        return .needMore
    }
}
