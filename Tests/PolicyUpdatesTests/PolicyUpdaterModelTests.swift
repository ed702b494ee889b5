import CertificatePinning
import Foundation
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PolicyUpdates

/// Random sequences of what a publisher, an attacker, a user and a clock can do.
///
/// The attacker has one key of each set, which is less than the threshold, sees everything that was ever published, and
/// decides what the program receives.
@Suite(.timeLimit(.minutes(240)))
struct PolicyUpdaterModelTests {
    /// The number of steps. PINCTL_STEPS sets another one.
    private static let steps = ProcessInfo.processInfo.environment["PINCTL_STEPS"].flatMap { Int($0) } ?? 400

    /// A published bundle.
    private struct Published {
        let sequence: Int
        let keySet: Int
        let expires: Date
        /// The end of the rollout stage, if there is one.
        let until: Date?
        let text: String
    }

    private struct Scene {
        let publisher: Publisher
        var numbers: SeededGenerator
        var published: [Published] = []
        var keySets: [String] = []
        var keySet = 1
        var time = Publisher.now

        /// The keys of a set: three of five, of which the last is the attacker's.
        func members(of set: Int) -> [Int] { (0..<3).map { (set * 2 + $0) % 5 } }

        mutating func publish(canStage: Bool = true) throws {
            let sequence = (published.last?.sequence ?? 0) + Int.random(in: 1...3, using: &numbers)
            let expires = time + Double(Int.random(in: 1...10, using: &numbers)) * 86_400
            var until: Date?
            if canStage, Int.random(in: 0..<3, using: &numbers) == 0 {
                until = time + Double(Int.random(in: 1...9, using: &numbers)) * expires.timeIntervalSince(time) / 10
            }
            let contents = Publisher.Contents(
                sequence: sequence, issued: time, expires: expires, keySet: keySet,
                files: ["pins.json": Publisher.policy("host\(sequence).example")],
                more: until.map { ", \"rollout\": {\"share\": 0, \"until\": \"\($0.ISO8601Format())\"}" } ?? "")
            published.append(
                Published(
                    sequence: sequence, keySet: keySet, expires: expires, until: until,
                    text: try publisher.bundle(
                        contents, signers: Array(members(of: keySet).prefix(2)), keySets: keySets)))
        }

        mutating func rotate() throws {
            guard keySets.count < 30 else { return }
            let old = members(of: keySet)
            keySet += 1
            let set = publisher.keySet(members(of: keySet), number: keySet)
            keySets.append(
                try publisher.signedKeySet(
                    set, signers: Array(Set(old.prefix(2) + members(of: keySet).prefix(2)))))
        }

        /// Something that the attacker can make of what was published and of his keys.
        mutating func forgery() throws -> String {
            let all = (1...keySet).map { members(of: $0)[2] }
            let sequence = Int.random(in: 1...((published.last?.sequence ?? 0) + 5), using: &numbers)
            let set = Int.random(in: 1...keySet + 1, using: &numbers)
            let contents = Publisher.Contents(
                sequence: sequence, issued: time, expires: time + 86_400, keySet: set,
                files: ["pins.json": Publisher.policy("attacker.example")])
            let key = all.randomElement(using: &numbers) ?? 0
            switch Int.random(in: 0..<4, using: &numbers) {
            case 0: return try publisher.bundle(contents, signers: [key], keySets: keySets)
            case 1: return try publisher.bundle(contents, signers: [key, key], keySets: keySets)
            case 2:
                // A key set of his own.
                let mine = publisher.keySet([key], threshold: 1, number: keySet + 1)
                return try publisher.bundle(
                    contents, signers: [key],
                    keySets: keySets + [try publisher.signedKeySet(mine, signers: [key])])
            default:
                // His signature beside those of a published bundle, and its payload changed.
                guard let base = published.randomElement(using: &numbers) else { return "" }
                return base.text.replacingOccurrences(
                    of: "\"payload\": \"",
                    with: "\"payload\": \"\(Data(contents.text.utf8).base64EncodedString())\", \"x-\": \"")
            }
        }
    }

