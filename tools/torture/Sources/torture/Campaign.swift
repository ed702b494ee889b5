import Dispatch
import FoundationEssentials
import Glibc
import PinctlTestPKI
import Synchronization

/// All runs of one scenario.
final class Campaign: Sendable {
    let scenario: Scenario
    private let world: World
    private let tools: Tools
    private let results = Mutex(Results())

    /// The programs and the directory of the runs.
    struct Tools: Sendable {
        /// The directory of pinctl and the client.
        let programs: String
        let interposer: String
        let directory: String
        let jobs: Int
        /// Of OpenSSL's allocations, every so many are failed.
        let stride: Int
    }

    struct Results: Sendable {
        var injected: [String: Int] = [:]
        var outcomes: [String: Int] = [:]
        var findings: [String] = []
    }

    /// A run's end.
    struct Outcome: Sendable {
        let status: Int32?
        let output: String
        let errors: String
        /// The files in its directory that weren't there before or have other contents.
        let changed: [String: String]
        let requests: [String]
        let bytesInTLS: Int
        /// See ``Page/fired``.
        let fired: UInt32
        let caller: String
        /// The library that crashed, or nothing.
        let crash: String
    }

    init(_ scenario: Scenario, _ world: World, _ tools: Tools) {
        self.scenario = scenario
        self.world = world
        self.tools = tools
    }

