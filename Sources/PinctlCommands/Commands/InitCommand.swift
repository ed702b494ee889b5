import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

extension CommandDefinition {
    static let initialize = CommandDefinition(
        name: "init", summary: "write a policy that pins the current keys of servers",
        operands: "[TARGET…]", operandCount: 0...Int.max,
        flags: [
            .initialFrom, .initialHost, .initialRole,
            .provider.described(
                "pin every root of this provider of managed certificates, such as cloudflare",
                details: "The roots that aren't on the server's path are backups. The rules name the provider, so that "
                    + "pinctl lint compares their pins with its roots."), .providers,
            .initialSubdomains, .initialBackup, .intoPolicy, .output, .caFile,
            .profile, .at,
        ]
            + Flag.probing(
                .keys.described(
                    "request the server's rsa key, its ecdsa key, or the one that it chooses (auto, the default)",
                    details:
                        "A policy is made from one chain of each server. With both, it is that of the ECDSA key, if "
                        + "the server has one."),
                .allAddresses.described("connect to every address of a host, and use the chain at the first")),
        notes: [
            "pinctl connects to every server and verifies its chain. If one of them fails, nothing is",
            "written. --from reads a file of certificates instead, for the hostnames of the leaf or for",
            "--host, or a list of targets, one per line, with comments after #.",
            "",
            "The policy is written to standard output, to a new FILE with --output, or with --into to a",
            "policy that has no rule for these hosts yet. Without --backup, pinctl lint fails until its",
            "backup slots are filled. A rule covers every port of its host, unless two ports of the host",
            "are given. The rules name a --ca-file as \"anchors\", relative to the policy's directory.",
            "",
            "The connection may be intercepted: before you ship the pins, compare the certificates that a",
            "server presents with the output of pinctl hash for its certificate file, run on the server",
            "itself.",
        ],
        examples: [
            ("Create a policy", "pinctl init -o pins.jsonc api.example.com www.example.com"),
            ("Create a policy from a file, without connecting", "pinctl init --from chain.pem"),
            (
                "Pin the server's own key and a backup key, for all subdomains",
                "pinctl init --role leaf --backup backup.csr --subdomains -o pins.jsonc example.com"
            ),
            (
                "Pin every CA that a provider may issue from",
                "pinctl init --provider cloudflare -o pins.jsonc www.example.com"
            ),
            ("Add a host to a policy", "pinctl init --into pins.jsonc pay.example.com"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let source = try InitSource(arguments)
            let destination = try InitDestination(arguments)
            // Otherwise the anchors beside a policy in a missing directory would seem to be missing.
            try arguments.checkOutput()
            for endpoint in source.endpoints { try destination.checkIsNew(endpoint) }
            let probe = try ServerProbe(arguments, in: environment)
            let judge = try ChainJudge(arguments, in: environment)
            let anchors = arguments.all(.caFile).map { shared($0, besides: destination.path) }

            var draft = destination.draft
            let backups = try arguments.settings(of: &draft)
            if let pool = try arguments.initialProvider() {
                let time = try arguments.time(in: environment)
                console.note(of: pool, at: time)
                draft.pinRoots(of: pool, at: time)
            }
            var violated: Set<TrustRule> = []
            func add(_ result: CheckResult, _ endpoint: Endpoint, target: String?) {
                guard let path = result.verdict.path else {
                    violated.formUnion([result.verdict.distrust?.rule].compactMap(\.self))
                    let text = "\(result.verdict.text)"
                    let way = result.proxy.flatMap { text.contains($0) ? nil : " through the proxy \($0)" } ?? ""
                    return console.problem(
                        "\(result.title)\(way): \(text)", result.severity.exitCode,
                        members: [("target", .string(result.subject))])
                }
                if let problem = draft.problem(with: path, backups) {
                    return console.problem(
                        "\(endpoint): \(problem)", .badInput, members: [("target", .string(endpoint.description))])
                }
                draft.add(path, port: Int(endpoint.port), anchors: anchors, target: target)
            }
            switch source {
            case .targets(let targets):
                await inOrder(targets) { target in
                    (target, judge.result(of: await probe.probes(of: target)[0], expecting: .none))
                } each: { target, result in
                    add(result, target.endpoint, target: target.detour)
                }
            case .chain(let chain, let names, let passedOver):
                for name in passedOver {
                    console.note(
                        "\(name) is skipped, it isn't a host: name the hosts below it with \(Flag.host.dashed)")
                }
                for endpoint in names {
                    let result = judge.result(
                        of: chain, name: endpoint.name, port: endpoint.port, subject: endpoint.description,
                        source: .file, expecting: .none)
                    add(result, endpoint, target: nil)
                }
            }
            guard console.status == .good else {
                guard console.status != .badInput else {
                    return console.note("nothing is written: give other flags")
                }
                guard console.status == .notTrusted, violated.contains(.unknownIssuer), anchors.isEmpty else {
                    return console.note("nothing is written: a policy is made only from verified chains")
                }
                return console.note(
                    "nothing is written, because a policy is made only from verified chains: if the CA is your own, "
                        + "give its root with \(Flag.caFile.dashed)")
            }
            try destination.write(draft, for: source.endpoints.map(\.description), &console)
            for anchor in anchors where anchor.hasPrefix("/") && !destination.path.isEmpty {
                console.note(
                    "note: the policy names \(anchor) by its absolute path, which other machines and plan git:… don't "
                        + "have: copy that file beside the policy, and give the copy with \(Flag.caFile.dashed)")
            }
            if case .targets = source {
                console.note(
                    draft.roles.isEmpty || draft.roles.contains(.leaf)
                        ? "next: before you ship these pins, confirm on each server itself that pinctl hash of its "
                            + "certificate file prints the leaf pin"
                        : "next: before you ship these pins, confirm that your certificates are issued by these CAs, "
                            + "because the connection may be intercepted")
            }
        })
}

extension Arguments {
    /// Returns the provider of `--provider`, if given.
    fileprivate func initialProvider() throws(UsageError) -> ProviderPools.Pool? {
        let pools = try providerPools()
        guard pools.count < 2 else {
            throw .unusable(["--provider was given twice: make the rules of each provider with a run of its own"])
        }
        guard pools.isEmpty || all(.initialRole).isEmpty else {
            throw .unusable(["--provider and --role cannot be used together: the provider's roots are pinned"])
        }
        return pools.first
    }

