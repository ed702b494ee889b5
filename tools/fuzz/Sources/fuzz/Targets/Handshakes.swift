import CertificateTrust

@testable import OpenSSLBridge
@testable import PinctlTestPKI

extension FuzzTarget {
    /// Handshakes with a server in this process, whose records a script changes, drops, repeats and adds to, and what
    /// the server sends after them. No handshake ends well without an acceptance or with a changed record, and what is
    /// read is what the server wrote.
    static let handshakes = FuzzTarget(name: "handshakes") { bytes in
        var script = Script(bytes)
        let kind = script.number(below: 8)
        let answer = script.element(of: TrustAnswer.all)
        guard let context = serverContexts[kind % serverContexts.count], let server = try? MemoryServer(context),
            let engine = try? TLSClientEngine(
                context: clientContext, serverName: "a.test", applicationProtocols: ["http/1.1"],
                requestsStaple: kind & 1 == 1)
        else { preconditionFailure("no server or no client") }
        var client = ScriptedClient(engine: engine, answer: answer)
        guard kind < 7 else {
            // Bytes of the script alone, behind the ClientHello.
            client.run()
            client.receive(script.bytes(.max), isGenuine: false)
            return precondition(!client.isEstablished, "a handshake with nobody")
        }
        client.run()
        for _ in 0..<8 {
            let output = engine.takeOutput()
            let records = TLSRecords(server.exchange(output)).all
            guard !records.isEmpty else { break }
            for record in records { client.deliver(record, &script) }
        }
        let expected = Array(repeating: UInt8(ascii: "x"), count: 1 + script.number(below: 256)) + [0, 1, 2, 3]
        for record in TLSRecords(server.write(expected)).all + TLSRecords(server.write(expected)).all {
            client.deliver(record, &script)
        }
        client.finish(expected + expected)
    }

    private static let clientContext: TLSContext = {
        do { return try TLSContext() } catch { preconditionFailure("no context: \(error)") }
    }()

    private static let serverContexts: [TLSServerContext?] = {
        func context(_ adjust: (inout LoopbackServer.Settings) -> Void) -> TLSServerContext? {
            guard let site = try? TestSite("a.test") else { return nil }
            var settings = LoopbackServer.Settings()
            settings.chain = site.chain.map(\.derBytes)
            settings.key = site.leaf.key
            settings.applicationProtocols = ["http/1.1"]
            adjust(&settings)
            return try? TLSServerContext(settings)
        }
        return [
            context { _ in },
            context { $0.protocolVersions = .tls12 ... .tls12 },
            context { $0.clientAuthentication = LoopbackServer.ClientAuthentication() },
            context {
                $0.protocolVersions = .tls12 ... .tls12
                $0.resumption = .none
                $0.staple = [0x30, 3, 10, 1, 6]
            },
            // A group without a key share, so that the server asks for another ClientHello.
            context { $0.groups = "P-384" },
            context { $0.recordLimit = 512 },
            context {
                $0.timestamps = [0, 3, 0, 1, 7]
                $0.staple = [0x30, 3, 10, 1, 6]
            },
        ]
    }()
}

/// The answer about the server's certificate.
private enum TrustAnswer: Sendable {
    case accept, refuse, none

    static let all: [TrustAnswer] = [.accept, .accept, .refuse, .none]
}

/// The records of a stream.
private struct TLSRecords {
    var all: [[UInt8]] = []

    init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while rest.count >= 5 {
            let count = 5 + Int(rest[rest.startIndex + 3]) << 8 + Int(rest[rest.startIndex + 4])
            all.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
    }
}

/// A client that answers as the script says, with an account of what it was told.
private struct ScriptedClient {
    let engine: TLSClientEngine
    let answer: TrustAnswer
    private(set) var isEstablished = false
    private var hasAccepted = false
    private var hasFailed = false
    /// Whether everything so far is as the server sent it.
    private var isGenuine = true
    /// Whether a byte inside a handshake message or a protected record is another.
    private var isTampered = false
    private var received: [UInt8] = []

    init(engine: TLSClientEngine, answer: TrustAnswer) {
        self.engine = engine
        self.answer = answer
    }

    /// Delivers a record, or something else instead.
    mutating func deliver(_ record: [UInt8], _ script: inout Script) {
        var changed = record
        switch script.number(below: 10) {
        case 1:
            let position = (script.number(below: 256) << 8 | script.number(below: 256)) % record.count
            let mask = script.byte()
            changed[position] ^= mask
            // A change of cipher and an alert may be ignored, and so may the version in a record's header.
            if mask != 0, position >= 5, record[0] == 22 || record[0] == 23 { isTampered = true }
            receive(changed, isGenuine: mask == 0)
        case 2: isGenuine = false
        case 3:
            receive(record, isGenuine: true)
            receive(record, isGenuine: false)
        case 4:
            isGenuine = false
            receive(Array(record.prefix(script.number(below: 256))), isGenuine: false)
        case 5:
            receive(script.bytes(script.number(below: 64)), isGenuine: false)
            receive(record, isGenuine: true)
        case 6:
            for start in stride(from: 0, to: record.count, by: 7) {
                receive(Array(record[start..<min(start + 7, record.count)]), isGenuine: true)
            }
        case 7:
            // A record of the script's own, with a header that is in order.
            let contents = script.bytes(script.number(below: 64))
            let header: [UInt8] = [20 + script.byte() % 5, 3, 3, 0, UInt8(contents.count)]
            receive(header + contents, isGenuine: false)
            receive(record, isGenuine: true)
        default: receive(record, isGenuine: true)
        }
    }

    mutating func receive(_ bytes: [UInt8], isGenuine: Bool) {
        if !isGenuine, !bytes.isEmpty { self.isGenuine = false }
        guard (try? engine.feed(bytes.span)) != nil else { return }
        run()
    }

    /// Goes as far as possible.
    mutating func run() {
        while !isEstablished, !hasFailed {
            switch engine.step() {
            case .wantsInput: return
            case .askTrust:
                precondition(!hasAccepted, "it asks twice")
                precondition(!engine.presentedCertificates.isEmpty, "nothing to ask about")
                switch answer {
                case .accept:
                    engine.accept()
                    hasAccepted = true
                case .refuse: engine.refuse()
                case .none: return
                }
            case .askIdentity:
                _ = engine.requestedIssuers
                guard (try? engine.identify(as: nil)) != nil else { return }
            case .established:
                precondition(hasAccepted, "established without an acceptance")
                precondition(!isTampered, "established after a change on the way")
                isEstablished = true
            case .closed, .failed: hasFailed = true
            }
            describe()
        }
        precondition(!hasFailed || (try? engine.write([1].span)) == nil, "written after a failure")
        guard isEstablished else {
            if case .bytes = engine.read() { preconditionFailure("plaintext before the handshake's end") }
            return
        }
        while case .bytes(let bytes) = engine.read() { received += bytes }
    }

    private func describe() {
        _ = (engine.version, engine.cipherSuite, engine.group, engine.applicationProtocol)
        _ = (engine.staple, engine.timestamps, engine.isEmpty, engine.session())
    }

    /// Checks what was read against what the server wrote.
    func finish(_ expected: [UInt8]) {
        precondition(expected.starts(with: received), "read what the server didn't write: \(received)")
        if isGenuine, answer == .accept {
            precondition(isEstablished && received == expected, "an untouched handshake failed")
        }
    }
}