    @Test("Nothing but newer bundles that enough keys signed come into force, in any order of events (PU6)")
    func events() async throws {
        var counts: [String: Int] = [:]
        var left = Self.steps
        while left > 0 {
            try await events(min(left, 500), &counts)
            left -= 500
        }
        // They reach every outcome.
        #expect(
            Set(counts.keys).isSuperset(of: ["adopted", "refused", "resumed", "expired", "unchanged"]), "\(counts)")
    }

    /// Takes steps with a new publisher and a new program, and counts the outcomes.
    private func events(_ steps: Int, _ counts: inout [String: Int]) async throws {
        let publisher = try Publisher()
        let seed = UInt64.random(in: 0...UInt64.max)
        var scene = Scene(publisher: publisher, numbers: SeededGenerator(seed: seed))
        // The first set of the program is that of the model.
        let first = publisher.keySet(scene.members(of: 1))
        var program = try UpdatedProgram(publisher, keySet: first)
        var updater = try await program.start()
        // Another process of the same program.
        var other = try await program.start()
        var highest = 0
        var latest = scene.time
        for step in 0..<steps {
            let event = Int.random(in: 0..<100, using: &scene.numbers)
            switch event {
            case 0..<15: try scene.publish()
            case 15..<16: try scene.rotate()
            case 16..<40:
                if let latest = scene.published.last { await updater.receive(latest.text) }
            case 40..<60:
                if let any = scene.published.randomElement(using: &scene.numbers) { await updater.receive(any.text) }
            case 60..<80: await updater.receive(try scene.forgery())
            case 80..<86: updater = try await program.start()
            case 86..<88: other = try await program.start()
            case 88..<90:
                if let latest = scene.published.last { await other.receive(latest.text) }
            case 90..<98:
                scene.time += Double(Int.random(in: -2...3, using: &scene.numbers)) * 86_400
                program.clock.withLock { $0 = scene.time }
                latest = max(latest, scene.time)
            case 98:
                // A damaged file in place of the saved one is refused; without it, the program starts anew.
                guard step % 10 == 0 else { continue }
                program = try UpdatedProgram(publisher, keySet: first)
                program.clock.withLock { $0 = scene.time }
                updater = try await program.start()
                other = try await program.start()
                (highest, latest) = (0, scene.time)
            default:
                let file = program.directory.path + "/state/policy-bundle"
                guard let bytes = FileManager.default.contents(atPath: file) else { continue }
                let changed = Int.random(in: 0..<bytes.count, using: &scene.numbers)
                var bad = bytes
                bad[changed] ^= 0x11
                try bad.write(to: URL(filePath: file))
                updater = try await program.start()
                let sequence = await updater.sequence
                #expect(sequence == 0 || sequence >= highest, "seed \(seed), step \(step)")
                try bytes.write(to: URL(filePath: file))
                updater = try await program.start()
            }
            for outcome in program.outcomesSoFar() {
                counts[String(outcome.split(separator: " ")[0]), default: 0] += 1
            }
            let sequence = await updater.sequence
            let (seen, published) = (updater.host, scene.published.filter { $0.sequence == sequence })
            #expect(sequence >= highest, "seed \(seed), step \(step)")
            #expect(sequence == 0 || published.count == 1, "seed \(seed), step \(step)")
            // The policy of that bundle, or of one before while it is staged, or the built-in one if it has expired.
            let inForce = scene.published.last { seen == "host\($0.sequence).example" }
            let isStaged = published.first?.until != nil && inForce?.sequence ?? 0 < sequence
            #expect(
                seen == "built-in.example" || inForce?.sequence == sequence || inForce != nil && isStaged,
                "seed \(seed), step \(step): \(seen)")
            #expect(inForce?.until.map { $0 <= latest } ?? true, "seed \(seed), step \(step): \(seen)")
            highest = sequence
        }
        // Everything expires in the end.
        try scene.publish(canStage: false)
        await updater.receive(try #require(scene.published.last).text)
        program.clock.withLock { $0 += 11 * 86_400 }
        await updater.receive(try scene.forgery())
        #expect(updater.host == "built-in.example", "seed \(seed)")
        for outcome in program.outcomesSoFar() {
            counts[String(outcome.split(separator: " ")[0]), default: 0] += 1
        }
    }
}
