import CertificatePinning
import CertificateTrust
import FoundationEssentials
import TLSTransport

extension CommandDefinition {
    static let check = CommandDefinition(
        name: "check", summary: "connect to servers, verify their chains, judge their pins", operands: "[TARGET…]",
        operandCount: 0...Int.max, flags: [.policy, .pin, .caFile, .at, .connectTimeout, .timeout],
        notes: [
            "TARGET is host, host:port, [v6]:port, https://host/ or host:443@ADDRESS (pinctl help",
            "targets). Without one, every host of the policy is checked. The policy is that of",
            "--policy, else of the environment variable PINCTL_POLICY, else pins/pins.jsonc.",
            "The connection is closed at the server's certificate; no byte of a request is sent.",
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let time = try arguments.time(in: environment)
            let options = try arguments.dialOptions()
            var source = try arguments.pinSource()
            if case .none = source { source = .policy(try arguments.usualPolicy(in: environment)) }
            var checks: [(endpoint: Endpoint, expectation: Expectation)] = []
            for endpoint in try arguments.operands.isEmpty ? source.endpoints : arguments.endpoints() {
                checks.append((endpoint, try source.expectation(for: endpoint)))
            }
            let store = try arguments.trustStore(in: environment)

            var tally: [ExitStatus: Int] = [:]
            await inOrder(checks) { check in
                await probe(check.endpoint, check.expectation, store, time, options)
            } each: { text in
                tally[text.verdict.status, default: 0] += 1
                console.result(
                    [text.headline] + text.explanation, text.json([("target", .string(text.subject))]),
                    text.verdict.status)
                console.flush()
            }
            console.summarize(sentence(checks.count, tally), members(checks.count, tally))
        })

    /// Connects, takes the chain, hangs up, and judges.
    private static func probe(
        _ endpoint: Endpoint, _ expectation: Expectation, _ store: TrustStore, _ time: Date, _ options: DialOptions
    ) async -> VerdictText {
        var verdict: Verdict
        var presented: [X509Certificate] = []
        if case .unlisted(let policy) = expectation {
            verdict = .unlisted(policy: policy)
        } else {
            do throws(TransportError) {
                let chain = try await Transport.shared.presentedChain(of: endpoint, options: options)
                presented = chain.certificates
                verdict = Verdict(
                    on: chain, name: endpoint.name, port: endpoint.port, expecting: expectation, store: store,
                    time: time)
            } catch {
                verdict = .unreachable(error.description)
            }
        }
        return VerdictText(
            verdict: verdict, subject: endpoint.description, source: "served", presented: presented, now: time)
    }

    private static let outcomes: [(status: ExitStatus, words: String, key: String)] = [
        (.good, "ok", "ok"), (.finding, "failed", "failed"), (.notTrusted, "not trusted", "not_trusted"),
        (.couldNotCheck, "unreachable", "unreachable"),
    ]

    /// `4 checked: 2 ok, 1 failed, 1 unreachable`.
    private static func sentence(_ count: Int, _ tally: [ExitStatus: Int]) -> String {
        let parts = outcomes.compactMap { outcome in tally[outcome.status].map { "\($0) \(outcome.words)" } }
        return "\(count) checked: " + parts.joined(separator: ", ")
    }

    private static func members(_ count: Int, _ tally: [ExitStatus: Int]) -> [(String, JSON)] {
        [("checked", .integer(count))] + outcomes.map { ($0.key, .integer(tally[$0.status] ?? 0)) }
    }
}

extension Transport {
    /// The chain that a server presents. The connection is closed before anything but the handshake was sent.
    func presentedChain(
        of endpoint: Endpoint, options: DialOptions
    ) async throws(TransportError) -> PresentedChain {
        let connection = try await dial(endpoint, options: options)
        let chain = connection.presented
        await connection.refuse()
        return chain
    }
}

extension PinSource {
    /// Every host of the policy, at the ports its rules name or at 443.
    fileprivate var endpoints: [Endpoint] {
        guard case .policy(let file) = self else { return [] }
        return file.policy.rules.flatMap { rule in
            (rule.ports?.sorted() ?? [443]).compactMap { port in
                UInt16(exactly: port).map { Endpoint(name: rule.host, port: $0) }
            }
        }
    }
}

extension Arguments {
    fileprivate func endpoints() throws(UsageError) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for operand in operands { endpoints.append(try Endpoint(argument: operand)) }
        return endpoints
    }

    func dialOptions() throws(UsageError) -> DialOptions {
        var options = DialOptions()
        options.totalTimeout = try seconds(.timeout, default: 10)
        options.connectTimeout = try seconds(.connectTimeout, default: 5)
        options.resolveTimeout = options.totalTimeout
        options.handshakeTimeout = options.totalTimeout
        return options
    }
}
