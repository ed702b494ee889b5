import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

extension CommandDefinition {
    static let explain = CommandDefinition(
        name: "explain", summary: "explain a digest, or which pins apply to a host", operands: "PIN|HOST|-",
        operandCount: 1...1,
        flags: [
            .among, .passwordDescriptor,
            .policy.described("search this policy, or file of pins in any other dialect"), .from, .asDialect,
            .caFile.described("for servers of --in, trust the CA certificates in FILE instead of the system roots"),
            .profile.described(
                "for servers of --in: default, what the Web accepts, or strict, RFC 5280 and the CA/Browser Forum"),
            .at,
        ]
            + Flag.probing(
                .jobs.described("accepted, and without effect: servers of --in are asked one after the other")),
        notes: [
            "A PIN, in any spelling, is searched for in the policy and among the keys of --in: as the",
            "digest of a key, of a certificate, and of other data that is often hashed by mistake. A",
            "server is asked for its ECDSA key and its RSA key.",
            "",
            "With -, pinctl reads a log from standard input, finds the message of a program that rejected",
            "a server (OkHttp, Android, TrustKit, URLSession, Cronet, curl, git, wget, openconnect, Envoy,",
            "Go, Java, Node.js, Python), and says what it means. The keys in it are compared with the",
            "policy's rule for the host.",
            "",
            "A HOST is looked up in the policy or in a file in any other dialect, as the file's own",
            "system does, or the system of --as. The port is 443, or that of HOST:PORT, and other ports",
            "are listed if other rules apply there.",
        ],
        examples: [
            (
                "Find out what a digest is computed from",
                "pinctl explain Dt1NBHYAfFRAc1Ymvgpk7/YG9wJcGyjYL1o4GhrgDbo= --in chain.pem"
            ),
            ("Explain why an app didn't connect", "pinctl explain - < logcat.txt"),
            ("Show the rule that applies to a host", "pinctl explain www.example.com --policy pins.jsonc"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let word = arguments.operands[0]
            if word == "-" {
                let text = String(decoding: try DialectInput.contents("-"), as: UTF8.self)
                guard let message = RejectionMessage(text) else {
                    throw .invalidOperand(
                        "standard input",
                        reason: "contains no message of a program that rejected a server: paste all lines of the "
                            + "failure, for OkHttp from \"Certificate pinning failure!\" to the last pin, or check "
                            + "the server itself with pinctl check HOST")
                }
                var keys = try await KeyRing(arguments, environment)
                let inputs = try keys.addPolicies(arguments, environment)
                guard inputs.count < 2 else {
                    throw .unusable([
                        "\(inputs.map(\.title).joined(separator: " and ")) are two policies: "
                            + "choose one with \(Flag.from.dashed)"
                    ])
                }
                let input = inputs.first
                keys.reportUnseen(&console)
                let time = try arguments.time(in: environment)
                return keys.report(
                    message, answer: input.flatMap { PolicyAnswer(to: message, of: $0, at: time) }, &console)
            }
            guard let digest = DigestText(word) else {
                guard arguments.all(.among).isEmpty else {
                    throw .invalidOperand(word, reason: "isn't a pin: give sha256/ and base64, base64 alone, or hex")
                }
                guard (try? InputFile(path: word)) == nil else {
                    throw .invalidOperand(
                        word,
                        reason: InputReader.holdsKeys((try? DialectInput.contents(word)) ?? [])
                            ? "contains certificates or keys: print their pins with pinctl hash \(word)"
                            : "is a file: give it as pinctl explain - < \(word)")
                }
                let inputs = try arguments.policyInputs(in: environment)
                return try HostExplanation.report(
                    word, inputs, as: arguments.dialect(.asDialect), at: arguments.time(in: environment), &console)
            }
            var keys = try await KeyRing(arguments, environment)
            _ = try keys.addPolicies(arguments, environment)
            keys.reportUnseen(&console)
            keys.report(word, digest, &console)
        })
}

extension Arguments {
    /// Returns the policies of the file in which a host is looked up.
    fileprivate func policyInputs(in environment: CommandEnvironment) throws(UsageError) -> [DialectInput] {
        if let path = self[.policy] {
            return try DialectInput.all(path, as: dialect(.from), sourceProjects(in: environment))
        }
        let path = Self.usualPolicyPath(in: environment)
        do throws(UsageError) {
            return try DialectInput.all(path, as: dialect(.from))
        } catch {
            throw .unusable(Self.messages(error.messages, onUnnamedPolicy: path, "give --policy FILE"))
        }
    }
}

/// The keys among which a digest is looked for.
private struct KeyRing {
    private var holders: [(holder: KeyHolder, title: String, isServed: Bool)] = []
    /// The pins of policies and TLSA records. `rule` is the policy's rule with the pin, if any.
    private var named: [(pin: CanonicalPin, title: String, rule: CanonicalRule?)] = []
    private var unseen: [(message: String, outcome: ExitCode)] = []
    /// The servers that were connected to and the keys requested from them.
    private var asked: [String] = []

