import CertificatePinning
import CertificateTrust
import TLSTransport

extension CommandDefinition {
    static let verify = CommandDefinition(
        name: "verify", summary: "verify a chain in a file, and judge its pins", operands: "CHAIN",
        operandCount: 1...1,
        flags: [.host, .caFile, .store, .profile, .at, .crl, .ocsp, .revocation, .pin, .policy, .verbose],
        notes: [
            "CHAIN is a file of certificates, PEM or DER; - is standard input. The first one is the",
            "server's, the others help to build its path. --host may have a :port, which a policy",
            "may ask for; it is 443 otherwise. With --store the chain is verified under each named",
            "store, as the clients that have it would, and every one has to trust it; files of",
            "one NAME are one store. Revocation is looked at when --crl, --ocsp or --revocation",
            "is given; the mode is use unless --revocation says require. In messages certificate 1",
            "is the one that issued the leaf, and the word in brackets is the rule that was broken.",
        ],
        examples: [
            (
                "whether a chain proves a name to who has these roots",
                "pinctl verify chain.pem --host api.example.com --ca-file root.pem"
            ),
            (
                "the same under the roots of two kinds of clients, with every path that was tried",
                "pinctl verify chain.pem --host api.example.com --store old=old.pem --store new=new.pem -v"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            guard let host = arguments[.host] else { throw .missingFlag(.host) }
            let endpoint: Endpoint
            do throws(TargetError) {
                endpoint = try Target(host).endpoint
            } catch {
                throw .invalidValue(.host, reason: error.description)
            }
            let time = try arguments.time(in: environment)
            let expectation = try arguments.pinSource().expectation(for: endpoint)
            let (mode, evidence) = try arguments.revocation()
            var policy = try arguments.trustPolicy()
            policy.revocation = mode
            let stores = try arguments.trustStores(in: environment)
            let presented = try presentedChain(arguments.operands[0])
            for (name, store) in stores {
                let trust = ServerTrust(
                    presented: presented, name: endpoint.name, store: store, policy: policy, revocation: evidence)
                let verdict = Verdict(on: trust, port: endpoint.port, expecting: expectation, time: time)
                let result = CheckResult(
                    verdict: verdict,
                    subject: endpoint.name.description + (name.map { " (\($0))" } ?? ""), source: "file",
                    presented: presented.certificates, now: time,
                    causes: verdict.causes(among: expectation.causes(of: trust, port: endpoint.port, at: time)))
                let trace = arguments.has(.verbose) ? TraceText(of: trust, at: time) : nil
                console.result(
                    [result.headline] + result.details + (trace?.lines ?? []),
                    result.json(
                        [("input", .string(arguments.operands[0])), ("host", .string(endpoint.name.description))]
                            + (name.map { [("store", .string($0))] } ?? []) + (trace.map { [("tried", $0.json)] } ?? [])
                    ),
                    result.severity.exitCode)
            }
        })

    private static func presentedChain(_ operand: String) throws(UsageError) -> PresentedChain {
        let certificates: [X509Certificate]
        do throws(CertificateFileError) {
            certificates = try operand == "-" ? CertificateFile.read(.standardInput()) : CertificateFile.read(operand)
        } catch {
            throw .unusable([error.description])
        }
        return PresentedChain(leaf: certificates[0], intermediates: Array(certificates.dropFirst()))
    }
}
