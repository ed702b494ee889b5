import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

extension CommandDefinition {
    static let show = CommandDefinition(
        name: "show", summary: "show certificates and their pins",
        operands: "FILE|TARGET…", operandCount: 1...Int.max,
        flags: [
            .host.described("for a file, require the certificate to be valid for this DNS name or IP address"), .pem,
            .base64, .save, .der, .passwordDescriptor, .caFile, .profile, .at,
            .transparencyLogs,
        ] + Flag.probing(),
        notes: [
            "An operand is a file if it is -, contains a slash or has a usual extension such as .pem.",
            "Other operands are servers (see pinctl help targets). If a file and a server could be meant,",
            "write ./NAME or https://NAME.",
            "",
            "Certificates that form a chain are put in order and verified. For a file, the hostname is",
            "checked only with --host. A server is asked for both key types, RSA and ECDSA. With --pem,",
            "pinctl connects once and prints the chain as it was served, even if it is not trusted.",
            "",
            "The timestamps of Certificate Transparency logs (SCTs) are listed, and verified with --ct-logs.",
            "",
            "--save writes the certificates that were presented. It does not overwrite a file with other",
            "content.",
            "",
            "The exit code is 4 if a server is not trusted. For a file, which may be meant for other",
            "roots, this needs --host.",
        ],
        examples: [
            ("Show the certificates of a server and their pins", "pinctl show api.example.com"),
            ("Show the contents of a file", "pinctl show chain.pem"),
            ("Print the chain of a mail server as PEM", "pinctl show --pem smtp://mail.example.com > chain.pem"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            var operands: [ShowOperand] = []
            for word in arguments.operands { operands.append(try ShowOperand(word)) }
            let name = try arguments.shownName(of: operands)
            let judge = try ChainJudge(arguments, in: environment)
            let password = try arguments.password()
            let probe = try ServerProbe(arguments, in: environment, password: password)
            let files = ShownFiles(reader: InputReader(password: password), judge: judge, name: name)
            let export = try CertificateExport(arguments)
            let keys: CheckSettings.Keys = export.replacesText ? .auto : .both

            await inOrder(operands, atOnce: probe.jobs) { operand -> [ShownProbe] in
                guard case .target(let target) = operand else { return [] }
                return await probe.probes(of: target, keys: keys).withoutEndedBesides.map { ShownProbe($0, by: judge) }
            } each: { shown in
                // There is one result for each operand, in the same order.
                let operand = operands.removeFirst()
                if case .file(let path) = operand {
                    files.show(path, export, &console)
                } else {
                    for (index, one) in shown.enumerated() {
                        one.show(beside: index == 0 ? nil : shown[0], export, &console)
                    }
                }
                console.flush()
            }
        })
}

extension Arguments {
    /// Returns the hostname of `--host`, which applies only to files.
    fileprivate func shownName(of operands: [ShowOperand]) throws(UsageError) -> ServerName? {
        guard let host = self[.host] else { return nil }
        let hasFile = operands.contains { if case .file = $0 { true } else { false } }
        guard hasFile else {
            throw .unusable(["--host applies to files: write a server as host:443@ADDRESS"])
        }
        return try Target(argument: host).endpoint.name
    }
}

/// The result of connecting to a server.
private struct ShownProbe: Sendable {
    private let probe: Probe
    private let chain: ShownChain?
    private let staple: StapleText?

    init(_ probe: Probe, by judge: ChainJudge) {
        self.probe = probe
        guard case .success(let served) = probe.outcome else {
            (chain, staple) = (nil, nil)
            return
        }
        chain = ShownChain(
            served.presented, source: .served, for: probe.target.endpoint.name, staple: served.staple,
            timestamps: served.timestamps, by: judge)
        staple = served.staple.map { StapleText($0, of: served.presented, by: judge) }
    }

    /// Prints the result. If `first` is given, it is the first result for the same target, and the output is shorter.
    func show(beside first: ShownProbe?, _ export: CertificateExport, _ console: inout Console) {
        guard let chain, case .success(let served) = probe.outcome else {
            let reason = if case .failure(let error) = probe.outcome { error.description } else { "" }
            if export.replacesText {
                return console.problem("\(probe.target): unreachable: \(reason)", .couldNotCheck, members: place)
            }
            return console.result(
                ["??  \(probe.target)  unreachable: \(reason)"],
                .object(place + [("verdict", "unreachable"), ("reason", .string(reason))]), .couldNotCheck)
        }
        let status: ExitCode = chain.isTrusted ? .good : .notTrusted
        if export.replacesText {
            export.print(chain.presented, place, &console)
            if let reason = chain.reason { console.problem("\(probe.target): \(chain.verdict): \(reason)", status) }
        } else {
            let verdict: JSON = chain.isTrusted ? "ok" : "untrusted"
            console.result(
                first.map { short(beside: $0, chain) } ?? [headline(chain, served), exchange(served)].filter {
                    !$0.isEmpty
                } + chain.lines + stapleLines,
                .object(
                    place
                        + [
                            ("tls", .string(served.version)), ("cipher", .string(served.cipherSuite)),
                            ("group", served.group.map { .string($0) } ?? .null), ("verdict", verdict),
                        ] + chain.members
                        + [("staple", staple?.json ?? .null)]), status)
        }
        export.save(chain.presented, as: fileName, &console)
    }

    private var stapleLines: [String] { staple.map { [$0.line] } ?? [] }

    private var place: [(String, JSON)] {
        [
            ("target", .string(probe.target.description)), ("address", probe.address.map { .string($0) } ?? .null),
            ("key", probe.key.map { .string($0.rawValue) } ?? .null),
        ] + (probe.proxy.map { [("proxy", .string("\($0)"))] } ?? [])
    }

    private var fileName: String {
        ["\(probe.target.endpoint.name)", "\(probe.target.endpoint.port)", probe.key?.rawValue].compactMap(\.self)
            .joined(separator: "_")
    }

    private func headline(_ chain: ShownChain, _ served: ServedChain) -> String {
        let target = probe.target.description
        let name = chain.nameMatches == false ? "hostname mismatch" : "hostname ok"
        return [
            target, target.hasSuffix(probe.address ?? "") ? nil : probe.address, probe.proxy.map { "through \($0)" },
            served.version.isEmpty ? nil : served.version,
            "\(served.presented.leaf.subjectPublicKeyInfo.keyKind) key", chain.verdict, name,
        ].compactMap(\.self).joined(separator: "  ")
    }

    /// Returns the line with the key exchange and the cipher suite, empty if nothing is known of them.
    private func exchange(_ served: ServedChain) -> String {
        let parts = [
            served.group.map { "key exchange \($0)" },
            served.cipherSuite.isEmpty ? nil : "cipher \(served.cipherSuite)",
        ].compactMap(\.self)
        return parts.isEmpty ? "" : "  " + parts.joined(separator: ", ")
    }

    /// Returns the lines that another key or address of a target adds.
    private func short(beside first: ShownProbe, _ chain: ShownChain) -> [String] {
        guard let leaf = chain.presented.first else { return [] }
        let isSame = first.chain?.presented == chain.presented
        let kind = leaf.subjectPublicKeyInfo.keyKind
        let issuer = leaf.issuer.commonName ?? leaf.issuer.description
        let place = probe.address == first.probe.address ? "" : "\(probe.address ?? "") "
        let line =
            isSame
            ? "\(place)serves the same chain"
            : "\(place)also serves \(kind): leaf \(leaf.spkiFingerprint) (by \(issuer)), "
                + chain.verdict
        return ["  " + line] + (isSame ? [] : chain.lines) + stapleLines
    }
}
