import CertificatePinning
import CertificateTrust
import Foundation
import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

@testable import PolicyUpdates

/// A program with an updater, its directory, its clock and what its observer received. It can be started again.
final class UpdatedProgram: Sendable {
    let directory: TestDirectory
    let clock = Locked(Publisher.now)
    let outcomes = Locked<[PolicyUpdate]>([])
    private let builtIn: PinningPolicy
    private let keySet: PolicyKeySet
    private let url: URL
    private let configuration: @Sendable () throws -> URLSessionConfiguration

    init(
        _ publisher: Publisher, keySet: String? = nil, url: String = "https://localhost/",
        builtIn: PinningPolicy? = nil,
        in directory: TestDirectory? = nil,
        configuration: @escaping @Sendable () throws -> URLSessionConfiguration = { .default }
    ) throws {
        self.directory = try directory ?? TestDirectory()
        self.keySet = try PolicyKeySet(json: Array((keySet ?? publisher.keySet([0, 1, 2])).utf8))
        self.builtIn = try builtIn ?? Self.policy("built-in.example")
        self.url = try #require(URL(string: url))
        self.configuration = configuration
    }

    /// A program whose bundle is on a server of this site.
    convenience init(
        _ publisher: Publisher, at port: UInt16, of site: TestSite, builtIn: PinningPolicy? = nil,
        in directory: TestDirectory? = nil
    ) throws {
        let store = TrustStore(certificates: [try X509Certificate(derBytes: site.root.derBytes)])
        try self.init(
            publisher, url: "https://localhost:\(port)/bundle.json", builtIn: builtIn, in: directory,
            configuration: {
                let configuration = URLSessionConfiguration.default
                configuration.trustStore = store
                configuration.timeoutIntervalForRequest = 600
                return configuration
            })
    }

    static func policy(_ host: String) throws -> PinningPolicy {
        try PolicyFile(bytes: Array(Publisher.policy(host).utf8), path: "pins.json").policy
    }

    /// Starts the program, with the built-in policy of the bundle `sequence`.
    func start(sequence: Int = 0) async throws -> PolicyUpdater {
        let updater = PolicyUpdater(
            from: url, keySet: keySet, builtIn: builtIn, sequence: sequence, directory: directory.path + "/state",
            configuration: try configuration(), now: { [clock] in clock.withLock { $0 } },
            observer: { [outcomes] outcome in outcomes.withLock { $0.append(outcome) } })
        await updater.start()
        return updater
    }

    /// The texts of what the observer received since the last call.
    func textsSoFar() -> [String] {
        outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes.map(\.description)
        }
    }

    /// What the observer received since the last call: the names of the cases.
    func outcomesSoFar() -> [String] {
        outcomes.withLock { outcomes in
            defer { outcomes = [] }
            return outcomes.map { outcome in
                switch outcome {
                case .adopted(let bundle): "adopted \(bundle.bundle.sequence)"
                case .resumed(let bundle): "resumed \(bundle.bundle.sequence)"
                case .unchanged(let sequence): "unchanged \(sequence)"
                case .staged(let bundle): "staged \(bundle.bundle.sequence)"
                case .wouldRefuse: "would refuse"
                case .refused: "refused"
                case .savedRefused: "saved refused"
                case .expired(let sequence, _): "expired \(sequence)"
                case .unsaved: "unsaved"
                case .unreachable: "unreachable"
                @unknown default: "unknown"
                }
            }
        }
    }
}

extension PolicyUpdater {
    /// The host of the policy in force.
    nonisolated var host: String { store.policy.rules.first?.host.description ?? "" }

    func receive(_ text: String) async { await receive(Array(text.utf8)) }
}

/// Updates over files and clocks, without a network.
@Suite(.timeLimit(.minutes(10)))
struct PolicyUpdaterTests {
    private let publisher: Publisher
    private let program: UpdatedProgram

    init() throws {
        publisher = try Publisher()
        program = try UpdatedProgram(publisher)
    }

