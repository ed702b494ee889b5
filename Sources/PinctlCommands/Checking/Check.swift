import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

/// A run of `check`: its items, its settings, and the way its results count.
struct Check: Sendable {
    let source: PinSource
    private let queue: CheckQueue
    let probe: ServerProbe
    let judge: ChainJudge
    private let files: FileCheck
    private let checksFiles: Bool
    /// Whether the run was given roots, which rules with anchors of their own don't use.
    private let hasRootFiles: Bool
    /// The key exchange group of the command line, which overrides those of rules.
    let requiredGroup: String?
    /// The gate before the first result.
    private let gate: Gate
    private let showsProgress: Bool
    /// Whether the text output omits good results and failures that the baseline contains.
    private let hidesGood: Bool
    private let lists: [String]
    /// Whether results are printed in the order of the targets instead of as they finish.
    private let isOrdered: Bool
    private let isInterrupted: @Sendable () -> Bool
    /// Whether a target list may be empty, because it may be one part of a list that another tool splits.
    private let acceptsNothing: Bool

    /// The number of results that may wait for a slower one before them, for each target that is checked concurrently.
    private static let windowFactor = 16

    init(_ arguments: Arguments, in environment: CommandEnvironment) throws(UsageError) {
        // Errors in the arguments themselves are reported before any file is opened.
        let targets = arguments.has(.files) ? [] : try arguments.targets()
        let endpoint = try arguments.checkedHost()
        if arguments.has(.allowMissing), !arguments.has(.files) {
            throw .unusable(["\(Flag.allowMissing.dashed) applies to \(Flag.files.dashed): leave it out"])
        }
        let lists = arguments.all(.targets)
        let password = try arguments.password()
        probe = try ServerProbe(arguments, in: environment, password: password)
        let period = try arguments.warningPeriod()
        gate = try arguments.gate()
        var judge = try ChainJudge(arguments, in: environment)
        judge.clientStores = try arguments.clientStores()
        hasRootFiles = arguments.has(.caFile)
        judge.warningPeriod = period
        var source = try arguments.pinSource()
        if case .none = source { source = .policy(try Arguments.usualPolicy(in: environment)) }
        if case .policy(let file) = source {
            judge.exports = try Self.exports(of: file, SourceProjects([], variables: environment.variables()))
            judge.bundle = file.bundle
        }
        let named =
            try arguments.has(.files) ? Self.files(arguments) : Self.servers(targets, source, hasLists: !lists.isEmpty)
        guard !named.isEmpty || !lists.isEmpty else { throw .missingOperand(arguments.command) }
        requiredGroup = try arguments.requiredGroup()
        if !arguments.has(.files), requiredGroup == nil { try Self.checkGroups(of: source) }
        self.source = source
        self.judge = judge
        files = FileCheck(
            source: source, judge: judge, reader: InputReader(password: password), endpoint: endpoint,
            acceptsUnread: arguments.has(.allowUnread), acceptsMissing: arguments.has(.allowMissing))
        checksFiles = arguments.has(.files)
        queue = CheckQueue(named: named, lists: lists, by: source)
        self.lists = lists
        acceptsNothing = arguments.has(.ndjson) && !lists.isEmpty
        showsProgress = environment.terminal.showsProgress
        hidesGood = arguments.has(.failures)
        // Files take no time. A document is compared with others, and is complete only at its end.
        isOrdered = arguments.has(.inOrder) || arguments.has(.json) || arguments.has(.files)
        isInterrupted = environment.isInterrupted
    }

    /// Returns the files that the policy exports. A file that can't be read fails the run, because its clients aren't
    /// checked.
    private static func exports(
        of file: PolicyFile, _ projects: SourceProjects
    ) throws(UsageError) -> [ExportedPins] {
        var exports: [ExportedPins] = []
        for export in try ExportedFile.all(of: file) {
            do throws(UsageError) {
                exports += try ExportedPins.all(
                    in: try DialectInput.contents(export.path), of: export, for: CanonicalPolicy(file),
                    project: projects.project(of: export.path))
            } catch {
                throw .unusable(
                    error.messages.map {
                        "\($0): the policy exports this file (\(export.location)), so it is checked too"
                    })
            }
        }
        return exports
    }

    /// Throws if a rule requires a key exchange group that no connection offers.
    private static func checkGroups(of source: PinSource) throws(UsageError) {
        guard case .policy(let file) = source else { return }
        for rule in file.policy.rules {
            guard let group = rule.check.requiredGroup, let problem = try Arguments.problem(with: group) else {
                continue
            }
            throw .unusable(["\(rule.location?.description ?? file.path): \"requireGroup\": \(problem)"])
        }
    }

