import CertificatePinning
import PinDialects
import PinctlBasics
import PinctlFoundation

extension CommandDefinition {
    static let importing = CommandDefinition(
        name: "import", summary: "convert the pins of other systems to a policy", operands: "FILE|DIR…",
        operandCount: 1...Int.max,
        flags: [.from, .importedHost, .output, .intoPolicy, .allow, .lossy, .at],
        notes: [
            "FILE is a network security config, an Info.plist, a TrustKit dictionary, Kotlin or Java",
            "source code, a Public-Key-Pins header, a --pinnedpubkey value or TLSA records; - is standard",
            "input. pinctl reports on standard error what the other system ignores or misreads, and what",
            "a policy cannot express. The latter needs --allow or --lossy. A comment or constant that",
            "names a pin becomes its name.",
            "",
            "For DIR, all files of other systems in it that pin a host are read, without those of tests.",
            "pinctl notes how many pins are in files that no dialect reads. See pinctl find.",
            "",
            "Several files become one policy, and the note of each pin lists the files and lines that it",
            "comes from. If several files pin a host, its rule accepts the pins of all of them. If they",
            "differ in subdomains or expiry, the stricter setting is used. Each such change is reported",
            "and needs --allow or --lossy. If they differ in mode, ports, anchors, required roles or",
            "Certificate Transparency, nothing is written.",
            "",
            "--into adds the rules to a policy that has no rule for these hosts yet.",
        ],
        examples: [
            (
                "Convert the pins of an Android app to a policy",
                "pinctl import network_security_config.xml -o pins.jsonc"
            ),
            (
                "Merge the pins of an Android app and an iOS app",
                "pinctl import network_security_config.xml Info.plist -o pins.jsonc"
            ),
            ("Add pins to a policy", "pinctl import Pins.kt --into pins.jsonc"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let destination = try ImportDestination(arguments)
            let time = try arguments.time(in: environment)
            let projects = arguments.sourceProjects(in: environment)
            var sources: [CanonicalPolicy] = []
            var inputs: [DialectInput] = []
            var notes: [ConversionNote] = []
            let (paths, problems) = try DirectoryOperand.expanding(
                arguments.operands, at: time, variables: environment.variables(), projects, &console,
                where: { ![.policy, .swift].contains($0) }, needsPins: true,
                needsHosts: arguments[.importedHost] == nil)
            // What can't be read may have pins that the policy would lack.
            guard problems.isEmpty else { throw .unusable(problems.map(\.description)) }
            for path in paths {
                let input = try DialectInput(
                    path, as: arguments.dialect(.from), host: arguments[.importedHost], projects)
                var policy = input.reading.policy
                if let host = arguments[.importedHost] { policy.rename(host) }
                if input.dialect == .policy { policy.rebaseAnchors(from: input.path, to: destination.path) }
                let converted = policy.converted(to: .policy, at: time)
                guard policy.unlisted == .refuse || policy.rules.contains(where: { $0.mode != .off }) else {
                    for note in input.reading.notes { console.note("note: \(note)") }
                    return console.problem(
                        "no pins: \(DialectInput.title(input.path)) pins no host, and nothing is written", .finding,
                        members: [("input", .string(input.path)), ("from", .string(input.dialect.rawValue))])
                }
                notes += input.reading.notes + converted.notes
                sources.append(converted.policy)
                inputs.append(input)
            }
            var merge = PolicyMerge(sources)
            if inputs.count > 1 { merge.noteOrigins() }
            notes += try merge.notes + destination.effects(of: merge.policy)
            guard try console.report(notes, arguments) else { return }
            let text = try arguments.text(of: merge.policy, in: .policy, for: destination.path)
            // Remaining contents that no policy may have, such as all names below a public suffix or roots that aren't
            // certificates.
            do throws(PolicyFileError) {
                _ = try PolicyFile(bytes: text, path: destination.path.isEmpty ? "the policy" : destination.path)
            } catch {
                for problem in error.problems { console.problem(problem.description, .finding) }
                let titles = inputs.map { DialectInput.title($0.path) }.joined(separator: " or ")
                return console.note("nothing is written: change \(titles) first")
            }
            if case .policy(let file, let bytes) = destination {
                try arguments.insert(merge.policy, into: file, bytes, from: inputs, notes, to: &console)
            } else {
                try arguments.deliver(text, arguments.members(inputs, notes), to: &console)
            }
            if !destination.path.isEmpty {
                console.note("next: name its pins, mark the backups, and run pinctl lint \(destination.path)")
            }
        })
}

/// The destination of the policy that `import` writes.
private enum ImportDestination {
    /// A new file, or standard output if the path is empty.
    case newFile(String)
    case policy(PolicyFile, [UInt8])

