import CPinctlLinux
import Synchronization

/// One login by SPNEGO with Kerberos (RFC 4178, RFC 4559). Tokens are exchanged until both sides have authenticated.
/// Nothing is delegated to the server.
///
/// Every call may block for as long as a key distribution center takes. Only one call at a time is allowed, and a
/// second one throws an error.
// Unchecked Sendable: only the call that set `isBusy` uses the handles.
@safe package final class SecurityContext: @unchecked Sendable {
    /// The source of the tickets.
    package enum Credential: Sendable {
        /// The user's own tickets, from the default credential cache (`kinit`).
        case tickets
        case password(user: String, password: String)
    }

    private let library: GSSLibrary
    private let serverEndPoint: [UInt8]?
    private let isBusy = Atomic(false)
    private var target: UnsafeMutableRawPointer?
    private var credential: UnsafeMutableRawPointer?
    private var context: UnsafeMutableRawPointer?
    private var isDone = false

    /// The object identifiers of SPNEGO and Kerberos 5 (RFC 4178, RFC 1964) and of the name types in use (RFC 2744,
    /// section 4), as contents octets in DER.
    private static let spnego: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x02]
    private static let kerberos: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02]
    private static let hostService: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x01, 0x04]
    private static let userName: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x01, 0x01]

    /// `GSS_C_MUTUAL_FLAG` only. `GSS_C_DELEG_FLAG` would forward the tickets.
    private static let flags: UInt32 = 2
    /// `GSS_C_INITIATE`.
    private static let initiates: CInt = 1
    private static let continues: UInt32 = 1

    /// Prepares a login as `credential` at the HTTP service of a host. `serverEndPoint` binds it to a TLS connection
    /// (RFC 5929).
    package init(
        host: String, credential: Credential, serverEndPoint: [UInt8]?
    ) throws(GSSError) {
        library = try GSSLibrary.system.get()
        self.serverEndPoint = serverEndPoint
        unsafe target = try name("HTTP@\(host)", Self.hostService)
        try acquire(credential)
    }

    deinit {
        var minor: UInt32 = 0
        unsafe _ = library.deleteContext(&minor, &context, nil)
        unsafe _ = library.releaseCredential(&minor, &credential)
        unsafe _ = library.releaseName(&minor, &target)
    }

    /// Takes the server's token, nil at first, and returns the next token to send, or nil if there is none.
    ///
    /// `isDone` means that the server has authenticated and no further tokens are expected.
    package func next(_ token: [UInt8]?) throws(GSSError) -> (token: [UInt8]?, isDone: Bool) {
        guard !isBusy.exchange(true, ordering: .acquiring) else { throw .unexpectedToken }
        defer { isBusy.store(false, ordering: .releasing) }
        guard !isDone else { throw .unexpectedToken }
        var minor: UInt32 = 0
        var output = unsafe CLinux_gss_buffer()
        var major: UInt32 = 0
        unsafe Self.withBuffer(token) { input in
            unsafe Self.withBindings(serverEndPoint) { bindings in
                unsafe Self.withIdentifier(Self.spnego) { mechanism in
                    major = unsafe library.initiate(
                        &minor, credential, &context, target, mechanism, Self.flags, 0, bindings, input, nil, &output,
                        nil, nil)
                }
            }
        }
        let bytes = unsafe [UInt8](UnsafeRawBufferPointer(start: output.value, count: output.length))
        var ignored: UInt32 = 0
        unsafe _ = library.releaseBuffer(&ignored, &output)
        guard major == 0 || major == Self.continues else {
            throw .refused(words(major, minor))
        }
        isDone = major == 0
        return (bytes.isEmpty ? nil : bytes, isDone)
    }

    // MARK: Handles

    private func acquire(_ wanted: Credential) throws(GSSError) {
        var (major, minor): (UInt32, UInt32) = (0, 0)
        var user: UnsafeMutableRawPointer?
        if case .password(let text, _) = wanted { unsafe user = try name(text, Self.userName) }
        defer {
            var ignored: UInt32 = 0
            unsafe _ = library.releaseName(&ignored, &user)
        }
        unsafe Self.withIdentifier(Self.spnego) { spnego in
            var mechanisms = unsafe CLinux_gss_oid_set(count: 1, elements: spnego)
            switch wanted {
            case .tickets:
                major = unsafe library.acquire(
                    &minor, nil, UInt32.max, &mechanisms, Self.initiates, &credential, nil, nil)
            case .password(_, let password):
                unsafe Self.withBuffer(Array(password.utf8)) { password in
                    major = unsafe library.acquireWithPassword(
                        &minor, user, password, UInt32.max, &mechanisms, Self.initiates, &credential, nil, nil)
                }
            }
        }
        guard major == 0 else { throw .noCredential(words(major, minor)) }
        // Offer Kerberos only. Other installed mechanisms, such as NTLM through GSSAPI, are left out.
        unsafe Self.withIdentifier(Self.kerberos) { kerberos in
            var mechanisms = unsafe CLinux_gss_oid_set(count: 1, elements: kerberos)
            major = unsafe library.setMechanisms(&minor, credential, &mechanisms)
        }
        guard major == 0 else { throw .noCredential(words(major, minor)) }
    }

    private func name(_ text: String, _ kind: [UInt8]) throws(GSSError) -> UnsafeMutableRawPointer? {
        var (major, minor): (UInt32, UInt32) = (0, 0)
        var name: UnsafeMutableRawPointer?
        unsafe Self.withBuffer(Array(text.utf8)) { text in
            unsafe Self.withIdentifier(kind) { kind in
                major = unsafe library.importName(&minor, text, kind, &name)
            }
        }
        guard major == 0 else { throw .refused(words(major, minor)) }
        return unsafe name
    }

    /// Returns the library's text for both codes, on one line.
    private func words(_ major: UInt32, _ minor: UInt32) -> String {
        // GSS_C_GSS_CODE and GSS_C_MECH_CODE.
        [(major, 1), (minor, 2)].compactMap { (code, kind: CInt) in
            guard code != 0 else { return nil }
            var (ignored, more): (UInt32, UInt32) = (0, 0)
            var text = unsafe CLinux_gss_buffer()
            let done = unsafe library.displayStatus(&ignored, code, kind, nil, &more, &text)
            defer { unsafe _ = library.releaseBuffer(&ignored, &text) }
            guard done == 0 else { return "code \(code)" }
            let bytes = unsafe UnsafeRawBufferPointer(start: text.value, count: text.length)
            return unsafe String(decoding: bytes, as: UTF8.self)
        }.joined(separator: ": ")
    }

    // MARK: C structures

    private static func withBuffer(_ bytes: [UInt8]?, _ body: (UnsafeMutablePointer<CLinux_gss_buffer>?) -> Void) {
        guard var bytes else { return body(nil) }
        unsafe bytes.withUnsafeMutableBytes { bytes in
            var buffer = unsafe CLinux_gss_buffer(length: bytes.count, value: bytes.baseAddress)
            unsafe body(&buffer)
        }
    }

    private static func withIdentifier(_ bytes: [UInt8], _ body: (UnsafeMutablePointer<CLinux_gss_oid>) -> Void) {
        var bytes = bytes
        unsafe bytes.withUnsafeMutableBytes { bytes in
            var identifier = unsafe CLinux_gss_oid(
                length: UInt32(truncatingIfNeeded: bytes.count), elements: bytes.baseAddress)
            unsafe body(&identifier)
        }
    }

    private static func withBindings(
        _ serverEndPoint: [UInt8]?, _ body: (UnsafeMutablePointer<CLinux_gss_bindings>?) -> Void
    ) {
        guard let serverEndPoint else { return body(nil) }
        unsafe withBuffer(Array("tls-server-end-point:".utf8) + serverEndPoint) { data in
            var bindings = unsafe CLinux_gss_bindings()
            if let data = unsafe data { unsafe bindings.application_data = unsafe data.pointee }
            unsafe body(&bindings)
        }
    }
}