    /// Applies `--role`, `--subdomains` and `--backup` to a draft. Returns the backup pins with their files.
    fileprivate func settings(of draft: inout PolicyDraft) throws(UsageError) -> [(pin: Pin, file: String)] {
        for word in all(.initialRole) {
            guard let role = Flag.initialRoles.first(where: { $0.rawValue == word }) else {
                throw .unknownChoice(.initialRole, word, known: Flag.initialRoles.map(\.rawValue))
            }
            draft.roles.append(role)
        }
        draft.includesSubdomains = has(.initialSubdomains)
        var backups: [(pin: Pin, file: String)] = []
        for file in all(.initialBackup) {
            let bytes = try DialectInput.contents(file)
            let isAuthority = (try? CertificateFile.read(bytes, name: file))?.first?.isCertificateAuthority ?? false
            do throws(PinnedKeyError) {
                let pin = try Pin(keyIn: bytes, role: isAuthority ? .ca : .leaf, isBackup: true)
                draft.addBackup(pin, from: file)
                backups.append((pin, file))
            } catch {
                throw .invalidValue(.initialBackup, reason: "\(DialectInput.title(file)): \(error)")
            }
        }
        return backups
    }
}

extension PolicyDraft {
    /// Returns why the keys of a path can't be pinned as the flags say, if they can't.
    fileprivate func problem(with path: VerifiedPath, _ backups: [(pin: Pin, file: String)]) -> String? {
        let certificates = path.certificates
        // mutant init-provider: true for `hasProviderRoot(on: path)` by InitProviderTests/otherProvider
        guard hasProviderRoot(on: path) else {
            return "its path ends at \(path.anchor.subject), and has no root of the provider: "
                + "check \(Flag.provider.dashed), or pin the keys of this chain without it"
        }
        let isPinned = certificates.indices.contains { index in
            roles.isEmpty || roles.contains { $0.covers(index: index, of: certificates.count) }
        }
        guard isPinned else {
            let names = roles.map { $0 == .ca ? "CA" : $0.rawValue }.joined(separator: " or ")
            return "its chain has no \(names) certificate to pin: give another \(Flag.initialRole.dashed)"
        }
        let served = Set(certificates.map { PinFingerprint.publicKey($0.spkiFingerprint) })
        guard let (_, file) = backups.first(where: { served.contains($0.pin.fingerprint) }) else { return nil }
        return
            "\(file) isn't a backup, because its key is in the chain now: give \(Flag.initialBackup.dashed) a key "
            + "that no server uses yet"
    }
}

extension Target {
    /// The text that names the target in a policy, or `nil` if the host and port are enough.
    fileprivate var detour: String? {
        endpoint.route != nil || startTLS != nil ? operand : nil
    }
}

/// The source of hosts and keys for `init`.
private enum InitSource: Sendable {
    case targets([Target])
    /// The chain in a file, the hosts it is for, and the names in the leaf that aren't hosts.
    case chain(PresentedChain, [Endpoint], passedOver: [String])

