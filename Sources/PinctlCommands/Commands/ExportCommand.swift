import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let export = CommandDefinition(
        name: "export", summary: "convert pins to another system's format, or check its files",
        operands: "[FILE]", operandCount: 0...1,
        flags: [.to, .from, .exportedHost, .output, .into, .check, .allow, .lossy, .at],
        notes: [
            "FILE is a policy or a file in any other dialect. The default is the policy of PINCTL_POLICY,",
            "or pins/pins.jsonc.",
            "",
            "If the target format cannot express a setting, pinctl reports whether the result is stricter",
            "or weaker, and writes nothing without --allow or --lossy. --into changes the pins in a file",
            "(android, apple, trustkit, okhttp, envoy): it adds and removes those that differ, together",
            "with the comments of pins that it removes, and leaves every other byte unchanged. If the",
            "file pins a host that has no rule in the policy, this is such a change, hosts-lost. In Kotlin",
            "or Java, the pins are the strings in the calls of add on one CertificatePinner.Builder().",
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
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let input = try arguments.exportedInput(in: environment)
            let time = try arguments.time(in: environment)
            if arguments.has(.check), arguments[.into] == nil {
                return try checkExports(of: input, arguments, time, &console)
            }
            let target = try arguments.exportTarget()
            try input.requirePins()
            let job = try ExportJob(input, to: target, host: arguments[.exportedHost], at: time)
            if arguments.has(.check), let file = arguments[.into] {
                return try job.check(file, accepting: arguments.acceptedFlags(), &console)
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
            try job.replace(in: file, &console)
        })

    /// Checks every file that the policy's `exports` list.
    private static func checkExports(
        of input: DialectInput, _ arguments: Arguments, _ time: Date, _ console: inout Console
    ) throws(UsageError) {
        let exports = try input.exports()
        guard !exports.isEmpty else {
            let advice =
                "add \"exports\": [{ \"to\": \"android\", \"file\": \"…\" }] to the policy, or name a file with --into"
            // mutant export-nothing: true by DialectTests/noExports
            guard input.dialect == .policy else {
                throw .unusable(["\(input.path) isn't a policy, so it lists no exports: \(advice)"])
            }
            return console.note("note: \(input.path) lists no exports, so there is nothing to compare: \(advice)")
        }
        for export in exports {
            do throws(UsageError) {
                let job = try ExportJob(input, to: export.dialect, host: arguments[.exportedHost], at: time)
                let flags = try arguments.acceptedFlags()
                try job.check(export.path, accepting: export.accepted.map { $0.union(flags ?? []) } ?? flags, &console)
            } catch {
                for message in error.messages {
                    console.problem(message, .badInput, members: [("file", .string(export.path))])
                }
            }
        }
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

    /// Returns the operand's policy, or else the default one.
    fileprivate func exportedInput(in environment: CommandEnvironment) throws(UsageError) -> DialectInput {
        let dialect = try dialect(.from)
        if let path = operands.first {
            return try DialectInput(path, as: dialect, sourceProjects(in: environment))
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
    /// Whether the policy expires at a time, which a header can only express as a number of seconds from each visit.
    private let hasTime: Bool

    init(_ input: DialectInput, to target: PinDialect, host: String?, at time: Date) throws(UsageError) {
        self.target = target
        source = input.path
        let converted = input.reading.policy.converted(to: target, host: host, at: time)
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
            there = try DialectInput(file, bytes, target)
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
                            "\(pattern.title()) loses its pins in \(file), because the policy has no rule for it",
                            at: rule.location)
                        : ConversionNote(
                            .scopeNarrowed, .weaker,
                            "names below \(pattern.host) lose their pins in \(file), because the policy has no rule "
                                + "for them",
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
        let there = try DialectInput(file, as: target, host: host)
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
    func check(
        _ file: String, accepting accepted: Set<ConversionChange>?, _ console: inout Console
    ) throws(UsageError) {
        var members: [(String, JSON)] = [("file", .string(file)), ("to", .string(target.rawValue))]
        if let refusal {
            return console.result(
                ["FAIL  \(file)  cannot express this policy: \(refusal)"],
                .object(members + [("notes", .array([.string(refusal.description)]))]), .finding)
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
            return console.result(
                ["\(isRefused ? "FAIL" : "ok  ")  \(file)  \(words)"] + losses.map { "      \($0)" },
                .object(members + [("notes", .array(losses.map { .string($0.description) }))]),
                isRefused ? .finding : .good)
        }
        console.result(
            [
                "FAIL  \(file)  differs from the policy: \(remedy(for: file, accepting: accepted))"
            ] + differences.map { "      \($0)" },
            .object(members), .finding)
    }

    /// Returns the command that writes a file again. It accepts every change that this makes.
    func remedy(for file: String, accepting accepted: Set<ConversionChange>?) -> String {
        let removals = target.isPartOfFiles ? (try? removals(from: file)) ?? [] : []
        let changes = losses(besides: accepted).map(\.change) + removals.map(\.change)
        let flags = Set(changes.map(\.rawValue)).sorted().map { " \(Flag.allow.dashed) \($0)" }
        let command = "pinctl export --to \(target.rawValue)\(flags.joined())"
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

    /// Replaces the pins in a file.
    func replace(in file: String, _ console: inout Console) throws(UsageError) {
        let bytes = try DialectInput.contents(file)
        let json: [(String, JSON)] = [("file", .string(file)), ("to", .string(target.rawValue))]
        var differences: [CanonicalDifference] = []
        if let there = try? DialectInput(file, bytes, target) {
            differences = self.differences(in: there)
            guard !differences.isEmpty else {
                return console.result(
                    ["\(file) already matches the policy"], .object(json + [("changed", .bool(false))]))
            }
        }
        let replaced = try replaced(bytes, path: file)
        do throws(NewFileError) {
            try replaceFile(file, replaced)
        } catch {
            throw .unusable(["\(file): \(error)"])
        }
        // Report what changed, since pins that were only in the file are lost.
        for difference in differences {
            console.note("note: \(file): \(visibleText(difference.host)): \(difference.change)")
        }
        for comment in target.comments(in: bytes).without(target.comments(in: replaced)) {
            console.note("note: \(file): removed the comment \(quoted(comment))")
        }
        console.result(["wrote \(file)"], .object(json + [("changed", .bool(true))]))
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
