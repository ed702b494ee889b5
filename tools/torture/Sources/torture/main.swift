import FoundationEssentials
import Glibc
import Synchronization

// torture PROGRAMS INTERPOSER DIRECTORY JOBS STRIDE [--call WORDS] [SCENARIO…]: see tools/torture/run, which starts it.
var arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count >= 5, let jobs = Int(arguments[3]), let stride = Int(arguments[4]) else {
    fail("started without tools/torture/run")
}
let tools = Campaign.Tools(
    programs: arguments[0], interposer: arguments[1], directory: arguments[2], jobs: jobs, stride: stride)
arguments.removeFirst(5)
var call: String?
if arguments.first == "--call" {
    guard arguments.count >= 2 else { fail("--call takes the words of a finding") }
    call = arguments[1]
    arguments.removeFirst(2)
}
if arguments == ["--list"] {
    for scenario in Scenario.all { print(scenario.name) }
    exit(0)
}
let unknown = arguments.filter { name in !Scenario.all.contains { $0.name == name } }
guard unknown.isEmpty else { fail("no such scenario: \(unknown.joined(separator: " ")): see --list") }
let scenarios = Scenario.all.filter { arguments.isEmpty || arguments.contains($0.name) }

func fail(_ message: String) -> Never {
    print("torture: \(message)")
    exit(2)
}

do {
    let world = try World()
    var total: [String: Int] = [:]
    var findings = 0
    for scenario in scenarios {
        let campaign = Campaign(scenario, world, tools)
        if let call {
            let outcome = try Campaign.Worker(campaign, 0).run(call)
            print(
                "\(scenario.name): \(call): exits with \(outcome.status ?? -1); fired \(outcome.fired) in "
                    + "\(outcome.caller)\noutput: \(outcome.output)errors: \(outcome.errors)"
                    + "files: \(outcome.changed.keys.sorted()); requests: \(outcome.requests)")
            continue
        }
        let start = ContinuousClock.now
        let results = try campaign.run(Fault.all)
        let count = results.injected.values.reduce(0, +)
        let seconds = (ContinuousClock.now - start).components.seconds
        print("\(scenario.name): \(count) failures injected in \(seconds) s, \(results.findings.count) findings")
        for (outcome, count) in results.outcomes.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            print("  \(count)\t\(outcome)")
        }
        total.merge(results.injected, uniquingKeysWith: +)
        findings += results.findings.count
    }
    guard call == nil else { exit(0) }
    let calls = total.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
    print("failures injected in all: \(calls.joined(separator: ", "))")
    let idle = Set(Fault.all.map(\.call)).subtracting(total.keys).sorted()
    if !idle.isEmpty { print("calls that none of these scenarios makes: \(idle.joined(separator: ", "))") }
    print("\(total.values.reduce(0, +)) failures injected in \(scenarios.count) scenarios: \(findings) findings")
    exit(findings == 0 ? 0 : 1)
} catch {
    fail("\(error)")
}