    private static func files(_ arguments: Arguments) throws(UsageError) -> [CheckItem] {
        guard !arguments.has(.targets) else {
            throw .unusable(["--files and --targets cannot be used together: check files and servers in two runs"])
        }
        guard !arguments.operands.isEmpty else {
            throw .unusable(["--files requires FILE…: give chains, certificate requests or keys, or omit it"])
        }
        var problems: [CheckItem] = []
        var paths: [InputPath] = []
        for operand in arguments.operands {
            do throws(InputProblem) {
                paths += try InputPath.all(of: operand)
            } catch {
                problems.append(.problem("\(operand): \(error.reason)", [("file", .string(operand))]))
            }
        }
        return [.files(paths)] + problems
    }

    /// Returns the targets of the arguments, or those of the policy if there are none, each once.
    private static func servers(
        _ named: [Target], _ source: PinSource, hasLists: Bool
    ) throws(UsageError) -> [CheckItem] {
        let targets = try named.isEmpty && !hasLists ? source.targets() : named.map { ($0, nil) }
        var seen: Set<Target> = []
        var items: [CheckItem] = []
        for (target, rule) in targets where seen.insert(target).inserted {
            items.append(source.item(for: target, listedBy: rule))
        }
        return items
    }

    /// The outcome of one item.
    struct Outcome: Sendable {
        var results: [CheckResult] = []
        /// The problems with what couldn't be read, each with members that give its position.
        var problems: [(message: String, members: [(String, JSON)])] = []
        /// The notes about files that were skipped, and addresses without a route.
        var notes: [String] = []
        var coverage = FileCheck.Coverage()
        /// The number of files that aren't checked because of what they are, by their kind.
        var irrelevant: [String: Int] = [:]
        /// The number of files that weren't understood, wholly or in part.
        var unread = 0
        /// Whether a proxy chose the only address that was checked.
        var isAddressChosenByProxy = false
    }

    /// Checks all items and prints the results as they finish, or in their order.
    ///
    /// The data for reports is kept only if `keepsResults` is true. A report is in the order of the items.
    func run(_ console: inout Console, keepsResults: Bool) async -> Report {
        var gate = gate
        var report = Report(command: "check", time: judge.time, policy: source.path)
        if case .policy(let file) = source { console.note(of: file) }
        noteAnchors(&console)
        var items = 0
        var printed = PrintedRemedies()
        var pattern = RunPattern()
        var coverage = FileCheck.Coverage()
        var irrelevant: [String: Int] = [:]
        var unread = 0
        var proxied = 0
        var missing: [String] = []
        let pending = Locked(PendingTargets())
        var entries: [(item: Int, entry: ReportEntry)] = []
        func add(_ result: CheckResult, of item: Int) {
            let result = gate.add(result)
            show(result, isFirst: !result.isKnown && report.group(result, of: item), &printed, &console)
            pattern.add(result, of: item)
            if keepsResults { entries.append((item, ReportEntry(result))) }
        }
        func showProgress() {
            if showsProgress { console.progress(gate.progress(items, of: queue.count)) }
        }
        showProgress()
        let isStopped = await concurrently(
            {
                let next = await queue.next()
                pending.withLock { $0.add(next) }
                return next
            }, atOnce: probe.jobs, inOrder: isOrdered, window: probe.jobs * Self.windowFactor,
            until: interruption, work: { await outcome(of: $0) },
            each: { item, outcome in
                items += 1
                pending.withLock { $0.remove(item) }
                if outcome.isAddressChosenByProxy { proxied += 1 }
                console.progress(nil)
                coverage.formUnion(outcome.coverage)
                irrelevant.merge(outcome.irrelevant) { $0 + $1 }
                unread += outcome.unread
                for note in outcome.notes { console.note(note) }
                for result in outcome.results { add(result, of: item) }
                for (message, members) in outcome.problems {
                    console.problem(message, .badInput, members: members)
                    if keepsResults { entries.append((item, ReportEntry(problem: message, members))) }
                }
                console.flush()
                showProgress()
            })
        console.progress(nil)
        if isStopped, items != queue.count {
            let message = pending.withLock { $0.interruption(after: items, of: queue.count) }
            console.problem(message, .interrupted)
            if keepsResults { entries.append((Int.max, ReportEntry(problem: message, []))) }
        } else {
            let lacking = files.lacking(coverage)
            if files.acceptsMissing, !lacking.isEmpty {
                missing = lacking.map(\.subject)
                // The note is the only sign of these hosts, so it names all of them.
                console.note(
                    "note: no certificate in the files is valid for \(missing.joined(separator: ", ")) "
                        + "(accepted by \(Flag.allowMissing.dashed))")
            } else {
                for result in lacking { add(result, of: items) }
            }
        }
        if proxied > 0 {
            console.note(
                "note: the proxy chose the address of \(plural(proxied, "target")), so other addresses of "
                    + "\(proxied == 1 ? "its name" : "their names") were not checked")
        }
        // mutant exit-nothing: false for 1 by CheckTests/emptyLists
        if gate.checked == 0, console.status == .good, !acceptsNothing {
            let names = lists.map(DialectInput.title).joined(separator: ", ")
            console.problem(
                "\(Flag.targets.dashed): nothing to check in \(names): give at least one target", .badInput)
        }
        if gate.excusesUnreachable {
            console.note("warning: some targets were unreachable, which \(Flag.maxUnreachable.dashed) allows")
        }
        let (counted, found) = gate.outcome
        console.settle(counted, found: found, forgiving: gate.exitsZero)
        report.entries = entries.enumerated().sorted { ($0.element.item, $0.offset) < ($1.element.item, $1.offset) }
            .map(\.element.entry)
        report.sortGroups()
        if let group = pattern.group(at: judge.time, isChosen: judge.isTimeChosen) {
            report.lead(with: group)
        }
        report.rules = Report.checkRules
        report.closing = console.closing(
            gate.closing + Self.closing(irrelevant, unread: unread)
                + (missing.isEmpty ? "" : "; \(plural(missing.count, "host")) without a certificate"))
        if report.hasSharedCause || console.rowCount > Report.shownRows {
            console.text(report.groupLines(columns: console.columns))
        }
        var members = source.digest + gate.members.map { ($0.0, .integer($0.1)) }
        if checksFiles {
            members += [
                ("irrelevant", .integer(irrelevant.values.reduce(0, +))), ("unread", .integer(unread)),
                ("missing", .array(missing.map { .string($0) })),
            ]
        }
        console.summarize(report.closing, members)
        return report
    }

