/// TLS messages built byte by byte, for server behaviour that OpenSSL doesn't offer.
enum RawTLS {
    /// Returns a plaintext record (RFC 8446, section 5.1).
    static func record(_ contents: [UInt8], type: UInt8 = 22) -> [UInt8] {
        [type, 3, 3, UInt8(contents.count >> 8), UInt8(contents.count & 0xFF)] + contents
    }

    /// Returns a handshake message, which may claim a false length.
    static func message(_ type: UInt8, _ contents: [UInt8], claiming count: Int? = nil) -> [UInt8] {
        let count = count ?? contents.count
        return [type, UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)] + contents
    }

    /// Returns a ServerHello of TLS 1.2 or earlier, with an empty renegotiation_info (RFC 5246, section 7.4.1.3; RFC
    /// 5746).
    static func serverHello(
        version: UInt16 = 0x0303, suite: UInt16 = 0xC02B, compression: UInt8 = 0, extension added: [UInt8] = []
    ) -> [UInt8] {
        let random = (0..<32).map { _ in UInt8.random(in: 0...255) }
        let extensions = [0xFF, 1, 0, 1, 0] + added
        let start = [UInt8(version >> 8), UInt8(version & 0xFF)] + random + [0]
        let choice = [UInt8(suite >> 8), UInt8(suite & 0xFF), compression]
        return record(message(2, start + choice + [0, UInt8(extensions.count)] + extensions))
    }
}
