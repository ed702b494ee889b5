import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import TLSTransport

extension CommandDefinition {
    static let explain = CommandDefinition(
        name: "explain", summary: "say what a pin is, or which pins hold for a host", operands: "PIN|HOST|-",
        operandCount: 1...1,
        flags: [.among, .passwordDescriptor, .policy, .asDialect, .caFile, .profile, .at] + Flag.probing,
        notes: [
            "A PIN, in any spelling, is looked for in the policy and among the keys of --in: as the",
            "digest of a key, of a certificate, and of what people hash by mistake. - is the text of",
            "an exception of OkHttp on standard input. A HOST is looked up in the policy, or in a",
            "file of any other dialect, as the file's own system does, or that of --as.",
        ],
        examples: [
            ("what a digest is of", "pinctl explain Dt1NBHYAfFRAc1Ymvgpk7/YG9wJcGyjYL1o4GhrgDbo= --in chain.pem"),
            ("what an exception of OkHttp says", "pinctl explain - < logcat.txt"),
            ("which rule holds for a host", "pinctl explain www.example.com --policy pins.jsonc"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let word = arguments.operands[0]
            if word == "-" {
                let text = String(decoding: try DialectInput.contents("-"), as: UTF8.self)
                guard let failure = PinningFailureText(text) else {
                    throw .invalidOperand(
                        "standard input",
                        reason: "holds no exception of OkHttp: paste it from "
                            + "\"Certificate pinning failure!\" to its last pin")
                }
                var keys = try await KeyRing(arguments, environment)
                try keys.addPolicy(arguments, environment)
                keys.tellUnseen(&console)
                return keys.tell(failure, &console)
            }
            guard let digest = DigestText(word) else {
                guard arguments.all(.among).isEmpty else {
                    throw .invalidOperand(word, reason: "is no pin: give sha256/ and base64, base64 alone, or hex")
                }
                guard (try? InputFile(path: word)) == nil else {
                    throw .invalidOperand(word, reason: "is a file: give it as pinctl explain - < \(word)")
                }
                let path = arguments[.policy] ?? Arguments.usualPolicyPath(in: environment)
                let input = try DialectInput(path, as: nil)
                let dialect = try arguments.dialect(.asDialect)
                return try HostExplanation(word, input, as: dialect, at: arguments.time(in: environment)).tell(&console)
            }
            var keys = try await KeyRing(arguments, environment)
            try keys.addPolicy(arguments, environment)
            keys.tellUnseen(&console)
            keys.tell(word, digest, &console)
        })
}

/// The keys among which a digest is looked for.
private struct KeyRing {
    private var holders: [(holder: KeyHolder, title: String)] = []
    private var named: [(pin: CanonicalPin, title: String)] = []
    private var unseen: [(message: String, outcome: ExitCode)] = []

    /// The keys of `--in`: files, folders of them, and servers for what is neither.
    init(_ arguments: Arguments, _ environment: CommandEnvironment) async throws(UsageError) {
        let names = arguments.all(.among)
        guard !names.isEmpty else { return }
        let password = try arguments.password()
        let reader = InputReader(password: password)
        for name in names {
            guard case .missing = FileKind(name) else {
                add(name, reader)
                continue
            }
            let target = try Target(argument: name)
            switch try await ServerProbe(arguments, password: password).probes(of: target)[0].outcome {
            case .success(let served):
                let presented = served.presented.certificates
                for (index, certificate) in presented.enumerated() {
                    holders.append((KeyHolder(certificate), "\(target)[\(index)]  \(certificate.subject)"))
                }
                // A server sends no root, and people pin one.
                let chain = ShownChain(
                    served.presented, source: "served", for: target.endpoint.name,
                    by: try ChainJudge(arguments, in: environment))
                var known = Set(presented)
                for certificate in chain.paths.joined() where known.insert(certificate).inserted {
                    holders.append((KeyHolder(certificate), "the store, behind \(target)  \(certificate.subject)"))
                }
            case .failure(let error): unseen.append(("\(name) is no file, and as a server: \(error)", .couldNotCheck))
            }
        }
    }

    /// Says what could not be looked at: its keys may be those that were looked for.
    func tellUnseen(_ console: inout Console) {
        for (message, outcome) in unseen { console.problem(message, outcome) }
    }

    private mutating func add(_ operand: String, _ reader: InputReader) {
        do throws(InputProblem) {
            for file in try InputReader.files(of: operand) {
                do throws(InputProblem) {
                    try reader.read(file, isInFolder: file != operand) { add($0, of: file) }
                } catch {
                    // In a folder other files are passed over.
                    if file == operand || !error.isStranger { unseen.append(("\(file): \(error.reason)", .badInput)) }
                }
            }
        } catch {
            unseen.append(("\(operand): \(error.reason)", .badInput))
        }
    }

    private mutating func add(_ object: InputObject, of file: String) {
        let place = "\(file)[\(object.index)]"
        switch object.content {
        case .success(.key(let material)):
            let key = try? SubjectPublicKeyInfo(derBytes: material.subjectPublicKeyInfo)
            guard let holder = material.parsedCertificate.map(KeyHolder.init) ?? key.map(KeyHolder.init) else { return }
            holders.append((holder, place + (material.subject.map { "  \($0)" } ?? "")))
        case .success(.pin(let fingerprint, let owner, _)):
            named.append((CanonicalPin(Pin(.publicKey(fingerprint))), "the TLSA record of \(owner)  \(place)"))
        case .failure(let problem): unseen.append(("\(place): \(problem.reason)", .badInput))
        }
    }