    init(_ arguments: Arguments) throws(UsageError) {
        guard let path = arguments[.intoPolicy] else {
            self = .newFile(arguments[.output] ?? "")
            return
        }
        guard arguments[.output] == nil else {
            throw .unusable(["--output and --into cannot be used together: give one of them"])
        }
        let bytes = try DialectInput.contents(path)
        do throws(PolicyFileError) {
            self = .policy(try PolicyFile(bytes: bytes, path: path), bytes)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    var path: String {
        switch self {
        case .newFile(let path): path
        case .policy(let file, _): file.path
        }
    }

    /// Returns notes on the effects that new rules and those of the policy have on each other. Throws if both have a
    /// rule for a host.
    func effects(of policy: CanonicalPolicy) throws(UsageError) -> [ConversionNote] {
        guard case .policy(let file, _) = self else { return [] }
        let there = CanonicalPolicy(file)
        let duplicates = there.duplicates(of: policy)
        guard duplicates.isEmpty else {
            throw .unusable(
                duplicates.map { old, new in
                    "\(old.location.map { "\($0): " } ?? "")a rule for \(new.patterns[0].host) already exists here"
                        + "\(new.location.map { ", and \($0) has another one" } ?? ""): change it, or remove one of "
                        + "them"
                })
        }
        return PolicyMerge(adding: policy, to: there).notes
    }
}

extension CanonicalPolicy {
    /// Changes the paths of root files from relative to one policy to relative to another.
    fileprivate mutating func rebaseAnchors(from old: String, to new: String) {
        for rule in rules.indices {
            rules[rule].anchors = rules[rule].anchors?.map { set in
                guard set.source != "system" else { return set }
                let file = rebased(resolvedPath(set.source, besides: old), besides: new)
                return AnchorSet(file: file, bypassesPins: set.bypassesPins)
            }
        }
    }
}

extension Arguments {
    /// Returns the text of a converted policy for a file. A policy in strict JSON has no comma after the last element
    /// of a list.
    func text(
        of policy: CanonicalPolicy, in dialect: PinDialect, for path: String
    ) throws(UsageError) -> [UInt8] {
        if dialect == .policy, JSONCReader.Dialect(ofFile: path) == .json {
            return Array(PinDialect.policyText(policy, isStrict: true).utf8)
        }
        do throws(DialectWriteError) {
            return try dialect.write(policy)
        } catch {
            throw .unusable([error.description])
        }
    }

    /// Returns the members of a result about converted files. With several files, each is an element of `inputs`.
    func members(_ inputs: [DialectInput], _ notes: [ConversionNote]) -> [(String, JSON)] {
        let sources: [[(String, JSON)]] = inputs.map { input in
            [("input", .string(input.path)), ("from", .string(input.dialect.rawValue))]
        }
        let notes = JSON.array(notes.map { .object($0.members + [("message", .string($0.message))]) })
        return (sources.count == 1 ? sources[0] : [("inputs", .array(sources.map { .object($0) }))])
            + [("notes", notes)]
    }

    /// Adds the rules of a converted policy to a policy file.
    fileprivate func insert(
        _ policy: CanonicalPolicy, into file: PolicyFile, _ bytes: [UInt8], from inputs: [DialectInput],
        _ notes: [ConversionNote], to console: inout Console
    ) throws(UsageError) {
        let result: [UInt8]
        do throws(PolicyInsertionError) {
            result = try PolicyAdditions(policy, to: file).inserted(into: bytes, path: file.path)
        } catch {
            throw .unusable([error.description])
        }
        do throws(NewFileError) {
            try replaceFile(file.path, result)
        } catch {
            throw .invalidValue(.intoPolicy, reason: "\(file.path): \(error)")
        }
        let count = policy.rules.count
        console.result(
            ["added \(plural(count, "rule")) to \(file.path)"],
            .object(members(inputs, notes) + [("file", .string(file.path)), ("rules", .integer(count))]))
    }

    /// Writes a text to the file of `--output`, or to standard output. The result in JSON begins with `members`.
    func deliver(_ text: [UInt8], _ members: [(String, JSON)], to console: inout Console) throws(UsageError) {
        guard let path = self[.output] else {
            let text = String(decoding: text, as: UTF8.self)
            return console.file(text, .object(members + [("text", .string(text))]))
        }
        do throws(NewFileError) {
            try writeNewFile(path, text)
        } catch {
            throw .invalidValue(.output, reason: "\(path): \(error)")
        }
        console.result(["wrote \(path)"], .object(members + [("file", .string(path))]))
    }
}
