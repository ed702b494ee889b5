/// SMTP and LMTP (RFC 3207, RFC 2033): greeting, EHLO or LHLO, STARTTLS.
struct SMTPStartTLS: StartTLSMachine {
    private enum State { case greeting, extensions, goAhead }

    private let hello: [UInt8]
    private var state = State.greeting
    private var reply = NumberedReply.Reader()

    /// Creates a machine. `verb` is EHLO or LHLO. The client isn't a mail server, so it gives a reserved name (RFC
    /// 2606).
    init(greeting verb: String) { hello = Array("\(verb) pinctl.invalid\r\n".utf8) }

    var opening: StartTLSAction { .needMore }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        guard let reply = try reply.next(&input) else { return .needMore }
        switch state {
        case .greeting:
            guard reply.code == 220 else { throw .refused(reply.words) }
            state = .extensions
            return .send(hello)
        case .extensions:
            guard reply.code == 250 else { throw .refused(reply.words) }
            // The first line names the server.
            // mutant starttls-not-offered: true by StartTLSMachineTests
            guard reply.lines.dropFirst().contains(where: { $0.hasWord("STARTTLS") }) else { throw .notOffered }
            state = .goAhead
            return .send(Array("STARTTLS\r\n".utf8))
        case .goAhead:
            // mutant starttls-refused: true by StartTLSMachineTests
            guard reply.code == 220 else { throw .refused(reply.words) }
            return .upgrade
        }
    }
}

/// FTP (RFC 4217): greeting, AUTH TLS.
struct FTPStartTLS: StartTLSMachine {
    private var isGreeted = false
    private var reply = NumberedReply.Reader(isLoose: true)

    var opening: StartTLSAction { .needMore }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        while let reply = try reply.next(&input) {
            switch (isGreeted, reply.code) {
            // The service will be ready in some minutes, and another reply follows (RFC 959, section 5.4).
            case (false, 120): continue
            case (false, 220):
                isGreeted = true
                return .send(Array("AUTH TLS\r\n".utf8))
            case (true, 234): return .upgrade
            // The server doesn't support the command or its parameter.
            case (true, 500), (true, 502), (true, 504): throw .notOffered
            default: throw .refused(reply.words)
            }
        }
        return .needMore
    }
}

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