    /// Collects the keys of `--in`: files, directories of files, and servers for anything else.
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
            let judge = try ChainJudge(arguments, in: environment)
            let probe = try ServerProbe(arguments, in: environment, password: password)
            // A server with two keys serves only one of them, but both are its own.
            let keys = probe.keys ?? .both
            var known: Set<X509Certificate> = []
            for probe in await probe.probes(of: target, keys: keys).withoutEndedBesides {
                add(probe, of: name, by: judge, &known)
            }
            asked.append("\(target) for \(keys.title)")
        }
    }

    /// Adds the keys that a server sent and those of the trust store on its path. Known keys are skipped.
    private mutating func add(
        _ probe: Probe, of name: String, by judge: ChainJudge, _ known: inout Set<X509Certificate>
    ) {
        let target = probe.target
        switch probe.outcome {
        case .success(let served):
            let way = probe.proxy.map { "  through \($0)" } ?? ""
            let kind = known.isEmpty ? "" : probe.key.map { " (\($0.rawValue.uppercased()))" } ?? ""
            for (index, certificate) in served.presented.certificates.enumerated()
            where known.insert(certificate).inserted {
                holders.append(
                    (KeyHolder(certificate), "\(target)\(kind)[\(index)]  \(certificate.subject)\(way)", true))
            }
            // Servers don't send their root, but people pin it.
            let chain = ShownChain(served.presented, source: .served, for: target.endpoint.name, by: judge)
            for certificate in chain.paths.joined() where known.insert(certificate).inserted {
                holders.append(
                    (KeyHolder(certificate), "the trust store, on the path of \(target)  \(certificate.subject)", true))
            }
        case .failure(let error):
            let key = probe.key.map { " asked for its \($0.rawValue.uppercased()) key" } ?? ""
            unseen.append(("\(name) isn't a file, and as a server\(key): \(error)", .couldNotCheck))
        }
    }

    /// Reports inputs that couldn't be read, since they may have the key.
    func reportUnseen(_ console: inout Console) {
        for (message, outcome) in unseen { console.problem(message, outcome) }
    }

    private mutating func add(_ operand: String, _ reader: InputReader) {
        do throws(InputProblem) {
            for file in try InputPath.all(of: operand) {
                do throws(InputProblem) {
                    try reader.read(file) { add($0, of: file.path) }
                } catch {
                    // In a directory, files without certificates and keys are skipped.
                    if file.isNamed || error.irrelevance == nil {
                        unseen.append(("\(file.path): \(error.reason)", .badInput))
                    }
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
            holders.append((holder, place + (material.subject.map { "  \($0)" } ?? ""), false))
        case .success(.pin(let fingerprint, let owner, _)):
            named.append((CanonicalPin(Pin(.publicKey(fingerprint))), "the TLSA record of \(owner)  \(place)", nil))
        case .failure(let problem):
            if problem.irrelevance == nil { unseen.append(("\(place): \(problem.reason)", .badInput)) }
        }
    }

    /// Adds the pins of the policy with their names. The default policy is used only if it exists.
    mutating func addPolicies(
        _ arguments: Arguments, _ environment: CommandEnvironment
    ) throws(UsageError) -> [DialectInput] {
        let path = arguments[.policy] ?? Arguments.usualPolicyPath(in: environment)
        guard arguments[.policy] != nil || (try? InputFile(path: path)) != nil else { return [] }
        let inputs = try DialectInput.all(
            path, as: arguments.dialect(.from), arguments.sourceProjects(in: environment))
        for policy in inputs.map(\.reading.policy) {
            named += policy.denied.map { ($0, "denied by the policy, at any position", nil) }
            for rule in policy.rules {
                for pin in rule.pins {
                    named.append(
                        (
                            pin,
                            "\(pin.name.map { "\"\($0)\" of " } ?? "a pin of ")the rule for \(rule.title)"
                                + (rule.location.map { "  \($0)" } ?? ""),
                            rule
                        ))
                }
            }
        }
        return inputs
    }

    /// Prints the explanation of a digest.
    func report(_ word: String, _ digest: DigestText, _ console: inout Console) {
        let explanations = DigestExplanation.all(of: digest, among: holders.map(\.holder))
        let uses = named.filter { $0.pin.value == digest.bytes }.map(\.title)
        var lines = explanations.map { line($0) }
        lines += uses.map { $0.hasPrefix("denied") ? $0 : "pinned: \($0)" }
        if lines.isEmpty {
            lines = [
                holders.isEmpty
                    ? "unknown: name the files or the server that it may belong to with \(Flag.among.dashed)"
                    : "not a digest of the \(holders.count) keys and certificates, "
                        + "nor of data that is often hashed by mistake"
            ]
            if !asked.isEmpty { lines.append("asked: \(asked.joined(separator: ", "))") }
        }
        let isDenied = uses.contains { $0.hasPrefix("denied") }
        let isKnown = !explanations.isEmpty || !uses.isEmpty
        console.result(
            ["\(word):"] + lines.map { "  \($0)" },
            .object([
                ("pin", .string(word)),
                ("asked", .array(asked.map { .string($0) })),
                ("explanations", .array(explanations.map { json($0) })),
                ("pinned", .array(uses.map { .string($0) })),
            ]), outcome(isKnown, isPin: explanations.allSatisfy(\.isPin) && !isDenied))
    }

    /// Returns the outcome. An unknown digest may belong to a server that couldn't be reached.
    private func outcome(_ isKnown: Bool, isPin: Bool) -> ExitCode {
        guard isKnown else { return unseen.first?.outcome ?? .finding }
        return isPin ? .good : .finding
    }

    private func line(_ explanation: DigestExplanation) -> String {
        guard let index = explanation.index else { return "not a pin: \(explanation)" }
        let (holder, title, isServed) = holders[index]
        if explanation.isPin { return "the pin of \(title)" }
        let condition = isServed ? " if that key is yours (\(PinFailureCause.confirmation))" : ""
        return "not the pin, but the \(explanation) of \(title): write \(SPKIFingerprint(of: holder))\(condition)"
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

    /// Prints the explanation of a message: the cause, the served keys, the pinned keys, what the pins are, and the
    /// decision that the policy would have made.
    func report(_ message: RejectionMessage, answer: PolicyAnswer?, _ console: inout Console) {
        var lines = ["\(message.program) \(message.cause.verb) \(message.host ?? "a server"): \(message.cause.meaning)"]
        if !message.served.isEmpty { lines.append("  served:") }
        for (index, certificate) in message.served.enumerated() {
            lines.append("    \(certificate.pin)" + (certificate.subject.isEmpty ? "" : "  \(certificate.subject)"))
            lines += remarks(on: certificate.pin, at: index, of: message.served.count, answer).map { "      \($0)" }
        }
        if !message.pinned.isEmpty { lines.append("  pinned:") }
        for pin in message.pinned {
            lines.append("    \(pin)")
            lines += remarks(on: pin, answer).map { "      \($0)" }
        }
        lines += answer.map { [$0.line] } ?? []
        if answer?.kind != .takes { lines.append(message.remedy) }
        console.result(
            lines,
            .object([
                ("host", message.host.map { .string($0) } ?? .null),
                ("program", .string(message.program)), ("cause", .string(message.cause.rawValue)),
                ("served", .array(message.served.map { .string($0.pin.description) })),
                ("pinned", .array(message.pinned.map { .string($0.description) })),
                ("policy", answer.map { .string($0.kind.rawValue) } ?? .null),
            ]), .finding)
    }
}

