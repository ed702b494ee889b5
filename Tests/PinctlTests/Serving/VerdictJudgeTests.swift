import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("The judge of the verdict service")
struct VerdictJudgeTests {
    let site: PinctlSite
    let file: String

    init() throws {
        site = try PinctlSite()
        file = site.directory.path + "/policy.jsonc"
    }

    private func write(_ rules: String, unlisted: String = "trust") throws {
        // Another size each time, so that the change shows within the resolution of the file system's clock.
        let padding = String(repeating: " ", count: Int.random(in: 1...10_000))
        let text = "{ \"version\": 1, \"unlisted\": \"\(unlisted)\", \"domains\": [\(rules)] }\(padding)"
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    private func rule(_ pin: String, _ more: String = "", host: String = "api.test") -> String {
        "{ \"host\": \"\(host)\", \(more) \"pins\": [\"\(pin)\", \"\(unknownPin)\"] }, "
    }

    private func judge(
        _ notes: Locked<[String]> = Locked([]), now: @escaping @Sendable () -> Date = { testTime }
    ) throws -> VerdictJudge {
        let (file, root) = (file, site.rootFile)
        @Sendable func settings() throws(UsageError) -> VerdictJudge.Settings {
            do {
                return VerdictJudge.Settings(
                    policy: try PolicyFile(contentsOfFile: file).policy, store: try TrustStore(files: [root]),
                    trust: .default)
            } catch {
                throw .unusable(["\(error)"])
            }
        }
        return try VerdictJudge(
            files: [file], now: now, note: { note in notes.withLock { $0.append(note) } }, settings)
    }

    private func ask(
        _ judge: VerdictJudge, host: String? = "api.test", address: String? = nil, port: UInt16? = 443,
        _ chain: [TestCertificate]? = nil
    ) throws -> VerdictAnswer {
        var fields: [(type: UInt8, value: [UInt8])] = (chain ?? site.chain).map { (4, $0.derBytes) }
        if let host { fields.append((1, Array(host.utf8))) }
        if let address { fields.append((3, Array(address.utf8))) }
        if let port { fields.append((2, [UInt8(port >> 8), UInt8(port & 0xFF)])) }
        let question = try VerdictMessage(message(1, fields))
        judge.refresh()
        let digest = question.digest
        return judge.knownAnswer(to: digest) ?? judge.answer(to: question, digest: digest)
    }

    @Test("A server is accepted with its pin, and refused with another one, another name, or an untrusted chain")
    func verdicts() throws {
        let pin = try site.leaf.key.pin
        try write(rule(pin))
        let judge = try judge()
        #expect(try ask(judge) == ask(judge))
        #expect(try ask(judge).isAccepted && ask(judge).pin == pin)
        #expect(try ask(judge, host: "api.test.").isAccepted)
        #expect(try !ask(judge, host: "other.test").isAccepted)
        #expect(try !ask(judge, host: "a b").isAccepted)
        #expect(try !ask(judge, [site.leaf]).reason.isEmpty)
        let other = try TestSite("api.test")
        #expect(try !ask(judge, other.chain).isAccepted)
        let empty = try ask(judge, [])
        #expect(!empty.isAccepted && empty.reason == "the server presented no certificate")
        try write(rule(unknownPin))
        let refused = try ask(judge)
        #expect(!refused.isAccepted && refused.reason.hasPrefix("pin mismatch for api.test port 443"), "\(refused)")
        #expect(!refused.reason.contains("\n") && refused.pin == nil)
    }

    @Test("A server that is accepted although its pins don't match is marked")
    func reported() throws {
        let pin = try site.leaf.key.pin
        for (more, mark) in [
            ("\"mode\": \"report\",", true), ("\"expires\": \"2020-01-01\", \"onExpiry\": \"stop-pinning\",", true),
            ("\"mode\": \"off\",", false),
        ] {
            try write(rule(unknownPin, more))
            let answer = try ask(judge())
            #expect(answer.isAccepted && answer.isReported == mark, "\(more): \(answer)")
            #expect(!answer.reason.isEmpty)
        }
        try write(rule(pin, "\"mode\": \"report\","))
        #expect(try !ask(judge()).isReported)
        // One of several rules is enough.
        try write(rule(pin, "\"ports\": [8443],") + rule(unknownPin, "\"ports\": [9443], \"mode\": \"report\","))
        let both = try ask(judge(), port: 3128)
        #expect(both.isAccepted && both.isReported && both.reason.contains("mismatch"), "\(both)")
    }

    @Test("An answer isn't used after the second of its verdict")
    func times() throws {
        let clock = Locked(testTime)
        try write(rule(try site.leaf.key.pin, "\"expires\": \"2026-11-21\", \"onExpiry\": \"fail\","))
        let judge = try judge(now: { clock.withLock { $0 } })
        #expect(try ask(judge).isAccepted)
        clock.withLock { $0 += 3 * 86_400 }
        #expect(try !ask(judge).isAccepted)
        clock.withLock { $0 = testTime }
        #expect(try ask(judge).isAccepted)
    }

    @Test("A changed policy counts for the next question, and one that can't be read leaves the last one in force")
    func changes() throws {
        let pin = try site.leaf.key.pin
        try write(rule(pin))
        let notes = Locked<[String]>([])
        let judge = try judge(notes)
        #expect(try ask(judge).isAccepted)
        try write(rule(unknownPin))
        #expect(try !ask(judge).isAccepted)
        try Data("{".utf8).write(to: URL(filePath: file))
        #expect(try !ask(judge).isAccepted)
        #expect(notes.withLock { $0.count } == 1)
        #expect(notes.withLock { $0[0] }.hasPrefix("the last policy stays in force: "))
        try write(rule(pin))
        #expect(try ask(judge).isAccepted)
    }

    @Test("Without a name, the rules of all names of the certificate count, and those for addresses refuse")
    func nameless() throws {
        let pin = try site.leaf.key.pin
        try write(rule(pin))
        let judge = try judge()
        for address in [nil, "192.0.2.1"] { #expect(try ask(judge, host: nil, address: address).isAccepted) }
        #expect(try !ask(judge, host: nil, []).isAccepted)
        #expect(try ask(judge, host: "unlisted.test", []).isAccepted)
        #expect(try !ask(judge, host: nil, TestSite("api.test").chain).isAccepted)
        // The address may be that of a proxy.
        for rules in [rule(unknownPin), rule(pin) + rule(unknownPin, host: "192.0.2.9")] {
            try write(rules)
            for address in [nil, "192.0.2.1"] { #expect(try !ask(judge, host: nil, address: address).isAccepted) }
        }
        try write(rule(pin), unlisted: "refuse")
        for address in [nil, "192.0.2.1"] { #expect(try !ask(judge, host: nil, address: address).isAccepted) }
        #expect(try !ask(judge, host: "unlisted.test", []).isAccepted)
    }

    @Test("A rule for other ports counts if the port isn't known, or is that of a proxy")
    func ports() throws {
        let pin = try site.leaf.key.pin
        try write(rule(unknownPin, "\"ports\": [8443],"))
        let wrong = try judge()
        for port in [nil, 8443, 3128, 443] as [UInt16?] { #expect(try !ask(wrong, port: port).isAccepted) }
        try write(rule(pin, "\"ports\": [8443],"))
        let right = try judge()
        for port in [nil, 8443, 3128, 443] as [UInt16?] { #expect(try ask(right, port: port).isAccepted) }
        // Every rule has to accept.
        try write(rule(pin, "\"ports\": [8443],") + rule(unknownPin, "\"ports\": [9443],"))
        let both = try judge()
        #expect(try ask(both, port: 8443).isAccepted)
        for port in [nil, 9443, 3128] as [UInt16?] { #expect(try !ask(both, port: port).isAccepted) }
    }

    @Test("A leaf alone, as in a resumed session, is judged with the chain that was accepted before")
    func leafAlone() throws {
        try write(rule(try site.leaf.key.pin))
        let judge = try judge()
        #expect(try !ask(judge, port: 1, [site.leaf]).isAccepted)
        #expect(try ask(judge).isAccepted)
        #expect(try ask(judge, port: 2, [site.leaf]).isAccepted)
        let other = try TestSite("api.test")
        #expect(try !ask(judge, port: 2, [other.leaf]).isAccepted)
    }
}
