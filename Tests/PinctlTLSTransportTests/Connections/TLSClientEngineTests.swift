import OpenSSLBridge
import Testing

@Suite struct TLSClientEngineTests {
    private let engine: TLSClientEngine

    init() throws {
        engine = try TLSClientEngine(
            context: try TLSContext(), serverName: "api.example.test", applicationProtocols: ["http/1.1"])
    }

    @Test("The first step makes a ClientHello with the name and the protocol, and waits for input")
    func clientHello() {
        #expect(engine.step() == .wantsInput)
        let hello = engine.takeOutput()
        // A handshake record with the version of TLS 1.0, for old middleboxes (RFC 8446, section 5.1).
        #expect(hello.starts(with: [22, 3, 1]))
        for text in ["api.example.test", "http/1.1"] {
            #expect(hello.indices.contains { hello[$0...].starts(with: Array(text.utf8)) })
        }
        #expect(engine.outputCount == 0 && engine.takeOutput().isEmpty)
        #expect(engine.step() == .wantsInput)
    }

    @Test("An acceptance before the certificate arrives has no effect")
    func acceptedTooEarly() {
        engine.accept()
        #expect(engine.step() == .wantsInput)
        #expect(engine.presentedCertificates.isEmpty)
        #expect(throws: OpenSSLError.self) { try engine.write([1].span) }
    }

    @Test("Nothing is written or read before the handshake is done")
    func dataTooEarly() {
        #expect(throws: OpenSSLError.self) { try engine.write([1].span) }
        #expect(engine.takeOutput().isEmpty)
        guard case .failed = engine.read() else {
            Issue.record("read without a handshake")
            return
        }
    }

    @Test(
        "Bytes that aren't TLS fail, and continue to fail",
        arguments: [
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
            [UInt8](repeating: 0, count: 64),
            // A record that claims 65,535 bytes.
            [22, 3, 3, 0xFF, 0xFF] + [UInt8](repeating: 1, count: 16),
            // An empty ServerHello.
            [22, 3, 3, 0, 4, 2, 0, 0, 0],
        ])
    func garbage(bytes: [UInt8]) throws {
        #expect(engine.step() == .wantsInput)
        try engine.feed(bytes.span)
        for _ in 0..<2 {
            guard case .failed = engine.step() else {
                Issue.record("garbage was taken for TLS")
                return
            }
        }
    }

    @Test("A fatal alert is reported as the reason")
    func alert() throws {
        #expect(engine.step() == .wantsInput)
        try engine.feed([21, 3, 3, 0, 2, 2, 40].span)
        guard case .failed(let error) = engine.step() else {
            Issue.record("the alert was not noticed")
            return
        }
        #expect(error.reason.contains("handshake failure"))
    }
}
