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