extension KeyRing {
    /// Returns what is known about a pin from elsewhere, or about a key served at a position of its chain.
    private func remarks(
        on pin: CanonicalPin, at index: Int = 0, of count: Int = 0, _ answer: PolicyAnswer?
    ) -> [String] {
        let digest = DigestText(pin.description)
        let known = digest.map { DigestExplanation.all(of: $0, among: holders.map(\.holder)) } ?? []
        return known.map { line($0) }
            + named.filter { $0.pin.value == pin.value }.map { known in
                guard let rule = known.rule else { return known.title }
                guard answer?.rules.contains(rule) == true else { return "pinned for another host: \(known.title)" }
                let isElsewhere = count > 0 && !known.pin.role.covers(index: index, of: count)
                guard isElsewhere else { return "pinned: \(known.title)" }
                return "pinned as \(known.pin.role.rawValue), but served at another position: \(known.title)"
            }
    }
}

extension CheckSettings.Keys {
    fileprivate var title: String {
        switch self {
        case .auto: "the key that it chooses"
        case .both: "its ECDSA key and its RSA key"
        case .rsa, .ecdsa: "its \(rawValue.uppercased()) key"
        }
    }
}

extension SPKIFingerprint {
    fileprivate init(of holder: KeyHolder) { self.init(hashing: holder.key.derBytes.span) }
}
