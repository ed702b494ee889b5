import CertificateTrust
import TLSTransport

extension CommandDefinition {
    static let verify = CommandDefinition(
        name: "verify", summary: "verify a chain in a file, and judge its pins", operands: "CHAIN",
        operandCount: 1...1, flags: [.host, .caFile, .at, .pin, .policy],
        notes: [
            "CHAIN is a file of certificates, PEM or DER; - is standard input. The first one is the",
            "server's, the others help to build its path. --host may have a :port, which a policy",
            "may ask for; it is 443 otherwise.",
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            guard let host = arguments[.host] else { throw .missingFlag(.host) }
            let endpoint = try Endpoint(argument: host)
            let time = try arguments.time(in: environment)
            let expectation = try arguments.pinSource().expectation(for: endpoint)
            let store = try arguments.trustStore(in: environment)
            let presented = try presentedChain(arguments.operands[0])
            let verdict = Verdict(on: presented, of: endpoint, expecting: expectation, store: store, time: time)
            let text = VerdictText(
                verdict: verdict, subject: endpoint.name.description, source: "file",
                presented: presented.certificates, now: time)
            console.result(
                [text.headline] + (text.explanation.isEmpty ? text.chain : text.explanation),
                text.json([("input", .string(arguments.operands[0])), ("host", .string(endpoint.name.description))]),
                verdict.status)
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
