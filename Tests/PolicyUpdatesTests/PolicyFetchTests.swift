import CertificatePinning
import CertificateTrust
import Foundation
import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

@testable import PolicyUpdates

/// Updates from a server on the loopback interface.
@Suite(.timeLimit(.minutes(10)))
struct PolicyFetchTests {
    private static let site = Result<TestSite, any Error> { try TestSite("localhost", isValidNow: true) }
    private let site: TestSite
    private let publisher: Publisher

    init() throws {
        site = try Self.site.get()
        publisher = try Publisher()
    }

    /// A policy that pins a key for the server.
    private func policy(_ certificate: TestCertificate) throws -> PinningPolicy {
        let pin = try X509Certificate(derBytes: certificate.derBytes).spkiFingerprint
        return try PinningPolicy(rules: [
            PinningRule(host: try ServerName("localhost"), pins: [Pin(.publicKey(pin))])
        ])
    }

    private func program(_ server: LoopbackServer, pinning: TestCertificate? = nil) throws -> UpdatedProgram {
        try UpdatedProgram(publisher, at: server.port, of: site, builtIn: try policy(pinning ?? site.root))
    }

    @Test("A fetch ends after ten minutes at the latest", arguments: [(nil, 600), (601, 600), (30, 30)])
    func longestFetch(given: Double?, limit: Double) {
        let configuration = URLSessionConfiguration.default
        if let given { configuration.timeoutIntervalForResource = given }
        let own = configuration.timeoutIntervalForResource
        #expect(PolicyUpdater.limited(configuration).timeoutIntervalForResource == limit)
        #expect(configuration.timeoutIntervalForResource == own)
    }

    @Test("A bundle is fetched once, and later only if its entity tag has changed")
    func entityTag() async throws {
        let current = Locked(1)
        let publisher = publisher
        let script = LoopbackServer.Script.answer { request in
            let sequence = current.withLock { $0 }
            guard request.values(of: "If-None-Match") != ["\"\(sequence)\""] else {
                return .headOnly("304 Not Modified", fields: ["ETag: \"\(sequence)\""])
            }
            let body = (try? publisher.bundle(sequence: sequence)) ?? ""
            return .init(fields: ["ETag: \"\(sequence)\""], body: body)
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let program = try program(server)
            let updater = try await program.start()
            await updater.update()
            await updater.update()
            current.withLock { $0 = 2 }
            await updater.update()
            #expect(updater.host == "host2.example")
            #expect(program.outcomesSoFar() == ["adopted 1", "unchanged 1", "adopted 2"])
        }
    }

    @Test(
        "A field that isn't one entity tag is never sent back, so it can't stop later bundles (PU5)",
        arguments: ["*", "\"1\", \"2\"", "W/*", "1", "\"" + String(repeating: "a", count: 300) + "\""])
    func entityTags(field: String) async throws {
        let current = Locked(1)
        let publisher = publisher
        let script = LoopbackServer.Script.answer { request in
            guard request.values(of: "If-None-Match").isEmpty else { return .headOnly("304 Not Modified") }
            return .init(
                fields: ["ETag: \(field)"], body: (try? publisher.bundle(sequence: current.withLock { $0 })) ?? "")
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let program = try program(server)
            let updater = try await program.start()
            await updater.update()
            current.withLock { $0 = 2 }
            await updater.update()
            #expect(program.outcomesSoFar() == ["adopted 1", "adopted 2"])
        }
    }

    @Test("An expired bundle is fetched anew, although its entity tag is still that of the server (PU3)")
    func expiredTag() async throws {
        let publisher = publisher
        let script = LoopbackServer.Script.answer { request in
            guard request.values(of: "If-None-Match").isEmpty else { return .headOnly("304 Not Modified") }
            return .init(fields: ["ETag: \"1\""], body: (try? publisher.bundle(sequence: 1)) ?? "")
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let program = try program(server)
            let updater = try await program.start()
            await updater.update()
            await updater.update()
            program.clock.withLock { $0 += 86_400 }
            await updater.update()
            #expect(program.outcomesSoFar() == ["adopted 1", "unchanged 1", "expired 1", "refused"])
        }
    }