    @Test("A bundle is in force at once and after a restart, and is saved for this user alone")
    func adopted() async throws {
        var updater = try await program.start()
        #expect(updater.host == "built-in.example")
        await updater.receive(try publisher.bundle(sequence: 3))
        #expect(updater.host == "host3.example")
        #expect(program.outcomesSoFar() == ["adopted 3"])
        let file = program.directory.path + "/state/policy-bundle"
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        updater = try await program.start()
        #expect(updater.host == "host3.example")
        #expect(program.outcomesSoFar() == ["resumed 3"])
        // A mismatch names the rule by its location.
        let location = updater.store.policy.rules.first?.location?.description
        #expect(location?.hasPrefix("bundle 3 of com.example.app/pins.json:1:") == true, "\(location ?? "none")")
        await updater.receive(try publisher.bundle(sequence: 3))
        #expect(program.outcomesSoFar() == ["unchanged 3"])
    }

    @Test("An older bundle is refused after a restart too (PU2)")
    func rollback() async throws {
        try await program.start().receive(try publisher.bundle(sequence: 7))
        let updater = try await program.start()
        await updater.receive(try publisher.bundle(sequence: 6))
        #expect(updater.host == "host7.example")
        #expect(program.outcomesSoFar() == ["adopted 7", "resumed 7", "refused"])
    }

    @Test("A saved bundle that the program's own policy has overtaken isn't in force (PU2)")
    func overtaken() async throws {
        try await program.start().receive(try publisher.bundle(sequence: 7))
        let updater = try await program.start(sequence: 8)
        #expect(updater.host == "built-in.example")
        #expect(await updater.sequence == 8)
        #expect(program.outcomesSoFar() == ["adopted 7", "saved refused"])
        await updater.receive(try publisher.bundle(sequence: 9))
        #expect(updater.host == "host9.example")
    }

    @Test("An expired bundle gives way to the built-in policy, with the pins that it denied (PU3)")
    func expiry() async throws {
        let denied = "sha256/" + String(repeating: "B", count: 42) + "A="
        let policy = Publisher.policy("host4.example")
            .replacingOccurrences(of: "\"domains\"", with: "\"deny\": [\"\(denied)\"], \"domains\"")
        var updater = try await program.start()
        await updater.receive(
            try publisher.bundle(Publisher.Contents(sequence: 4, files: ["pins.json": policy])))
        #expect(updater.host == "host4.example")
        program.clock.withLock { $0 += 86_400 }
        // A stale bundle from a server that withholds later ones.
        await updater.receive(try publisher.bundle(sequence: 5))
        #expect(updater.host == "built-in.example")
        #expect(updater.store.policy.deny.map(\.fingerprint.description) == [denied])
        #expect(program.outcomesSoFar() == ["adopted 4", "expired 4", "refused"])
        updater = try await program.start()
        #expect(updater.host == "built-in.example")
        #expect(updater.store.policy.deny.count == 1)
        #expect(program.outcomesSoFar() == ["expired 4"])
        // The clock was wrong.
        program.clock.withLock { $0 -= 86_400 }
        await updater.receive(try publisher.bundle(sequence: 3))
        #expect(updater.host == "host4.example")
        #expect(program.outcomesSoFar() == ["resumed 4", "refused"])
    }

    @Test("A slow clock doesn't accept a bundle of the future, and keeps the one in force (PU3)")
    func slowClock() async throws {
        let updater = try await program.start()
        await updater.receive(try publisher.bundle(sequence: 4))
        program.clock.withLock { $0 -= 2 * 86_400 }
        await updater.receive(try publisher.bundle(sequence: 5))
        #expect(updater.host == "host4.example")
        #expect(program.outcomesSoFar() == ["adopted 4", "refused"])
    }

    @Test(
        "A saved file that isn't a valid bundle is never in force, and the next bundle replaces it (PU4)",
        arguments: ["", "{}", "truncated", "forged", "other user"])
    func damaged(kind: String) async throws {
        try await program.start().receive(try publisher.bundle(sequence: 4))
        let file = program.directory.path + "/state/policy-bundle"
        let good = try Data(contentsOf: URL(filePath: file))
        let bad =
            switch kind {
            case "truncated": good.prefix(good.count / 2)
            case "forged", "other user": Data(try publisher.bundle(sequence: 9, signers: [0]).utf8)
            default: Data(kind.utf8)
            }
        try bad.write(to: URL(filePath: file))
        if kind == "other user" {
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        }
        let updater = try await program.start()
        #expect(updater.host == "built-in.example")
        #expect(program.outcomesSoFar() == ["adopted 4", "saved refused"])
        if kind == "other user" { return }
        await updater.receive(try publisher.bundle(sequence: 5))
        #expect(updater.host == "host5.example")
        #expect(try await program.start().host == "host5.example")
    }

