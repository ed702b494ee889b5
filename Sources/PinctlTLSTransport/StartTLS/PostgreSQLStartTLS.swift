/// PostgreSQL (Frontend/Backend Protocol, section SSL Session Encryption): SSLRequest, answered with one byte.
struct PostgreSQLStartTLS: StartTLSMachine {
    /// SSLRequest: length 8, then 1234 and 5679 in place of a protocol version.
    var opening: StartTLSAction { .send([0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F]) }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        switch input.bytes.first {
        case nil: return .needMore
        case UInt8(ascii: "S"):
            _ = input.take(1)
            return .upgrade
        case UInt8(ascii: "N"): throw .notOffered
        case UInt8(ascii: "E"): return try error(&input)
        default: throw .unexpected(input.bytes)
        }
    }

    /// Reads an ErrorResponse: E, a length, and fields that consist of one letter and a text.
    private func error(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        let head = input.bytes.prefix(5)
        guard head.count == 5 else { return .needMore }
        let length = head.dropFirst().reduce(0) { $0 << 8 | Int($1) }
        guard (4...StartTLSInput.lineLimit).contains(length) else { throw .unexpected(input.bytes) }
        guard let message = input.take(1 + length) else { return .needMore }
        let fields = message.dropFirst(5).split(separator: 0)
        throw .refused((fields.first { $0.first == UInt8(ascii: "M") } ?? fields.first ?? []).dropFirst())
    }
}