    @Test("A bundle expires although the server keeps the next update waiting (PU3)")
    func slowServer() async throws {
        let script = LoopbackServer.Script.answer { _ in
            var response = LoopbackServer.Response(body: String(repeating: " ", count: 10_000))
            response.pause = .milliseconds(50)
            return response
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let program = try program(server)
            let updater = try await program.start()
            await updater.receive(try publisher.bundle(sequence: 3))
            let task = Task { await updater.run(every: .seconds(3_600), checkingExpiryEvery: .milliseconds(20)) }
            while server.records.allSatisfy(\.requests.isEmpty) { try await Task.sleep(for: .milliseconds(10)) }
            program.clock.withLock { $0 += 86_400 }
            // The policy changes before the observer is called.
            while program.outcomes.withLock({ $0.count < 2 }) { try await Task.sleep(for: .milliseconds(10)) }
            #expect(updater.host == "localhost")
            #expect(program.outcomesSoFar() == ["adopted 3", "expired 3"])
            task.cancel()
            await task.value
        }
    }

    @Test("A server without the built-in policy's key receives nothing (PU5)")
    func pinned() async throws {
        let other = try TestSite("localhost", authority: "Other", isValidNow: true)
        try await LoopbackServer(chain: site.chain, .respond(.init(body: try publisher.bundle()))).run { server in
            let program = try program(server, pinning: other.root)
            let updater = try await program.start()
            await updater.update()
            #expect(program.outcomesSoFar() == ["unreachable"])
            #expect(server.records.allSatisfy { $0.requests.isEmpty })
        }
    }

    @Test("A bundle that locks everyone out doesn't lock out its successor (PU5)")
    func lockout() async throws {
        let bundles = try [
            publisher.bundle(Publisher.Contents(sequence: 1, files: ["pins.json": Publisher.policy("localhost")])),
            publisher.bundle(sequence: 2),
        ]
        let count = Locked(0)
        let script = LoopbackServer.Script.answer { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .init(body: bundles[min(number, 2) - 1])
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let program = try program(server)
            let updater = try await program.start()
            await updater.update()
            #expect(updater.host == "localhost")
            await updater.update()
            #expect(updater.host == "host2.example")
            #expect(program.outcomesSoFar() == ["adopted 1", "adopted 2"])
        }
    }

    struct Answer: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: @Sendable (Publisher) throws -> LoopbackServer.Response
        let outcome: String
    }

    @Test(
        "Any other response leaves the policy in force, and the reason is told (PU5)",
        arguments: [
            Answer(
                testDescription: "404", response: { _ in .init("404 Not Found", body: "none") },
                outcome: "unreachable"),
            Answer(
                testDescription: "304 without an entity tag", response: { _ in .headOnly("304 Not Modified") },
                outcome: "unreachable"),
            Answer(testDescription: "a page", response: { _ in .init(body: "<html></html>") }, outcome: "refused"),
            Answer(testDescription: "nothing", response: { _ in .init(body: "") }, outcome: "refused"),
            Answer(
                testDescription: "10 MiB",
                response: { .init(body: try $0.bundle(sequence: 9) + String(repeating: " ", count: 10 << 20)) },
                outcome: "unreachable"),
            Answer(
                testDescription: "half of a bundle, as a whole response",
                response: { .init(body: String(try $0.bundle(sequence: 9).prefix(400))) }, outcome: "refused"),
            Answer(
                testDescription: "half of a bundle, and the end of the connection",
                response: { publisher in
                    let whole = LoopbackServer.Response(body: try publisher.bundle(sequence: 9))
                    return .raw(Array(whole.bytes.dropLast(400)))
                }, outcome: "unreachable"),
            Answer(
                testDescription: "a bundle without enough signatures",
                response: { .init(body: try $0.bundle(sequence: 9, signers: [0])) }, outcome: "refused"),
            Answer(
                testDescription: "a bundle with another one's status",
                response: { .init("206 Partial Content", body: try $0.bundle(sequence: 9)) }, outcome: "unreachable"),
        ])
    func responses(answer: Answer) async throws {
        let response = try answer.response(publisher)
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            let program = try program(server)
            let updater = try await program.start()
            await updater.receive(try publisher.bundle(sequence: 3))
            await updater.update()
            #expect(updater.host == "host3.example")
            #expect(program.outcomesSoFar() == ["adopted 3", answer.outcome])
        }
    }

    @Test("A URL without TLS is never fetched (PU5)")
    func cleartext() async throws {
        let program = try UpdatedProgram(publisher, url: "http://localhost:1/")
        let updater = try await program.start()
        await updater.update()
        #expect(program.textsSoFar().map { $0.contains("isn't an https URL") } == [true])
    }
}