    @Test("A bundle that can't be saved isn't in force (PU4)")
    func unsaved() async throws {
        let updater = try await program.start()
        let directory = program.directory.path + "/state"
        // Other users could replace the file.
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory)
        await updater.receive(try publisher.bundle(sequence: 4))
        #expect(updater.host == "built-in.example")
        #expect(program.outcomesSoFar() == ["unsaved"])
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
        await updater.receive(try publisher.bundle(sequence: 4))
        #expect(updater.host == "host4.example")
    }

    @Test("A deleted file is written again, and while it is missing only the built-in numbers hold (PU4)")
    func deleted() async throws {
        let updater = try await program.start(sequence: 3)
        await updater.receive(try publisher.bundle(sequence: 7))
        try FileManager.default.removeItem(atPath: program.directory.path + "/state/policy-bundle")
        await updater.receive(try publisher.bundle(sequence: 6))
        #expect(updater.host == "host7.example")
        await updater.receive(try publisher.bundle(sequence: 7))
        #expect(try await program.start(sequence: 3).host == "host7.example")
        try FileManager.default.removeItem(atPath: program.directory.path + "/state/policy-bundle")
        let other = try await program.start(sequence: 3)
        await other.receive(try publisher.bundle(sequence: 2))
        #expect(other.host == "built-in.example")
        await other.receive(try publisher.bundle(sequence: 4))
        #expect(other.host == "host4.example")
    }

    @Test("A saved bundle that can't be read isn't replaced by an older one (PU2)")
    func unreadable() async throws {
        try await program.start().receive(try publisher.bundle(sequence: 7))
        let file = program.directory.path + "/state/policy-bundle"
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let updater = try await program.start()
        await updater.receive(try publisher.bundle(sequence: 5))
        #expect(updater.host == "built-in.example")
        #expect(program.outcomesSoFar() == ["adopted 7", "saved refused", "unsaved"])
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        await updater.receive(try publisher.bundle(sequence: 5))
        #expect(program.outcomesSoFar() == ["refused"])
        #expect(try await program.start().host == "host7.example")
    }

    @Test("Two processes never replace a later bundle with an earlier one (PU2)")
    func processes() async throws {
        let (first, second) = (try await program.start(), try await program.start())
        await first.receive(try publisher.bundle(sequence: 7))
        await second.receive(try publisher.bundle(sequence: 6))
        #expect(second.host == "built-in.example")
        await second.receive(try publisher.bundle(sequence: 8))
        #expect(second.host == "host8.example")
        await first.receive(try publisher.bundle(sequence: 7))
        #expect(try await program.start().host == "host8.example")
    }

    @Test("A retired key set stays retired after a restart (PU1)")
    func keySets() async throws {
        let set = try publisher.signedKeySet(publisher.keySet([2, 3, 4], number: 2), signers: [0, 1, 2, 3])
        let contents = Publisher.Contents(sequence: 5, keySet: 2)
        try await program.start().receive(try publisher.bundle(contents, signers: [3, 4], keySets: [set]))
        let updater = try await program.start()
        await updater.receive(try publisher.bundle(sequence: 6))
        #expect(await updater.sequence == 5)
        await updater.receive(
            try publisher.bundle(Publisher.Contents(sequence: 6, keySet: 2), signers: [2, 4], keySets: [set]))
        #expect(await updater.sequence == 6)
    }

    // MARK: Rollouts

    private func staged(_ sequence: Int, share: Int = 0, days: Double = 0.5) throws -> String {
        let until = (Publisher.now + days * 86_400).ISO8601Format()
        return try publisher.bundle(
            Publisher.Contents(
                sequence: sequence, files: ["pins.json": Publisher.policy("host\(sequence).example")],
                more: ", \"rollout\": {\"share\": \(share), \"until\": \"\(until)\"}"))
    }

    @Test("A staged bundle is in force once its stage has ended, and stays so whatever the clock does (PU7)")
    func staging() async throws {
        var updater = try await program.start()
        await updater.receive(try publisher.bundle(sequence: 3))
        await updater.receive(try staged(4))
        #expect(updater.host == "host3.example")
        #expect(await updater.sequence == 4)
        updater = try await program.start()
        #expect(updater.host == "host3.example")
        // The bundle before it isn't newer, although it is in force.
        await updater.receive(try publisher.bundle(sequence: 3))
        await updater.receive(try staged(4))
        #expect(program.outcomesSoFar() == ["adopted 3", "staged 4", "resumed 3", "refused", "unchanged 4"])
        program.clock.withLock { $0 += 43_200 }
        await updater.receive(try publisher.bundle(sequence: 2))
        #expect(updater.host == "host4.example")
        #expect(program.outcomesSoFar() == ["adopted 4", "refused"])
        program.clock.withLock { $0 -= 43_200 }
        updater = try await program.start()
        #expect(updater.host == "host4.example")
        #expect(program.outcomesSoFar() == ["resumed 4"])
    }

    @Test("A staged bundle that follows another one has its own stage, in every process (PU7)")
    func secondStage() async throws {
        let (first, second) = (try await program.start(), try await program.start())
        await first.receive(try publisher.bundle(sequence: 3))
        await first.receive(try staged(4, days: 0.25))
        await second.receive(try staged(5, days: 0.75))
        #expect(program.outcomesSoFar() == ["adopted 3", "staged 4", "staged 5", "resumed 3"])
        await first.receive(try staged(5, days: 0.75))
        #expect(await first.sequence == 5)
        #expect(program.outcomesSoFar() == ["staged 5"])
        program.clock.withLock { $0 += 43_200 }
        for updater in [first, second, try await program.start()] {
            await updater.receive(try publisher.bundle(sequence: 2))
            #expect(updater.host == "host3.example")
        }
        program.clock.withLock { $0 += 43_000 }
        for updater in [first, second, try await program.start()] {
            await updater.receive(try publisher.bundle(sequence: 2))
            #expect(updater.host == "host5.example")
        }
    }

    @Test("A stage that another process has replaced ends with that one's (PU7)")
    func replacedStage() async throws {
        let (first, second) = (try await program.start(), try await program.start())
        await first.receive(try staged(4, days: 0.25))
        await second.receive(try staged(5, days: 0.75))
        program.clock.withLock { $0 += 43_200 }
        await first.receive(try publisher.bundle(sequence: 2))
        #expect(first.host == "built-in.example")
        #expect(await first.sequence == 5)
    }

    @Test("The end of a stage puts the bundle in force and saves it although its files were deleted (PU4)")
    func deletedStage() async throws {
        let updater = try await program.start()
        await updater.receive(try publisher.bundle(sequence: 3))
        await updater.receive(try staged(4))
        try FileManager.default.removeItem(atPath: program.directory.path + "/state")
        program.clock.withLock { $0 += 43_200 }
        await updater.receive(try publisher.bundle(sequence: 3))
        #expect(updater.host == "host4.example")
        #expect(program.outcomesSoFar() == ["adopted 3", "staged 4", "adopted 4", "refused"])
        #expect(try await program.start().host == "host4.example")
    }

    @Test("A later bundle without a stage ends the stage of the one before (PU7)")
    func stageEnds() async throws {
        let updater = try await program.start()
        await updater.receive(try staged(4))
        #expect(updater.host == "built-in.example")
        await updater.receive(try publisher.bundle(sequence: 5))
        #expect(updater.host == "host5.example")
        #expect(try await program.start().host == "host5.example")
    }

    @Test("A rollout reaches about its share of the installations")
    func share() async throws {
        var count = 0
        let bundle = try staged(4, share: 30)
        for _ in 0..<100 {
            let program = try UpdatedProgram(publisher)
            let updater = try await program.start()
            await updater.receive(bundle)
            if updater.host == "host4.example" { count += 1 }
            // The program deletes its directory at its end.
            withExtendedLifetime(program) {}
        }
        // Outside of this range once in ten million runs.
        #expect((8...58).contains(count))
    }

    @Test(
        "A rollout that can't be is refused",
        arguments: [(-1, 0.5), (100, 0.5), (10, 2), (10, -1)])
    func invalidRollout(share: Int, days: Double) async throws {
        let updater = try await program.start()
        await updater.receive(try staged(4, share: share, days: days))
        #expect(program.outcomesSoFar() == ["refused"])
    }
}
