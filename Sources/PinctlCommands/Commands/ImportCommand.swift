import CertificatePinning
import PinDialects

extension CommandDefinition {
    static let importing = CommandDefinition(
        name: "import", summary: "make a policy of pins that another system has", operands: "FILE",
        operandCount: 1...1, flags: [.from, .importedHost, .output, .allow, .lossy, .at],
        notes: [
            "FILE is a network security config, an Info.plist, a TrustKit dictionary, Kotlin or",
            "Java source, a Public-Key-Pins header, a --pinnedpubkey value, TLSA records; - is",
            "standard input. What the other system passes over or takes otherwise than it looks is",
            "said on standard error, and so is what the policy cannot say: that needs --lossy.",
        ],
        examples: [
            ("a policy of what an Android app has", "pinctl import network_security_config.xml -o pins.jsonc")
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let input = try DialectInput(
                arguments.operands[0], as: arguments.dialect(.from), host: arguments[.importedHost])
            try input.requirePins()
            var policy = input.reading.policy
            if let host = arguments[.importedHost] { policy.rename(host) }
            if input.dialect == .policy { policy.rebaseAnchors(from: input.path, to: arguments[.output] ?? "") }
            let converted = policy.converted(to: .policy, at: try arguments.time(in: environment))
            let notes = input.reading.notes + converted.notes
            guard try console.tell(notes, arguments) else { return }
            let text = try arguments.text(of: converted.policy, in: .policy)
            try arguments.deliver(text, from: input, notes, to: &console)
            // Hosts that other systems take, with a port or in capitals, no policy does.
            do throws(PolicyFileError) {
                _ = try PolicyFile(bytes: text, path: arguments[.output] ?? "the policy")
            } catch {
                for problem in error.problems { console.problem(problem.description, .finding) }
            }
            if let file = arguments[.output] {
                console.note("next: name its pins, mark the backups, and run pinctl lint \(file)")
            }
        })
}

extension CanonicalPolicy {
    /// Names the files of roots, which stand beside one policy, as a policy at another place does.
    fileprivate mutating func rebaseAnchors(from old: String, to new: String) {
        for rule in rules.indices {
            rules[rule].anchors = rules[rule].anchors?.map { set in
                guard set.source != "system" else { return set }
                let file = rebased(resolvedPath(set.source, besides: old), besides: new)
                return AnchorSet(file, bypassesPins: set.bypassesPins)
            }
        }
    }

    /// Names the host where the dialect has none.
    fileprivate mutating func rename(_ host: String) {
        for rule in rules.indices {
            for pattern in rules[rule].patterns.indices where rules[rule].patterns[pattern].scope == .every {
                rules[rule].patterns[pattern] = HostPattern(host, .exact)
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