    /// A function that returns when the user has interrupted the command, or `nil` if the system ends the command.
    private var interruption: (@Sendable () async -> Void)? {
        guard !checksFiles, (try? Transport.shared.start()) != nil else { return nil }
        return {
            while !isInterrupted(), !Task.isCancelled { await Transport.shared.pause(for: .milliseconds(50)) }
        }
    }

    /// Returns the end of the closing line about files that weren't checked.
    private static func closing(_ irrelevant: [String: Int], unread: Int) -> String {
        let kinds = irrelevant.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.key): \($0.value)" }
        let count = irrelevant.values.reduce(0, +)
        return (count == 0 ? "" : "; \(plural(count, "irrelevant file")) (\(kinds.joined(separator: ", ")))")
            + (unread == 0 ? "" : "; \(plural(unread, "file")) not understood")
    }

    private func outcome(of item: CheckItem) async -> Outcome {
        switch item {
        case .server(let target, let settings, let rule, let input):
            await outcome(of: target, settings, rule: rule, input: input)
        case .files(let paths): files.outcome(of: paths)
        case .problem(let message, let members): Outcome(problems: [(message, members)])
        }
    }

    /// Notes the hosts that `--store` and `--ca-file` don't apply to.
    private func noteAnchors(_ console: inout Console) {
        guard case .policy(let file) = source else { return }
        let hosts = file.policy.rules.filter { $0.anchors != nil }.map { "\($0.host)" }
        // mutant check-ca-file-note: false for `hasRootFiles` by GateTests/anchorsNote
        for (flag, isGiven) in [(Flag.store, !judge.clientStores.isEmpty), (.caFile, hasRootFiles)] where isGiven {
            if let note = flag.note(onAnchorsOf: hosts) { console.note(note) }
        }
    }

    /// Prints a result. The first failure for each cause is printed in full, the others in one line without the remedy,
    /// and known ones only with their headline.
    private func show(
        _ result: CheckResult, isFirst: Bool, _ printed: inout PrintedRemedies, _ console: inout Console
    ) {
        let explanation =
            isFirst
            ? printed.shortened(result.explanation(columns: console.columns), for: visibleText(result.subject)) : []
        let fixed = result.isFixed ? ["  fixed: it failed in the baseline"] : []
        let isHidden = hidesGood && (result.severity == .ok && !result.isFixed || result.isKnown)
        let headline = isFirst || result.isKnown ? result.headline : result.shortHeadline
        console.result(isHidden ? [] : [headline] + explanation + fixed, result.json)
    }
}