    init(_ arguments: Arguments) throws(UsageError) {
        guard let path = arguments[.initialFrom] else {
            guard arguments.all(.initialHost).isEmpty else {
                throw .unusable(["--host needs --from: give --from FILE too"])
            }
            guard !arguments.operands.isEmpty else { throw .missingOperand(arguments.command) }
            self = .targets(try arguments.targets())
            return
        }
        guard arguments.operands.isEmpty else {
            throw .unusable([
                "targets and --from cannot be used together: write the targets into the file, one per line"
            ])
        }
        let bytes = try DialectInput.contents(path)
        let title = DialectInput.title(path)
        var certificates: [X509Certificate] = []
        var problem: String?
        var isText = false
        do throws(KeyFile.Failure) {
            try KeyFile.read(bytes) { _ in
                isText = true
                return true
            } each: { item in
                switch item.content {
                case .success(let key): if let certificate = key.parsedCertificate { certificates.append(certificate) }
                case .failure(let error): problem = problem ?? "[\(item.index)]: \(InputProblem(error).reason)"
                }
            }
        } catch {
            throw .unusable(["\(title): \(error)"])
        }
        if let problem { throw .unusable([title + problem]) }
        if isText {
            self = .targets(try Self.targets(in: bytes, title))
        } else {
            guard let chain = PresentedChain(ordering: certificates) else {
                throw .unusable([
                    "\(title): contains no certificate chain with exactly one leaf: give the chain of one server"
                ])
            }
            self = try Self.chain(chain, arguments, title)
        }
    }

    private static func targets(in bytes: [UInt8], _ title: String) throws(UsageError) -> [Target] {
        var targets: [Target] = []
        let lines = String(decoding: bytes, as: UTF8.self).split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in lines.enumerated() {
            let word = line.prefix { $0 != "#" }.split(whereSeparator: \.isWhitespace)
            guard let first = word.first else { continue }
            do throws(TargetError) {
                guard word.count == 1 else { throw .port(String(word[1])) }
                targets.append(try Target(String(first)))
            } catch {
                throw .unusable(["\(title):\(number + 1): \(error)"])
            }
        }
        guard !targets.isEmpty else {
            throw .unusable(["\(title): contains no targets: write one per line, or give certificates"])
        }
        return targets
    }

    private static func chain(
        _ chain: PresentedChain, _ arguments: Arguments, _ title: String
    ) throws(UsageError) -> InitSource {
        var endpoints: [Endpoint] = []
        for host in arguments.all(.initialHost) { endpoints.append(try Target(argument: host).endpoint) }
        guard endpoints.isEmpty else { return .chain(chain, endpoints, passedOver: []) }
        var passedOver: [String] = []
        for entry in chain.leaf.subjectAlternativeNames {
            guard let name = try? ServerName(entry.description) else {
                passedOver.append(entry.description)
                continue
            }
            endpoints.append(Endpoint(name: name, port: 443))
        }
        guard !endpoints.isEmpty else {
            throw .unusable(["\(title): its leaf certificate names no host: give one with \(Flag.host.dashed)"])
        }
        return .chain(chain, endpoints, passedOver: passedOver)
    }

