import CertificatePinning
import Testing

@testable import PinDialects

@Suite("Messages of programs that rejected a server")
struct RejectionMessageTests {
    private static let digest = "sha256/ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="

    struct Row: CustomTestStringConvertible, Sendable {
        let text: String
        let expected: String
        var testDescription: String { text }

        init(_ text: String, _ expected: String) { (self.text, self.expected) = (text, expected) }
    }

    /// The lines that the programs print, with the program, the cause and the host that they tell.
    static let rows = [
        Row("curl: (90) SSL: public key does not match pinned public key", "curl pins -"),
        Row("* SSL: public key does not match pinned public key!\n* Closing connection", "curl pins -"),
        Row(
            "fatal: unable to access 'https://git.test:8443/a.git/' with http.pinnedPubkey configuration: "
                + "SSL: public key does not match pinned public key!", "git pins git.test"),
        Row("The public key does not match pinned public key!", "wget pins -"),
        Row(
            "javax.net.ssl.SSLHandshakeException: java.security.cert.CertificateException: Pin verification failed",
            "Android pins -"),
        Row(
            "09-01 12:00:00 W/System.err: javax.net.ssl.SSLHandshakeException: Pin verification failed\n"
                + "  at https://pay.test/v1?token=x", "Android pins pay.test"),
        Row("=== TrustKit: Error: SSL Pin not found for api.test", "TrustKit pins api.test"),
        Row(
            "TrustKit log: Pin validation failed for api.test\nTask <1> finished with error [-999] Error "
                + "Domain=NSURLErrorDomain Code=-999 \"cancelled\" UserInfo={NSErrorFailingURLKey=https://b.test/}",
            "TrustKit pins api.test"),
        Row(
            "=== TrustKit: Error: default SSL validation failed for api.test: {\n TrustResultValue = 5;\n}",
            "TrustKit untrusted api.test"),
        Row("net::ERR_SSL_PINNED_KEY_NOT_IN_CERT_CHAIN at https://api.test/", "Cronet pins api.test"),
        Row(
            "Exception in CronetUrlRequest: net::ERR_CERT_AUTHORITY_INVALID, ErrorCode=11, "
                + "InternalErrorCode=-202, Retryable=false", "Cronet untrusted -"),
        Row("TLS error: Secret is not supplied: verify cert failed: cert hash and spki", "Envoy pins -"),
        Row(
            "aiohttp.client_exceptions.ServerFingerprintMismatch: <ServerFingerprintMismatch expected=b'a' got=b'b' "
                + "host='api.test' port=443>", "aiohttp pins api.test"),
        Row("curl: (60) SSL certificate problem: unable to get local issuer certificate", "curl untrusted -"),
        Row("curl: (60) SSL certificate problem: certificate has expired", "curl time -"),
        Row(
            "curl: (60) SSL: no alternative certificate subject name matches target host name 'b.test'",
            "curl name b.test"),
        Row(
            "curl: (60) SSL: no alternative certificate subject name matches target hostname '2001:db8::1'",
            "curl name 2001:db8::1"),
        Row(
            "ERROR: cannot verify a.test's certificate, issued by \u{2018}CN=a\u{2019}:\n  Self-signed certificate.",
            "wget untrusted a.test"),
        Row("The certificate's owner does not match hostname \u{2018}b.test\u{2019}", "wget name b.test"),
        Row(
            "fatal: unable to access 'https://a.test/': server certificate verification failed. CAfile: /x",
            "git untrusted a.test"),
        Row("Get \"https://api.test/\": x509: certificate signed by unknown authority", "Go untrusted api.test"),
        Row(
            "Get \"https://api.test/\": tls: failed to verify certificate: x509: certificate is valid for a.test, "
                + "b.test, not api.test", "Go name api.test"),
        Row(
            "x509: certificate has expired or is not yet valid: current time 2026-11-28T10:00:00Z is after 2026-01-01",
            "Go time -"),
        Row(
            "Error: unable to verify the first certificate { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }",
            "Node.js untrusted -"),
        Row(
            "Hostname/IP does not match certificate's altnames: Host: api.test. is not in the cert's altnames",
            "Node.js name api.test"),
        Row(
            "javax.net.ssl.SSLPeerUnverifiedException: Hostname api.test not verified:\n    certificate: \(digest)",
            "OkHttp name api.test"),
        Row(
            "java.security.cert.CertPathValidatorException: Trust anchor for certification path not found.",
            "Android untrusted -"),
        Row(
            "Error Domain=NSURLErrorDomain Code=-1202 \"The certificate for this server is invalid.\" "
                + "UserInfo={NSErrorFailingURLStringKey=https://api.test/v1}", "URLSession untrusted api.test"),
        Row(
            "Error Domain=NSURLErrorDomain Code=-999 \"cancelled\" UserInfo={NSErrorFailingURLKey=https://api.test/}",
            "URLSession cancelled api.test"),
        Row(
            "requests.exceptions.SSLError: HTTPSConnectionPool(host='api.test', port=443): Max retries exceeded "
                + "(Caused by SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate "
                + "verify failed: self-signed certificate (_ssl.c:1006)')))",
            "a program with OpenSSL or BoringSSL untrusted api.test"),
        Row(
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid "
                + "for 'b.test'. (_ssl.c:1006)", "Python name b.test"),
        Row(
            "HandshakeException: Handshake error in client (OS Error: CERTIFICATE_VERIFY_FAILED: unable to get local "
                + "issuer certificate(handshake.cc:393))", "a program with OpenSSL or BoringSSL untrusted -"),
    ]

