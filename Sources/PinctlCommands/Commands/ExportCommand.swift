import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

extension CommandDefinition {
    static let export = CommandDefinition(
        name: "export", summary: "write pins as another system reads them, or compare its file",
        operands: "[FILE]", operandCount: 0...1,
        flags: [.to, .from, .exportedHost, .output, .into, .check, .allow, .lossy, .at],
        notes: [
            "FILE is a policy or any other dialect; without it, the policy of PINCTL_POLICY, else",
            "pins/pins.jsonc. What the target cannot say is told with the way that security moves,",
            "and refused without --lossy. --into replaces the pins in a file (android, apple, trustkit) and leaves the",
            "rest byte for byte. --check writes nothing: it compares what the file of --into means, or",
            "without --into every file that the policy's \"exports\" name, and exits with 1 on a",
            "difference.",
        ],
        examples: [
            ("the rules for TrustKit", "pinctl export --to trustkit pins.jsonc"),
            (
                "replace the pins of an Info.plist and nothing else",
                "pinctl export --to apple --into ios/Info.plist pins.jsonc"
            ),
            ("fail when a file that the policy exports means something else", "pinctl export --check pins.jsonc"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let path = arguments.operands.first ?? Arguments.usualPolicyPath(in: environment)
            let input = try DialectInput(path, as: arguments.dialect(.from))
            let time = try arguments.time(in: environment)
            if arguments.has(.check), arguments[.into] == nil {
                return try checkExports(of: input, arguments, time, &console)
            }
            guard let target = try arguments.dialect(.to) else { throw .missingFlag(.to) }
            try input.requirePins()
            let job = try ExportJob(input, to: target, host: arguments[.exportedHost], at: time)
            if arguments.has(.check), let file = arguments[.into] {
                return try job.check(file, &console)
            }
            guard try console.tell(job.notes, arguments) else { return }
            guard let file = arguments[.into] else {
                return try arguments.deliver(
                    arguments.text(of: job.policy, in: target), from: input, job.notes, to: &console)
            }
            guard arguments[.output] == nil else {
                throw .unusable(["--into and --output exclude each other: give one of them"])
            }
            try job.replace(in: file, &console)
        })

    /// Every file that the policy's `exports` name, beside the policy.
    private static func checkExports(
        of input: DialectInput, _ arguments: Arguments, _ time: Date, _ console: inout Console
    ) throws(UsageError) {
        let exports = try input.exports()
        guard !exports.isEmpty else {
            throw .unusable([
                "\(input.path) names no exports: give it \"exports\": [{ \"to\": \"android\", \"file\": \"…\" }], "
                    + "or name a file with --into"
            ])
        }
        for export in exports {
            do throws(UsageError) {
                let job = try ExportJob(input, to: export.dialect, host: arguments[.exportedHost], at: time)
                try job.check(export.file, &console)
            } catch {
                for message in error.messages {
                    console.problem(message, .badInput, members: [("file", .string(export.file))])
                }
            }
        }
    }
}

/// A policy in the form that one target can say.
struct ExportJob {
    let target: PinDialect
    let policy: CanonicalPolicy
    let notes: [ConversionNote]
    private let source: String

    init(_ input: DialectInput, to target: PinDialect, host: String?, at time: Date) throws(UsageError) {
        self.target = target
        source = input.path
        let converted = input.reading.policy.converted(to: target, host: host, at: time)
        policy = converted.policy
        notes = input.reading.notes + converted.notes
    }

    /// By what a file means something else than the policy would write.
    func differences(in file: String) throws(UsageError) -> [CanonicalDifference] {
        if let refusal = notes.first(where: { $0.direction == .impossible }) {
            throw .unusable(["\(file) cannot hold this policy: \(refusal)"])
        }
        return differences(in: try DialectInput(file, as: target))
    }

    private func differences(in there: DialectInput) -> [CanonicalDifference] {
        // Its own form, so that two ways to say one thing are one.
        let found = there.reading.policy.split
        var policy = policy
        // Roots that a config has and the policy is silent on are the config's, and stay; not so where they need no pin.
        for index in policy.rules.indices where policy.rules[index].anchors == nil {
            let twin = found.rules.first { $0.patterns == policy.rules[index].patterns }
            if let anchors = twin?.anchors, !anchors.contains(where: \.bypassesPins) {
                policy.rules[index].anchors = anchors
            }
        }
        return policy.differences(in: found)
    }

    func check(_ file: String, _ console: inout Console) throws(UsageError) {
        let differences = try differences(in: file)
        let members: [(String, JSON)] = [
            ("file", .string(file)), ("to", .string(target.rawValue)),
            ("differences", .array(differences.map { .string($0.description) })),
        ]
        guard !differences.isEmpty else {
            let losses = notes.filter(\.isLoss)
            let words = losses.isEmpty ? "says what the policy says" : "says what it can of the policy"
            return console.result(
                ["ok    \(file)  \(words)"] + losses.map { "      \($0)" },
                .object(members + [("notes", .array(losses.map { .string($0.description) }))]))
        }
        console.result(
            [
                "FAIL  \(file)  says something else than the policy: \(remedy(for: file))"
            ] + differences.map { "      \($0)" },
            .object(members), .finding)
    }

    /// The command that writes a file again.
    func remedy(for file: String) -> String {
        let lossy = notes.contains(where: \.isLoss) ? " \(Flag.lossy.dashed)" : ""
        let command = "pinctl export --to \(target.rawValue)\(lossy)"
        return target.isPartOfFiles
            ? "write it again with \(command) --into \(file) \(source)"
            : "put in what \(command) \(source) prints"
    }

    /// Replaces the pinning part of a file.
    func replace(in file: String, _ console: inout Console) throws(UsageError) {
        let bytes = try DialectInput.contents(file)
        let json: [(String, JSON)] = [("file", .string(file)), ("to", .string(target.rawValue))]
        // What is there and not in the policy goes, which nobody is to find out later.
        if let there = try? DialectInput(file, bytes, target) {
            let differences = differences(in: there)
            guard !differences.isEmpty else {
                return console.result(["\(file) says that already"], .object(json + [("changed", .bool(false))]))
            }
            for difference in differences { console.note("note: until now \(difference)") }
        }
        let replaced: [UInt8]
        do throws(DialectWriteError) {
            replaced = try target.replacing(bytes, path: file, with: policy)
        } catch {
            throw .unusable(["\(file): \(error)"])
        }
        do throws(NewFileError) {
            try replaceFile(file, replaced)
        } catch {
            throw .unusable(["\(file): \(error)"])
        }
        console.result(["wrote \(file)"], .object(json + [("changed", .bool(true))]))
    }
}
