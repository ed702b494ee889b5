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
