import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

extension CommandDefinition {
    static let verify = CommandDefinition(
        name: "verify", summary: "verify a chain for a hostname, or the signatures of a bundle",
        operands: "CHAIN|BUNDLE",
        operandCount: 1...1,
        flags: [
            .host.described(
                "require the certificate to be valid for this DNS name or IP address, with an optional :PORT for the "
                    + "policy"),
            .caFile, .store, .profile, .at, .crl, .ocsp, .revocation, .transparencyLogs, .transparency, .pin,
            .policy.described("expect the pins of the rule for --host in this policy file"),
            .keySets.described(
                "verify a BUNDLE with this key set, JSON (see pinctl help sign)",
                details: "The bundle is verified once for each set, as a program with that set verifies it."),
            .verbose.described("print each path that was tried, and why it was rejected"),
        ],
        notes: [
            "CHAIN is a file of certificates (see pinctl hash --help), or - for standard input. The first certificate",
            "is the leaf, and the others help to build its path. --host may include a :port, for policies",
            "with rules for a port (default: 443).",
            "",
            "With --store, the chain is verified with each named trust store, as clients with that store",
            "would verify it, and every store must accept it. Files with the same NAME form one store.",
            "",
            "Revocation is checked if --crl, --ocsp or --revocation is given, in the mode use unless",
            "--revocation says require. Certificate Transparency is checked if --ct-logs is given.",
            "",
            "A BUNDLE of pinctl sign is verified with the key set of --keys, as a program with that set",
            "verifies the first bundle that it receives.",
            "",
            "In messages, certificate 1 is the issuer of the leaf, and the word in brackets is the rule",
            "that was violated.",
        ],
        examples: [
            (
                "Verify a chain for a hostname with the roots in a file",
                "pinctl verify chain.pem --host api.example.com --ca-file root.pem"
            ),
            (
                "Verify it with the roots of two kinds of clients, and print every path that was tried",
                "pinctl verify chain.pem --host api.example.com --store old=old.pem --store new=new.pem -v"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            if try verifyBundle(arguments, environment, &console) { return }
            guard let host = arguments[.host] else { throw .missingFlag(.host) }
            let endpoint: Endpoint
            do throws(TargetError) {
                endpoint = try Target(host).endpoint
            } catch {
                throw .invalidValue(.host, reason: error.description)
            }
            let time = try arguments.time(in: environment)
            let source = try arguments.pinSource()
            if case .policy(let file) = source { console.note(of: file) }
            let (mode, evidence) = try arguments.revocation()
            var policy = try arguments.trustPolicy()
            policy.revocation = mode
            let logs: TransparencyLogList?
            (policy.certificateTransparency, logs) = try arguments.transparency()
            let stores = try arguments.trustStores(in: environment)
            let presented = try presentedChain(arguments.operands[0])
            if let note = orderNote(on: presented, arguments.operands[0]) { console.note(note) }
            let columns = console.columns
            for (name, store) in stores {
                let trust = ServerTrust(
                    presented: presented, name: endpoint.name, store: store, policy: policy, revocation: evidence,
                    transparency: TransparencyEvidence(logs: logs))
                let verdict = Verdict(
                    on: trust, port: endpoint.port, expecting: source, time: time, from: .file,
                    trustedBy: name == nil ? .caFile : .store)
                let result = CheckResult(
                    verdict: verdict,
                    subject: endpoint.name.description + (name.map { " (\($0))" } ?? ""), source: .file,
                    presented: presented.certificates, now: time,
                    causes: verdict.causes(among: source.causes(of: trust, port: endpoint.port, at: time)),
                    warnings: verdict.isGood ? verdict.path.map { CheckWarning.transparency(of: $0) } ?? [] : [])
                let trace = arguments.has(.verbose) ? TraceText(of: trust, at: time) : nil
                console.result(
                    [result.headline] + result.details(columns: columns) + (trace?.lines ?? []),
                    result.json(
                        [("input", .string(arguments.operands[0])), ("host", .string(endpoint.name.description))]
                            + (name.map { [("store", .string($0))] } ?? []) + (trace.map { [("tried", $0.json)] } ?? [])
                    ),
                    result.severity.exitCode)
            }
        })

    /// Returns a note on a file that doesn't begin with its leaf, or `nil` for others. What follows is about the first
    /// certificate, which servers present as their own.
    private static func orderNote(on presented: PresentedChain, _ operand: String) -> String? {
        let pool = CertificatePool(presented.certificates)
        // mutant verify-order: nil for 2 by VerifyTests/wrongOrder
        guard !pool.isLeaf(presented.leaf), let place = presented.certificates.firstIndex(where: pool.isLeaf) else {
            return nil
        }
        return
            "note: \(DialectInput.title(operand)) begins with \(presented.leaf.subject), and its leaf is certificate "
            + "\(place + 1): put that first, because servers present the first certificate as their own"
    }

    private static func presentedChain(_ operand: String) throws(UsageError) -> PresentedChain {
        let certificates: [X509Certificate]
        do throws(InputProblem) {
            certificates = try InputReader(password: KeyPassword()).certificates(of: operand)
        } catch {
            throw .unusable(["\(DialectInput.title(operand)): \(error.reason)"])
        }
        return PresentedChain(leaf: certificates[0], intermediates: Array(certificates.dropFirst()))
    }
}
