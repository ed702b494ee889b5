import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// The extension signed_certificate_timestamp (RFC 6962, section 3.3.1).
@Suite("Timestamps in the TLS extension", .timeLimit(.minutes(10)))
struct TimestampExtensionTests {
    private static let list: [UInt8] = [0, 4, 0, 2, 1, 2]
    private static let versions = [LoopbackServer.TLSVersion.tls12, .tls13]

    private func server(
        _ site: TestSite, _ version: LoopbackServer.TLSVersion, _ timestamps: [UInt8]
    ) throws -> LoopbackServer {
        try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            $0.timestamps = timestamps
        }
    }

    @Test("A server's timestamps are there when its certificate is judged, as sent", arguments: versions)
    func received(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        // The longest list fills the extension.
        for list in [Self.list, [UInt8](repeating: 7, count: 16_000)] {
            try await server(site, version, list).run { server in
                let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
                let timestamps = pending.timestamps
                #expect(timestamps == list)
                await pending.refuse()
            }
        }
    }

    @Test("A server without timestamps sends none", arguments: versions)
    func none(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        try await server(site, version, []).run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            let timestamps = pending.timestamps
            #expect(timestamps == nil)
            await pending.refuse()
        }
    }

    @Test("A resumed session has the timestamps of its first handshake (TC1–TC9)", arguments: versions)
    func resumed(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        try await server(site, version, Self.list).run { server in
            let session = try await site.session(with: server)
            let pending = try await site.resume(session, with: server)
            let (isResumed, timestamps) = (pending.isResumed, pending.timestamps)
            #expect(isResumed)
            #expect(timestamps == Self.list)
            await pending.refuse()
        }
    }

    @Test("A session isn't resumed with the timestamps of another server's first handshake", arguments: versions)
    func notResumed(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        try await server(site, version, Self.list).run { first in
            let session = try await site.session(with: first)
            try await server(site, version, []).run { second in
                let pending = try await site.resume(session, with: second)
                let (isResumed, timestamps) = (pending.isResumed, pending.timestamps)
                #expect(!isResumed)
                #expect(timestamps == nil)
                await pending.refuse()
            }
        }
    }
}
