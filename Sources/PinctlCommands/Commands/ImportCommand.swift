import CertificatePinning
import PinDialects
import PinctlBasics

extension CommandDefinition {
    static let importing = CommandDefinition(
        name: "import", summary: "convert the pins of another system to a policy", operands: "FILE",
        operandCount: 1...1, flags: [.from, .importedHost, .output, .allow, .lossy, .at],
        notes: [
            "FILE is a network security config, an Info.plist, a TrustKit dictionary, Kotlin or Java",
            "source code, a Public-Key-Pins header, a --pinnedpubkey value or TLSA records; - is standard",
            "input. pinctl reports on standard error what the other system ignores or misreads, and what",
            "a policy cannot express. The latter needs --allow or --lossy.",
        ],
        examples: [
            (
                "Convert the pins of an Android app to a policy",
                "pinctl import network_security_config.xml -o pins.jsonc"
            )
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let input = try DialectInput(
                arguments.operands[0], as: arguments.dialect(.from), host: arguments[.importedHost])
            var policy = input.reading.policy
            if let host = arguments[.importedHost] { policy.rename(host) }
            if input.dialect == .policy { policy.rebaseAnchors(from: input.path, to: arguments[.output] ?? "") }
            let converted = policy.converted(to: .policy, at: try arguments.time(in: environment))
            guard policy.unlisted == .refuse || policy.rules.contains(where: { $0.mode != .off }) else {
                for note in input.reading.notes { console.note("note: \(note)") }
                return console.problem(
                    "no pins: \(DialectInput.title(input.path)) pins no host, and nothing is written", .finding,
                    members: [("input", .string(input.path)), ("from", .string(input.dialect.rawValue))])
            }
            let notes = input.reading.notes + converted.notes
            guard try console.tell(notes, arguments) else { return }
            let text = try arguments.text(of: converted.policy, in: .policy)
            // Remaining contents that no policy may have, such as all names below a public suffix or roots that aren't
            // certificates.
            do throws(PolicyFileError) {
                _ = try PolicyFile(bytes: text, path: arguments[.output] ?? "the policy")
            } catch {
                for problem in error.problems { console.problem(problem.description, .finding) }
                return console.note("nothing is written: change \(DialectInput.title(input.path)) first")
            }
            try arguments.deliver(text, from: input, notes, to: &console)
            if let file = arguments[.output] {
                console.note("next: name its pins, mark the backups, and run pinctl lint \(file)")
            }
        })
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
    func text(of policy: CanonicalPolicy, in dialect: PinDialect) throws(UsageError) -> [UInt8] {
        do throws(DialectWriteError) {
            return try dialect.write(policy)
        } catch {
            throw .unusable([error.description])
        }
    }

    /// Writes a text to the file of `--output`, or to standard output.
    func deliver(
        _ text: [UInt8], from input: DialectInput, _ notes: [ConversionNote], to console: inout Console
    ) throws(UsageError) {
        var members: [(String, JSON)] = [("input", .string(input.path)), ("from", .string(input.dialect.rawValue))]
        members.append(("notes", .array(notes.map { .object($0.members + [("message", .string($0.message))]) })))
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
