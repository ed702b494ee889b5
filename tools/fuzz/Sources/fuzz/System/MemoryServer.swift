import CPinctlOpenSSL

@testable import PinctlTestPKI

/// The server's side of one TLS connection, without a socket.
@safe final class MemoryServer {
    private let session: OpaquePointer
    // Owned by `session`.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private(set) var isEstablished = false

    init(_ context: TLSServerContext) throws {
        guard let session = unsafe SSL_new(context.pointer), let incoming = unsafe BIO_new(BIO_s_mem()),
            let outgoing = unsafe BIO_new(BIO_s_mem())
        else { throw TestPKIError.openSSL("SSL_new") }
        unsafe SSL_set_bio(session, incoming, outgoing)
        unsafe SSL_set_accept_state(session)
        unsafe self.session = session
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
    }

    deinit { unsafe SSL_free(session) }

    /// Takes what the client sent, and goes as far with it as possible. Returns what it sends.
    func exchange(_ bytes: [UInt8]) -> [UInt8] {
        if !bytes.isEmpty { unsafe BIO_write(incoming, bytes, CInt(bytes.count)) }
        ERR_clear_error()
        if !isEstablished, unsafe SSL_do_handshake(session) == 1 { isEstablished = true }
        if isEstablished {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while unsafe SSL_read(session, &buffer, CInt(buffer.count)) > 0 {}
        }
        ERR_clear_error()
        return output()
    }

    /// Encrypts plaintext. Returns what it sends, which is nothing before the handshake is done.
    func write(_ plaintext: [UInt8]) -> [UInt8] {
        guard isEstablished else { return [] }
        ERR_clear_error()
        var written = 0
        _ = unsafe SSL_write_ex(session, plaintext, plaintext.count, &written)
        ERR_clear_error()
        return output()
    }

    private func output() -> [UInt8] {
        let count = unsafe BIO_ctrl_pending(outgoing)
        guard count > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        let read = unsafe BIO_read(outgoing, &bytes, CInt(count))
        return Array(bytes.prefix(max(0, Int(read))))
    }
}
