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