    @Test("The message of each program has its cause, and the host if it is named", arguments: rows)
    func forms(row: Row) throws {
        let message = try #require(RejectionMessage(row.text))
        #expect("\(message.program) \(message.cause.rawValue) \(message.host ?? "-")" == row.expected)
        #expect(message.served.isEmpty && message.pinned.isEmpty)
        // Other lines around it change nothing.
        let log = RejectionMessage("starting up\n\(row.text)\nshutting down\n")
        #expect(log == message)
    }

    @Test(
        "Other failures aren't rejections of a server",
        arguments: [
            "", "curl: (6) Could not resolve host: api.test", "curl: (7) Failed to connect", "HTTP/1.1 403 Forbidden",
            "Wrong PIN: verification of the PIN failed", "NSURLErrorDomain Code=-1001 \"The request timed out.\"",
            "Certificate pinning failure!",
        ])
    func others(text: String) { #expect(RejectionMessage(text) == nil) }

    @Test("TrustKit's log has the chain from the root down, once for each connection")
    func trustKit() throws {
        let check = """
            === TrustKit: Checking certificate with CN: Test Root
            === TrustKit: Subject Public Key Info hash was found in the cache
            === TrustKit: Testing SSL Pin <00010203 04050607 08090a0b 0c0d0e0f 10111213 14151617 18191a1b 1c1d1e1f>
            === TrustKit: Checking certificate with CN: *.api.test
            === TrustKit: Testing SSL Pin <20212223 24252627 28292a2b 2c2d2e2f 30313233 34353637 38393a3b 3c3d3e3f>
            === TrustKit: Error: SSL Pin not found for api.test

            """
        let message = try #require(RejectionMessage(check + check + "=== TrustKit: Pin validation failed for api.test"))
        #expect(message.host == "api.test")
        #expect(message.served.map(\.subject) == ["CN=*.api.test", "CN=Test Root"])
        #expect(
            message.served.map { $0.pin.description } == [
                Self.digest, "sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
            ])
        let cut = try #require(RejectionMessage(check.replacing("3c3d3e3f>", with: "")))
        #expect(cut.served.map(\.subject) == ["CN=Test Root"])
    }

    @Test("openconnect's message has the server's key")
    func openconnect() throws {
        let text = """
            SSL negotiation with vpn.test
            Server certificate verify failed: signer not found
            None of the 1 fingerprint(s) specified via --servercert match server's certificate: pin-\(Self.digest.replacing("/", with: ":"))
            SSL connection failure: Error in the certificate.
            """
        let message = try #require(RejectionMessage(text))
        #expect(message.host == "vpn.test" && message.served.map { $0.pin.description } == [Self.digest])
    }
}