    /// Injects every fault into every call. Returns how many were injected, and what was found.
    func run(_ faults: [Fault]) throws -> Results {
        let normal = try Worker(self, 0).run(nil)
        guard normal.status == scenario.status else {
            throw TortureError(
                "\(scenario.name): exits with \(normal.status ?? -1) without a fault: \(normal.output)\(normal.errors)")
        }
        let again = try Worker(self, 0).run(nil)
        guard again.output == normal.output, again.changed == normal.changed else {
            throw TortureError("\(scenario.name): prints or writes something else each time: \(normal) \(again)")
        }
        let judge = Judge(scenario, "\(tools.programs)/\(scenario.program.rawValue)", normal)
        let line = Mutex(Line(faults: faults, stride: tools.stride))
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: tools.jobs) { job in
            do {
                let worker = try Worker(self, job)
                while let (fault, number) = line.withLock({ $0.next() }) {
                    let outcome = try worker.run(fault.words(number))
                    if outcome.fired == 0 { line.withLock { $0.end(fault) } }
                    self.note(fault, number, outcome, judge)
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        if let failure = failures.withLock({ $0.first }) { throw TortureError(failure) }
        return results.withLock { $0 }
    }

    private func note(_ fault: Fault, _ number: Int, _ outcome: Outcome, _ judge: Judge) {
        let problems = judge.problems(of: outcome, fault)
        results.withLock { results in
            if outcome.fired == 1 { results.injected[fault.call, default: 0] += 1 }
            if outcome.fired != 2 || !problems.isEmpty { results.outcomes[judge.summary(of: outcome), default: 0] += 1 }
            for problem in problems {
                let finding =
                    "\(scenario.name): \(problem): \(fault.title), call \(number) from \(outcome.caller)\n"
                    + "    \(judge.summary(of: outcome))\n    repeat it: tools/torture/run --call "
                    + "'\(fault.words(number))' \(scenario.name)"
                results.findings.append(finding)
                print(finding)
            }
        }
    }

    /// The calls to fail, in order. Several workers take from it.
    private struct Line {
        let faults: [Fault]
        let stride: Int
        var index = 0
        var number = 0

        mutating func next() -> (Fault, Int)? {
            guard index < faults.count else { return nil }
            number += number > 0 && faults[index].call == "allocate" ? stride : 1
            return (faults[index], number)
        }

        /// Goes on with the next fault, after a run in which the call never came.
        mutating func end(_ fault: Fault) {
            guard index < faults.count, faults[index] == fault else { return }
            index += 1
            number = 0
        }
    }

    /// What one thread uses for its runs, one after another.
    final class Worker {
        private let campaign: Campaign
        private let directory: String
        private let page: Page
        private let files = FileManager.default

        init(_ campaign: Campaign, _ number: Int) throws {
            self.campaign = campaign
            let base = "\(campaign.tools.directory)/\(number)"
            try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
            directory = base + "/run"
            page = try Page(path: base + "/page")
        }

        /// Runs the scenario in a new directory, with the call that fails.
        func run(_ call: String?) throws -> Outcome {
            let scenario = campaign.scenario
            try? files.removeItem(atPath: directory)
            try files.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            var before = campaign.world.files
            for case (let name, let text?) in scenario.outputs { before[name] = text }
            for (name, text) in before {
                let isSecret = name.hasSuffix(".key") || name == "identity.pem"
                guard
                    files.createFile(
                        atPath: "\(directory)/\(name)", contents: Data(text.utf8),
                        attributes: [.posixPermissions: isSecret ? 0o600 : 0o644])
                else { throw TortureError("\(name) can't be written in \(directory)") }
            }
            let server = try scenario.server.map { try campaign.world.start($0) }
            defer { server?.stop() }
            page.clear()
            let port = server.map { "\($0.port)" } ?? "no port"
            let outputs = (directory + ".output", directory + ".errors")
            var variables = [
                "PATH=/usr/bin:/bin", "LC_ALL=C", "HOME=\(directory)", "TMPDIR=\(directory)/tmp",
                "SWIFT_BACKTRACE=enable=no", "LD_PRELOAD=\(campaign.tools.interposer)", "TORTURE_PAGE=\(page.path)",
            ]
            try files.createDirectory(atPath: directory + "/tmp", withIntermediateDirectories: true)
            if let call { variables.append("TORTURE_CALL=\(call)") }
            let child = try Child(
                ["\(campaign.tools.programs)/\(scenario.program.rawValue)"]
                    + scenario.arguments.map { $0.replacing("PORT", with: port) },
                variables: variables, directory: directory, output: outputs.0, errors: outputs.1, limit: 20)
            let records = try server.map { try $0.recordsOfEndedConnections() } ?? []
            return Outcome(
                status: child.status, output: text(outputs.0).replacing(port, with: "PORT"),
                errors: text(outputs.1).replacing(port, with: "PORT"), changed: changes(since: before, port),
                requests: records.flatMap(\.requests).map(\.line),
                bytesInTLS: records.reduce(0) { $0 + $1.applicationBytes.count }, fired: page.fired,
                caller: page.caller, crash: page.crash)
        }

        private func text(_ path: String) -> String {
            String(decoding: files.contents(atPath: path) ?? Data(), as: UTF8.self)
        }

        /// The files that are new or changed, and those that are gone, as nothing.
        private func changes(since before: [String: String], _ port: String) -> [String: String] {
            var now: [String: String] = [:]
            for case let name in files.subpathsOfFiles(in: directory) { now[name] = text("\(directory)/\(name)") }
            var changed = now.filter { before[$0.key] != $0.value }.mapValues(settled)
            for name in before.keys where now[name] == nil { changed[name] = "(gone)" }
            return changed

            // The same text for every run: without its port and its times.
            func settled(_ text: String) -> String {
                text.replacing(port, with: "PORT")
                    .replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?|1[789]\d{8}/, with: "TIME")
            }
        }
    }
}

extension FileManager {
    /// The paths of all files below a directory.
    func subpathsOfFiles(in directory: String) -> [String] {
        ((try? subpathsOfDirectory(atPath: directory)) ?? []).filter { path in
            var isDirectory = false
            return fileExists(atPath: "\(directory)/\(path)", isDirectory: &isDirectory) && !isDirectory
        }
    }
}

extension LoopbackServer {
    /// The records of all connections that were made before, once they have ended. Those that a program made before it
    /// ended are accepted before this one.
    func recordsOfEndedConnections() throws -> [Record] {
        close(try connectOnLoopback(port: port))
        for _ in 0..<5_000 {
            let records = records
            if !records.isEmpty, records.allSatisfy(\.hasEnded) { return records }
            usleep(1_000)
        }
        throw TortureError("a connection to the server didn't end")
    }
}