    /// The pins of the policy, with their names: of the usual one only if it is there.
    mutating func addPolicy(_ arguments: Arguments, _ environment: CommandEnvironment) throws(UsageError) {
        let path = arguments[.policy] ?? Arguments.usualPolicyPath(in: environment)
        guard arguments[.policy] != nil || (try? InputFile(path: path)) != nil else { return }
        let input = try DialectInput(path, as: nil)
        named += input.reading.policy.denied.map { ($0, "denied by the policy, wherever it stands") }
        for rule in input.reading.policy.rules {
            for pin in rule.pins {
                named.append(
                    (
                        pin,
                        "\(pin.name.map { "\"\($0)\" of " } ?? "a pin of ")the rule for \(rule.title)"
                            + (rule.location.map { "  \($0)" } ?? "")
                    ))
            }
        }
    }

    /// What a digest is, in lines.
    func tell(_ word: String, _ digest: DigestText, _ console: inout Console) {
        let explanations = DigestExplanation.all(of: digest, among: holders.map(\.holder))
        let uses = named.filter { $0.pin.value == digest.bytes }.map(\.title)
        var lines = explanations.map { line($0) }
        lines += uses.map { $0.hasPrefix("denied") ? $0 : "pinned: \($0)" }
        if lines.isEmpty {
            lines = [
                holders.isEmpty
                    ? "nothing is known of it: give the files or the server it may belong to with \(Flag.among.dashed)"
                    : "it is no digest of \(holders.count) keys and certificates, nor of what is hashed by mistake"
            ]
        }
        let isDenied = uses.contains { $0.hasPrefix("denied") }
        let isKnown = !explanations.isEmpty || !uses.isEmpty
        console.result(
            ["\(word):"] + lines.map { "  \($0)" },
            .object([
                ("pin", .string(word)),
                ("explanations", .array(explanations.map { json($0) })),
                ("pinned", .array(uses.map { .string($0) })),
            ]), outcome(isKnown, isPin: explanations.allSatisfy(\.isPin) && !isDenied))
    }

    /// What is not known may be what a server has that could not be asked.
    private func outcome(_ isKnown: Bool, isPin: Bool) -> ExitCode {
        guard isKnown else { return unseen.first?.outcome ?? .finding }
        return isPin ? .good : .finding
    }

    private func line(_ explanation: DigestExplanation) -> String {
        guard let index = explanation.index else { return "no pin: \(explanation)" }
        let (holder, title) = holders[index]
        if explanation.isPin { return "the pin of \(title)" }
        return "not the pin, but the \(explanation) of \(title): write \(SPKIFingerprint(of: holder))"
    }

    private func json(_ explanation: DigestExplanation) -> JSON {
        var members: [(String, JSON)] = [
            ("is_pin", .bool(explanation.isPin)), ("of", .string(explanation.input.rawValue)),
            ("digest", .string(explanation.algorithm.rawValue)),
        ]
        if let index = explanation.index {
            members += [
                ("source", .string(holders[index].title)),
                ("right_pin", .string(SPKIFingerprint(of: holders[index].holder).description)),
            ]
        }
        return .object(members)
    }

    /// What an exception of OkHttp says: what was served, what is pinned, and what the pins are.
    func tell(_ failure: PinningFailureText, _ console: inout Console) {
        let served = Set(failure.served.map(\.pin.value))
        let isServed = failure.pinned.contains { served.contains($0.value) }
        var lines = ["OkHttp refused \(failure.host)", "  served:"]
        for certificate in failure.served {
            lines.append("    \(certificate.pin)  \(certificate.subject)")
            lines += remarks(on: certificate.pin).map { "      \($0)" }
        }
        lines.append("  pinned:")
        for pin in failure.pinned {
            lines.append("    \(pin)")
            lines += remarks(on: pin).map { "      \($0)" }
        }
        let isInPolicy = failure.served.contains { certificate in
            named.contains { $0.pin.value == certificate.pin.value }
        }
        lines.append(
            isInPolicy
                ? "the policy has a key that was served: the app ships older pins than the policy, ship it again"
                : isServed
                    ? "a pinned key was served, but on no path that OkHttp built: have the server send its chain in order"
                    : "none of the pinned keys was served: if the served ones are yours, serve a pinned key again, or ship a pin "
                        + "of one of them first; if not, somebody stands between you and the host")
        console.result(
            lines,
            .object([
                ("host", .string(failure.host)),
                ("served", .array(failure.served.map { .string($0.pin.description) })),
                ("pinned", .array(failure.pinned.map { .string($0.description) })),
            ]), .finding)
    }
}

extension KeyRing {
    /// What is known of a pin that somebody else wrote.
    private func remarks(on pin: CanonicalPin) -> [String] {
        let digest = DigestText(pin.description)
        let known = digest.map { DigestExplanation.all(of: $0, among: holders.map(\.holder)) } ?? []
        return known.map { line($0) } + named.filter { $0.pin.value == pin.value }.map { "pinned: \($0.title)" }
    }
}

extension SPKIFingerprint {
    fileprivate init(of holder: KeyHolder) { self.init(hashing: holder.key.derBytes.span) }
}
