import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let export = CommandDefinition(
        name: "export", summary: "convert pins to another system's format, or check its files",
        operands: "[FILE]", operandCount: 0...1,
        flags: [
            .to, .from, .exportedHost, .output, .into, .update, .check, .exportedMode, .allow, .lossy, .at,
        ],
        notes: [
            "FILE is a policy or a file in any other dialect. The default is the policy of PINCTL_POLICY,",
            "or pins/pins.jsonc.",
            "",
            "If the target format cannot express a setting, pinctl reports whether the result is stricter",
            "or weaker, and writes nothing without --allow or --lossy. --into changes the pins in a file",
            "(android, apple, trustkit, okhttp, git, envoy, map): it adds and removes those that differ,",
            "together with the comments of pins that it removes, and leaves every other byte unchanged. If",
            "the file pins a host that has no rule in the policy, this is such a change, hosts-lost. In",
            "Kotlin or Java, the pins are the strings in the calls of add on one",
            "CertificatePinner.Builder(). In the literals of other programs, of JSON and of YAML (map,",
            "trustkit, apple), pinctl changes the digests in place. A host that isn't there gets a copy of",
            "the entry of one that has the same settings.",
            "",
            "--update does this with every file that the policy lists in \"exports\", or with none of them",
            "if a change needs to be allowed or a file can't be changed. With --mode report, apps report",
            "what their pins would reject. A format without reports goes on rejecting it, mode-lost.",
            "",
            "--check writes nothing. It compares the policy with the file of --into, or without --into",
            "with every file that the policy lists in \"exports\", and exits with 1 if they differ. A policy",
            "without \"exports\" is fine. An element of \"exports\" can list the changes that are accepted in",
            "its file, such as \"allow\": [\"role-lost\"]. They need no --allow, and any other change is a",
            "difference.",
        ],
        examples: [
            ("Write the rules for TrustKit", "pinctl export --to trustkit pins.jsonc"),
            (
                "Replace only the pins in an Info.plist",
                "pinctl export --to apple --into ios/Info.plist pins.jsonc"
            ),
            ("Fail if an exported file differs from the policy", "pinctl export --check pins.jsonc"),
            (
                "Stop rejecting servers in every exported file",
                "pinctl export --update --mode report --allow mode-lost pins.jsonc"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let projects = arguments.sourceProjects(in: environment)
            let input = try arguments.exportedInput(in: environment, projects)
            let time = try arguments.time(in: environment)
            if arguments.has(.update) {
                return try updateExports(of: input, arguments, time, projects, &console)
            }
            if arguments.has(.check), arguments[.into] == nil {
                return try checkExports(of: input, arguments, time, projects, &console)
            }
            let target = try arguments.exportTarget()
            try input.requirePins()
            let job = try arguments.exportJob(input, to: target, at: time, projects)
            if arguments.has(.check), let file = arguments[.into] {
                try job.check(file, accepting: arguments.acceptedFlags(), &console)
                return
            }
            let accepted = try input.acceptedChanges(in: target, file: arguments[.into] ?? arguments[.output])
            let removals = try arguments[.into].map { file throws(UsageError) in try job.removals(from: file) } ?? []
            guard try console.report(job.notes + removals, arguments, accepting: accepted) else { return }
            guard let file = arguments[.into] else {
                let text = try arguments.text(of: job.policy, in: target, for: arguments[.output] ?? "")
                return try arguments.deliver(text, arguments.members([input], job.notes), to: &console)
            }
            guard arguments[.output] == nil else {
                throw .unusable(["--into and --output cannot be used together: give one of them"])
            }
            let change = try job.change(of: file, try DialectInput.contents(file))
            if let contents = change.contents { try replace([(file, contents)]) }
            change.report(&console)
        })

    /// Checks every file that the policy's `exports` list.
    private static func checkExports(
        of input: DialectInput, _ arguments: Arguments, _ time: Date, _ projects: SourceProjects,
        _ console: inout Console
    ) throws(UsageError) {
        let exports = try input.exports()
        guard !exports.isEmpty else {
            // mutant export-nothing: true by DialectTests/noExports
            guard input.dialect == .policy else { throw noExports(of: input) }
            return console.note(
                "note: \(input.path) lists no exports, so there is nothing to compare: \(Self.exportAdvice)")
        }
        var drifted = 0
        for export in exports {
            do throws(UsageError) {
                let job = try arguments.exportJob(input, to: export.dialect, host: export.host, at: time, projects)
                let flags = try arguments.acceptedFlags()
                let accepted = export.accepted.map { $0.union(flags ?? []) } ?? flags
                if try job.check(export.path, accepting: accepted, &console) { drifted += 1 }
            } catch {
                export.report(error, &console)
            }
        }
        if drifted > 1 {
            console.note("note: pinctl export \(Flag.update.dashed) \(input.path) changes all of these files")
        }
    }

    /// Replaces the contents of these files.
    private static func replace(_ files: [(path: String, bytes: [UInt8])]) throws(UsageError) {
        do throws(FilesError) {
            try replaceFiles(files)
        } catch {
            let before = error.replaced.isEmpty ? "" : " (changed before: \(error.replaced.joined(separator: ", ")))"
            throw .unusable(["\(error.path): \(error.reason)\(before)"])
        }
    }

    private static let exportAdvice =
        "add \"exports\": [{ \"to\": \"android\", \"file\": \"…\" }] to the policy, or name a file with --into"

    private static func noExports(of input: DialectInput) -> UsageError {
        .unusable([
            "\(input.path) \(input.dialect == .policy ? "" : "isn't a policy, so it ")lists no exports: \(exportAdvice)"
        ])
    }

    /// Changes every file that the policy's `exports` list, or none if one of them can't be changed as it has to be.
    private static func updateExports(
        of input: DialectInput, _ arguments: Arguments, _ time: Date, _ projects: SourceProjects,
        _ console: inout Console
    ) throws(UsageError) {
        for flag in [Flag.into, .output, .to, .check] where arguments.has(flag) {
            throw .unusable([
                "\(Flag.update.dashed) and \(flag.dashed) cannot be used together: give one of them"
            ])
        }
        try input.requirePins()
        let exports = try input.exports()
        guard !exports.isEmpty else { throw noExports(of: input) }
        var changes: [FileChange] = []
        // The new contents. A file can have the pins of two systems.
        var contents: [String: [UInt8]] = [:]
        for export in exports {
            do throws(UsageError) {
                let job = try arguments.exportJob(input, to: export.dialect, host: export.host, at: time, projects)
                let notes = job.notes + (job.target.isPartOfFiles ? try job.removals(from: export.path) : [])
                if !notes.isEmpty { console.note("note: \(export.path), in the format \(job.target.rawValue):") }
                guard try console.report(notes, arguments, accepting: export.accepted ?? []) else { continue }
                let file = resolvedPath(export.path) ?? export.path
                let known = contents[file]
                let bytes = if let known { known } else { try DialectInput.contents(export.path) }
                let change = try job.change(of: export.path, bytes)
                if let new = change.contents { contents[file] = new }
                changes.append(change)
            } catch {
                export.report(error, &console)
            }
        }
        // mutant export-update: true by ExportUpdateTests/refused
        guard changes.count == exports.count else {
            return console.note("note: no file was changed, because \(exports.count - changes.count) can't be")
        }
        try replace(contents.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
        for change in changes { change.report(&console) }
        guard let mode = arguments[.exportedMode] else { return }
        console.note(
            "note: \(input.path) is unchanged, so programs that load it, and pinctl export --check without "
                + "\(Flag.exportedMode.dashed) \(mode), go by its own modes")
    }
}

extension Arguments {
    /// Returns the dialect of `--to`, or else the only one of the file of `--into`.
    fileprivate func exportTarget() throws(UsageError) -> PinDialect {
        if let target = try dialect(.to) { return target }
        guard let file = self[.into] else { throw .missingFlag(.to) }
        let dialects = PinDialect.allRecognized(in: try DialectInput.contents(file))
        // mutant export-into-dialect: false by DialectTests/intoWithoutTo
        guard dialects.count == 1 else { throw .missingFlag(.to) }
        return dialects[0]
    }

    /// Returns the job that converts a policy to a target as the flags say.
    fileprivate func exportJob(
        _ input: DialectInput, to target: PinDialect, host: String? = nil, at time: Date, _ projects: SourceProjects
    ) throws(UsageError) -> ExportJob {
        let mode = try choice(.exportedMode).flatMap(PinningMode.init)
        return try ExportJob(input, to: target, host: host ?? self[.exportedHost], mode: mode, at: time, projects)
    }

    /// Returns the operand's policy, or else the default one.
    fileprivate func exportedInput(
        in environment: CommandEnvironment, _ projects: SourceProjects
    ) throws(UsageError) -> DialectInput {
        let dialect = try dialect(.from)
        if let path = operands.first {
            return try DialectInput(path, as: dialect, projects)
        }
        let path = Self.usualPolicyPath(in: environment)
        do throws(UsageError) {
            return try DialectInput(path, as: dialect)
        } catch {
            throw .unusable(Self.messages(error.messages, onUnnamedPolicy: path, "name a FILE"))
        }
    }
}

/// A policy converted to the form that a target can express.
struct ExportJob {
    let target: PinDialect
    let policy: CanonicalPolicy
    let notes: [ConversionNote]
    private let source: String
    /// The only host whose rule is exported, if any.
    private let host: String?
    private let mode: PinningMode?
    /// The projects of the files, in which programs have constants.
    private let projects: SourceProjects
    /// Whether the policy expires at a time, which a header can only express as a number of seconds from each visit.
    private let hasTime: Bool

    /// With a mode, each rule that isn't off gets it.
    init(
        _ input: DialectInput, to target: PinDialect, host: String?, mode: PinningMode? = nil, at time: Date,
        _ projects: SourceProjects
    ) throws(UsageError) {
        self.target = target
        self.host = host
        self.mode = mode
        self.projects = projects
        source = input.path
        var original = input.reading.policy
        if let mode {
            // mutant export-mode: true for `original.rules[index].mode != .off` by ExportUpdateTests
            for index in original.rules.indices where original.rules[index].mode != .off {
                original.rules[index].mode = mode
            }
        }
        let converted = original.converted(to: target, host: host, at: time)
        policy = converted.policy
        notes = input.reading.notes + converted.notes
        hasTime = input.reading.policy.rules.contains { rule in
            if case .age? = rule.expiry?.moment { false } else { rule.expiry != nil }
        }
    }

    /// The reason why no file of the target can contain the policy, or `nil` if one can.
    var refusal: ConversionNote? { notes.first { $0.direction == .impossible } }

    /// Returns the changes that aren't accepted. These are all of them if no accepted changes were given.
    func losses(besides accepted: Set<ConversionChange>?) -> [ConversionNote] {
        notes.filter { $0.isLoss && !(accepted?.contains($0.change) ?? false) }
    }

    /// Returns a note on each rule of a file whose hosts have no rule in the policy, because they are no longer pinned
    /// after a replacement.
    func removals(from file: String) throws(UsageError) -> [ConversionNote] {
        let bytes = try DialectInput.contents(file)
        let there: DialectInput
        do throws(UsageError) {
            there = try DialectInput(file, bytes, target, project: projects.project(of: file))
        } catch {
            // A file without pins has nothing to lose. What is in one with problems isn't known.
            guard PinDialect.allRecognized(in: bytes).contains(target) else { return [] }
            if refusal == nil { _ = try replaced(bytes, path: file) }
            return error.messages.map { message in
                ConversionNote(
                    .splitLost, .either, "the pins in \(file) can't be read, and are replaced: \(message)", at: nil)
            }
        }
        let next = ShippedPolicy(policy, of: target)
        var notes: [ConversionNote] = []
        for rule in there.reading.policy.rules where rule.mode != .off && !rule.pins.isEmpty {
            for pattern in rule.patterns {
                let names = pattern.samples
                let lost = names.filter { next.rules(for: $0).isEmpty }
                guard !lost.isEmpty else { continue }
                notes.append(
                    lost.count == names.count
                        ? ConversionNote(
                            .splitLost, .weaker,
                            "\(pattern.title()) loses its pins in \(file), because no rule of the policy pins it",
                            at: rule.location)
                        : ConversionNote(
                            .scopeNarrowed, .weaker,
                            "names below \(pattern.host) lose their pins in \(file), because no rule of the policy "
                                + "pins them",
                            at: rule.location))
            }
        }
        return notes
    }

    /// Returns the differences between a file's meaning and the policy.
    func differences(in file: String) throws(UsageError) -> [CanonicalDifference] {
        // A header doesn't contain its host, and a validation context may not.
        let isAlone = [.hpkp, .envoy].contains(target) && policy.rules.count == 1
        let host = isAlone ? policy.rules.first?.patterns.first?.host : nil
        let there = try DialectInput(file, as: target, host: host, projects)
        if let obstacle = there.reading.obstacle { throw .unusable(["\(obstacle)"]) }
        return differences(in: there)
    }

    private func differences(in there: DialectInput) -> [CanonicalDifference] {
        // One pattern per rule, so that two ways to write the same thing are equal.
        let found = there.reading.policy.split
        var policy = policy
        // If the policy names no roots, the file's own roots are kept, unless they bypass the pins.
        for index in policy.rules.indices {
            let existing = found.rules.first { $0.patterns == policy.rules[index].patterns }
            // A header is sent again with every response, so a shorter max-age doesn't outlast the rule. The time that
            // is left until a rule expires shrinks, and must not turn a file that was just written into another one.
            if case .age(let rest)? = policy.rules[index].expiry?.moment,
                case .age(let age)? = existing?.expiry?.moment,
                // mutant export-header: true for `rest > 0` by DialectTests/expiringHeader
                (1...max(1, hasTime && rest > 0 ? RuleExpiry.longestAge : rest)).contains(age)
            {
                policy.rules[index].expiry = existing?.expiry
            }
            guard policy.rules[index].anchors == nil else { continue }
            if let anchors = existing?.anchors, !anchors.contains(where: \.bypassesPins) {
                policy.rules[index].anchors = anchors
            }
        }
        return policy.differences(in: found)
    }

    /// Compares a file with the policy. If `accepted` is given, any other change is a finding too.
    ///
    /// Returns whether the file has to be changed.
    @discardableResult
    func check(
        _ file: String, accepting accepted: Set<ConversionChange>?, _ console: inout Console
    ) throws(UsageError) -> Bool {
        var members: [(String, JSON)] = [("file", .string(file)), ("to", .string(target.rawValue))]
        if let refusal {
            console.result(
                ["FAIL  \(file)  cannot express this policy: \(refusal)"],
                .object(members + [("notes", .array([.string(refusal.description)]))]), .finding)
            return false
        }
        let differences = try differences(in: file)
        members.append(("differences", .array(differences.map { .string($0.description) })))
        // mutant export-drift: false by DialectTests
        guard !differences.isEmpty else {
            let losses = losses(besides: accepted)
            let isRefused = accepted != nil && !losses.isEmpty
            let words =
                isRefused
                ? "differs from the policy in ways that \"allow\" does not list: \(Self.acceptance(of: losses))"
                : notes.contains(where: \.isLoss)
                    ? "matches the policy as far as its format allows" : "matches the policy"
            console.result(
                ["\(isRefused ? "FAIL" : "ok  ")  \(file)  \(words)"] + losses.map { "      \($0)" },
                .object(members + [("notes", .array(losses.map { .string($0.description) }))]),
                isRefused ? .finding : .good)
            return false
        }
        console.result(
            [
                "FAIL  \(file)  differs from the policy: \(remedy(for: file, accepting: accepted))"
            ] + differences.map { "      \($0)" },
            .object(members), .finding)
        return target.isPartOfFiles
    }

    /// Returns the command that writes a file again. It accepts every change that this makes.
    func remedy(for file: String, accepting accepted: Set<ConversionChange>?) -> String {
        let removals = target.isPartOfFiles ? (try? removals(from: file)) ?? [] : []
        let changes = losses(besides: accepted).map(\.change) + removals.map(\.change)
        let flags = Set(changes.map(\.rawValue)).sorted().map { " \(Flag.allow.dashed) \($0)" }
        let host = host.map { " \(Flag.exportedHost.dashed) \($0)" } ?? ""
        let mode = mode.map { " \(Flag.exportedMode.dashed) \($0.rawValue)" } ?? ""
        let command = "pinctl export --to \(target.rawValue)\(host)\(mode)\(flags.joined())"
        return target.isPartOfFiles
            ? "write it again with \(command) --into \(file) \(source)"
            : "replace its pins with the output of \(command) \(source)"
    }

    /// Returns the remedy for changes that were reviewed.
    static func acceptance(of losses: [ConversionNote]) -> String {
        let names = Set(losses.map(\.change.rawValue)).sorted().map { "\"\($0)\"" }
        return
            "change the policy, or add \(names.joined(separator: ", ")) to \"allow\" if this difference is acceptable"
    }

    /// Returns the change of a file that gives it the pins of the policy.
    func change(of file: String, _ bytes: [UInt8]) throws(UsageError) -> FileChange {
        var change = FileChange(
            path: file, target: target,
            rest: notes.contains { $0.change == .modeLost } ? ", but goes on rejecting servers" : "")
        if let there = try? DialectInput(file, bytes, target, project: projects.project(of: file)) {
            let differences = self.differences(in: there)
            guard !differences.isEmpty else { return change }
            // Pins that were only in the file are lost.
            change.notes = differences.map { "\(visibleText($0.host)): \($0.change)" }
        }
        let replaced = try replaced(bytes, path: file)
        change.contents = replaced
        change.notes += target.comments(in: bytes).without(target.comments(in: replaced)).map {
            "removed the comment \(quoted($0))"
        }
        return change
    }

    /// Returns a file's contents with the pins of the policy.
    private func replaced(_ bytes: [UInt8], path: String) throws(UsageError) -> [UInt8] {
        do throws(DialectWriteError) {
            return try target.replacing(bytes, path: path, with: policy)
        } catch {
            throw .unusable([error.location == nil ? "\(path): \(error)" : "\(error)"])
        }
    }
}

extension ExportedFile {
    /// Reports an error of the file at the element that names it.
    fileprivate func report(_ error: UsageError, _ console: inout Console) {
        for message in error.messages {
            console.problem("\(location): \(message)", .badInput, members: [("file", .string(path))])
        }
    }
}

/// The contents that a file of exported pins will have.
struct FileChange {
    let path: String
    let target: PinDialect
    /// The new contents, or `nil` if the file already matches the policy.
    var contents: [UInt8]?
    /// The changes, in words.
    var notes: [String] = []
    /// The part of the policy that its format can't express, in words.
    let rest: String

    init(path: String, target: PinDialect, rest: String) {
        self.path = path
        self.target = target
        self.rest = rest
    }

    /// Reports what changed.
    func report(_ console: inout Console) {
        let json: [(String, JSON)] = [("file", .string(path)), ("to", .string(target.rawValue))]
        for note in notes { console.note("note: \(path): \(note)") }
        console.result(
            [contents == nil ? "\(path) already matches the policy\(rest)" : "wrote \(path)\(rest)"],
            .object(json + [("changed", .bool(contents != nil))]))
    }
}

extension HostPattern {
    /// Names that the pattern covers: the host and one below it, as far as they belong to the pattern. Empty if it
    /// covers every host.
    fileprivate var samples: [String] {
        switch scope {
        case .exact: [host]
        case .oneLabelBelow: ["any." + host]
        case .exactAndOneLabelBelow, .exactAndBelow: [host, "any." + host]
        case .every: []
        }
    }
}

extension [String] {
    /// Returns the texts that aren't in another list as often as here.
    fileprivate func without(_ others: [String]) -> [String] {
        var others = others
        return filter { text in
            guard let index = others.firstIndex(of: text) else { return true }
            others.remove(at: index)
            return false
        }
    }
}

extension Arguments {
    /// Returns the changes that the flags accept, or `nil` without such a flag.
    fileprivate func acceptedFlags() throws(UsageError) -> Set<ConversionChange>? {
        let changes = try allowedChanges()
        return changes.isEmpty ? nil : changes
    }
}
