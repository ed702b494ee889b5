/// MySQL and MariaDB (Client/Server Protocol, Connection Phase): the server's greeting, then an SSLRequest that nobody
/// answers.
struct MySQLStartTLS: StartTLSMachine {
    var opening: StartTLSAction { .needMore }

    /// Bytes of a greeting; real ones have about a hundred.
    private static let limit = 4096

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction {
        let head = Array(input.bytes.prefix(4))
        guard head.count == 4 else { return .needMore }
        let length = Int(head[0]) | Int(head[1]) << 8 | Int(head[2]) << 16
        guard (1...Self.limit).contains(length), head[3] == 0 else { throw .strange(input.bytes) }
        guard let packet = input.take(4 + length) else { return .needMore }
        let payload = packet.dropFirst(4)
        switch payload.first {
        case 0x0A: break
        // An error packet: too many connections, a host that is blocked.
        case 0xFF: throw .refused(payload.dropFirst(3))
        default: throw .strange(payload)
        }
        // Version, NUL, thread 4, salt 8, filler 1, and the lower half of the capabilities.
        guard let end = payload.firstIndex(of: 0) else { throw .strange(payload) }
        let capabilities = Array(payload[(end + 1)...].dropFirst(13).prefix(2))
        guard capabilities.count == 2 else { throw .strange(payload) }
        // CLIENT_SSL is bit 11.
        guard capabilities[1] & 0x08 != 0 else { throw .notOffered }
        return .sendAndUpgrade(Self.request)
    }

    /// 32 bytes, the second packet: CLIENT_PROTOCOL_41, CLIENT_SSL, CLIENT_SECURE_CONNECTION and CLIENT_PLUGIN_AUTH; the
    /// largest packet, 16 MiB; utf8mb4; 23 bytes of nothing.
    private static let request: [UInt8] =
        [32, 0, 0, 1, 0x00, 0x8A, 0x08, 0x00, 0, 0, 0, 1, 45] + [UInt8](repeating: 0, count: 23)
}
