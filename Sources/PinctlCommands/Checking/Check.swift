import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// One run of `check`: what is to be checked, with what, and what its results count for.
struct Check: Sendable {
    private let source: PinSource
    private let queue: CheckQueue
    private let servers: ServerCheck
    private let files: FileCheck
    private let terms: Gate.Terms
    private let jobs: Int
    private let showsProgress: Bool

    /// Results that wait for a slow one before them, for each target that is asked at the same time.
    private static let windowFactor = 16

    init(_ arguments: Arguments, in environment: CommandEnvironment) throws(UsageError) {
        var judge = try ChainJudge(arguments, in: environment)
        var source = try arguments.pinSource()
        if case .none = source { source = .policy(try Arguments.usualPolicy(in: environment)) }
        judge.warnings = CheckWarnings(
            stores: try arguments.clientStores(), span: try arguments.span(.warnWithin, default: 14 * 86_400))
        self.source = source
        servers = ServerCheck(probe: try ServerProbe(arguments), judge: judge)
        files = FileCheck(source: source, judge: judge)
        terms = try arguments.gateTerms()
        jobs = try arguments.count(.jobs, default: 64, in: 1...4_096)
        showsProgress = environment.terminal.showsProgress
        let lists = arguments.all(.targets)
        let named = try Self.named(arguments, source, hasLists: !lists.isEmpty)
        guard !named.isEmpty || !lists.isEmpty else { throw .missingOperand(arguments.command) }
        queue = CheckQueue(named: named, lists: lists, by: source)
    }

    /// What the arguments name, else what the policy does, each once.
    private static func named(
        _ arguments: Arguments, _ source: PinSource, hasLists: Bool
    ) throws(UsageError) -> [CheckItem] {
        guard !arguments.has(.files) else {
            guard !hasLists else {
                throw .unusable(["--files and --targets exclude each other: check files and servers in two runs"])
            }
            guard !arguments.operands.isEmpty else {
                throw .unusable(["--files needs FILE…: give chains, requests or keys, or leave it out"])
            }
            return arguments.operands.map { .file($0) }
        }
        var targets = try arguments.targets()
        if targets.isEmpty, !hasLists { targets = try source.targets() }
        var seen: Set<Target> = []
        var items: [CheckItem] = []
        for target in targets where seen.insert(target).inserted { items.append(try source.item(for: target)) }
        return items
    }

    /// What came of one item.
    private enum Outcome: Sendable {
        case results([CheckResult], problems: [String])
        case problem(String, [(String, JSON)])
    }

    /// Checks everything, and prints each result when those before it are there.
    func run(_ console: inout Console) async -> Gate {
        var gate = Gate(terms)
        var groups = FailureGroups()
        let start = ContinuousClock.now
        var items = 0
        await inOrder(
            { await queue.next() }, atOnce: jobs, window: jobs * Self.windowFactor,
            work: { await outcome(of: $0) },
            each: { outcome in
                items += 1
                console.progress(nil)
                switch outcome {
                case .results(let results, let problems):
                    for result in results { Self.tell(result, &gate, &groups, &console) }
                    for problem in problems { console.problem(problem, .badInput) }
                case .problem(let message, let members):
                    console.problem(message, .badInput, members: members)
                }
                console.flush()
                guard showsProgress, ContinuousClock.now - start > .milliseconds(300) else { return }
                console.progress("\(items)\(queue.count.map { "/\($0)" } ?? "")  \(gate.failed) failed")
            })
        console.progress(nil)
        if gate.excusesUnreachable {
            console.note("warning: not all targets were reached, which \(Flag.maxUnreachable.dashed) accepts")
        }
        let (counted, found) = gate.outcome
        console.settle(counted, found: found, forgiving: terms.exitsZero)
        console.text(groups.lines)
        console.summarize(gate.closing, source.digest + gate.members.map { ($0.0, .integer($0.1)) })
        return gate
    }

    private func outcome(of item: CheckItem) async -> Outcome {
        switch item {
        case .server(let target, let expectation, let settings, let input):
            return .results(
                await servers.results(of: target, expecting: expectation, settings, input: input), problems: [])
        case .file(let path):
            let (results, problems) = files.results(of: path)
            return .results(results, problems: problems)
        case .problem(let message, let members): return .problem(message, members)
        }
    }

    /// Prints a result: of failures for the same cause the first in full, the others by their headline.
    private static func tell(
        _ result: CheckResult, _ gate: inout Gate, _ groups: inout FailureGroups, _ console: inout Console
    ) {
        var result = result
        let judgement = gate.add(result)
        result.text.isKnown = judgement.outcome == .known
        let isFirst = result.text.isKnown ? false : groups.add(result.text, judgement.outcome)
        let explanation = isFirst ? result.text.explanation : []
        let mended = judgement.isMended ? ["  mended: it failed in the baseline"] : []
        console.result([result.text.headline] + explanation + mended, result.json)
    }
}
