import PinctlTestPKI
import PinnedNetworking

/// pyspnego as an acceptor of NTLM behind Python's HTTP server, over TLS with channel bindings or without TLS. Its one
/// user is `reader` in `DOM`. A page answers with the user of the connection.
struct NTLMPeer: Sendable {
    let port: UInt16
    private let daemon: TestDaemon

    static let password = "open sesame"

    /// `endPoint` is the digest that clients have to bind their answer to; nil starts a server without TLS.
    init(_ site: PeerSite, endPoint: [UInt8]?) async throws {
        let directory = site.directory.path
        port = TestDaemon.freePorts(1)[0]
        _ = try site.directory.add("DOM:reader:\(Self.password)\n", name: "ntlm.users")
        _ = try site.directory.add(Self.script, name: "acceptor.py")
        let hex = (endPoint ?? []).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        daemon = try await TestDaemon(
            [
                "env", "NTLM_USER_FILE=\(directory)/ntlm.users", PeerProgram.pyspnego.path, directory + "/acceptor.py",
                String(port), hex, directory + "/origin.pem", directory + "/origin.key",
            ], ports: [port])
    }

    private static let script = """
        import base64, http.server, socketserver, ssl, sys, spnego
        from spnego.channel_bindings import GssChannelBindings

        port, digest, certificate, key = int(sys.argv[1]), bytes.fromhex(sys.argv[2]), sys.argv[3], sys.argv[4]
        bindings = GssChannelBindings(application_data=b"tls-server-end-point:" + digest) if digest else None

        class Page(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            user = context = None

            def say(self, status, text, *fields):
                self.send_response(status)
                for name, value in fields:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def do_GET(self):
                login = self.headers.get("Authorization", "")
                challenge = "NTLM"
                if login.startswith("NTLM "):
                    if self.context is None or self.context.complete:
                        self.context = spnego.server(protocol="ntlm", channel_bindings=bindings)
                    try:
                        token = self.context.step(base64.b64decode(login[5:]))
                        if self.context.complete:
                            self.user = self.context.client_principal
                        elif token:
                            challenge += " " + base64.b64encode(token).decode()
                    except Exception as error:
                        print(repr(error), flush=True)
                        self.context = self.user = None
                if self.user:
                    self.say(200, self.user)
                else:
                    self.say(401, "log in", ("WWW-Authenticate", challenge))

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Page)
        if digest:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        server.serve_forever()

        """
}