    var endpoints: [Endpoint] {
        switch self {
        case .targets(let targets): targets.map(\.endpoint)
        case .chain(_, let endpoints, _): endpoints
        }
    }
}

/// The destination of the policy that `init` writes.
private enum InitDestination {
    case standardOutput
    case newFile(String)
    case policy(PolicyFile, [UInt8])

    init(_ arguments: Arguments) throws(UsageError) {
        switch (arguments[.output], arguments[.intoPolicy]) {
        case (_?, _?): throw .unusable(["--output and --into cannot be used together: give one of them"])
        case (let path?, nil): self = .newFile(path)
        case (nil, let path?):
            let bytes = try DialectInput.contents(path)
            do throws(PolicyFileError) {
                self = .policy(try PolicyFile(bytes: bytes, path: path), bytes)
            } catch {
                throw .unusable(error.problems.map(\.description))
            }
        case (nil, nil): self = .standardOutput
        }
    }

    var draft: PolicyDraft {
        if case .policy(let file, _) = self { PolicyDraft(extending: file) } else { PolicyDraft() }
    }

    var path: String {
        switch self {
        case .standardOutput: ""
        case .newFile(let path): path
        case .policy(let file, _): file.path
        }
    }

    /// Throws if the policy already has a rule for the host.
    func checkIsNew(_ endpoint: Endpoint) throws(UsageError) {
        guard case .policy(let file, _) = self else { return }
        let known = file.policy.rules.first { rule in
            rule.host == endpoint.name && rule.ports.map { $0.contains(Int(endpoint.port)) } ?? true
        }
        guard let known else { return }
        throw .unusable([
            "\(known.location.map { "\($0): " } ?? "")a rule for \(endpoint) already exists here: change it"
        ])
    }

    func write(_ draft: PolicyDraft, for hosts: [String], _ console: inout Console) throws(UsageError) {
        // No policy may have some contents, such as all names below a public suffix.
        do throws(PolicyFileError) {
            let text = draft.text(isStrict: path.lowercased().hasSuffix(".json"))
            _ = try PolicyFile(bytes: Array(text.utf8), path: path.isEmpty ? "the policy" : path)
        } catch {
            throw .unusable(error.problems.map { "nothing is written: \($0.message)" })
        }
        let targets: [(String, JSON)] = [("targets", .array(hosts.map { .string($0) }))]
        switch self {
        case .standardOutput:
            let lines = draft.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            console.result(lines.map(String.init), .object(targets + [("policy", .string(draft.text))]))
        case .newFile(let path):
            let text = draft.text(isStrict: path.lowercased().hasSuffix(".json"))
            do throws(NewFileError) {
                try writeNewFile(path, Array(text.utf8))
            } catch {
                throw .invalidValue(.output, reason: "\(path): \(error)")
            }
            console.result(["wrote \(path)"], .object(targets + [("file", .string(path))]))
        case .policy(let file, let bytes):
            let result: [UInt8]
            do throws(PolicyInsertionError) {
                result = try draft.inserted(into: bytes, path: file.path)
            } catch {
                throw .unusable([error.description])
            }
            // The file may have been saved while servers were being contacted.
            guard try DialectInput.contents(file.path) == bytes else {
                throw .unusable(["\(file.path): was changed in the meantime, so nothing is written: run pinctl again"])
            }
            do throws(NewFileError) {
                try replaceFile(file.path, result)
            } catch {
                throw .invalidValue(.intoPolicy, reason: "\(file.path): \(error)")
            }
            console.result(
                ["added \(plural(draft.count, "rule")) to \(file.path)"],
                .object(targets + [("file", .string(file.path)), ("rules", .integer(draft.count))]))
        }
    }
}
