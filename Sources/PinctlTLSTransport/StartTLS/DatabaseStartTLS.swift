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

/// MySQL and MariaDB (Client/Server Protocol, Connection Phase): the server's greeting, then an SSLRequest, which gets
/// no reply.
struct MySQLStartTLS: StartTLSMachine {
    var opening: StartTLSAction { .needMore }

    /// The largest greeting that is read, in bytes. Real ones have about a hundred.
    private static let limit = 4096

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        let head = Array(input.bytes.prefix(4))
        guard head.count == 4 else { return .needMore }
        let length = Int(head[0]) | Int(head[1]) << 8 | Int(head[2]) << 16
        guard (1...Self.limit).contains(length), head[3] == 0 else { throw .unexpected(input.bytes) }
        guard let packet = input.take(4 + length) else { return .needMore }
        let payload = packet.dropFirst(4)
        switch payload.first {
        case 0x0A: break
        // An error packet, such as too many connections or a blocked host.
        case 0xFF: throw .refused(payload.dropFirst(3))
        default: throw .unexpected(payload)
        }
        // Version, NUL, 4 bytes of thread ID, 8 of salt, 1 of filler, and the lower half of the capabilities.
        guard let end = payload.firstIndex(of: 0) else { throw .unexpected(payload) }
        let capabilities = Array(payload[(end + 1)...].dropFirst(13).prefix(2))
        guard capabilities.count == 2 else { throw .unexpected(payload) }
        // CLIENT_SSL is bit 11.
        guard capabilities[1] & 0x08 != 0 else { throw .notOffered }
        return .sendAndUpgrade(Self.request)
    }

    /// The second packet, 32 bytes: CLIENT_PROTOCOL_41, CLIENT_SSL, CLIENT_SECURE_CONNECTION and CLIENT_PLUGIN_AUTH,
    /// the maximum packet size of 16 MiB, utf8mb4, and 23 zero bytes.
    private static let request: [UInt8] =
        [32, 0, 0, 1, 0x00, 0x8A, 0x08, 0x00, 0, 0, 0, 1, 45] + [UInt8](repeating: 0, count: 23)
}
