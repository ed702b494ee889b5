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
