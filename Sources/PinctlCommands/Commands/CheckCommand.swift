import CertificatePinning
import TLSTransport

extension CommandDefinition {
    static let check = CommandDefinition(
        name: "check", summary: "connect to servers, verify their chains, judge their pins", operands: "[TARGET…]",
        operandCount: 0...Int.max, flags: [.policy, .pin, .caFile, .profile, .at] + Flag.probing,
        notes: [
            "TARGET is host, host:port, [v6]:port, https://host/ or host:443@ADDRESS (pinctl help",
            "targets). Without one, every host of the policy is checked, at the targets of its rule's",
            "\"check\" where it has some. The policy is that of --policy, else of the environment",
            "variable PINCTL_POLICY, else pins/pins.jsonc.",
            "The connection is closed at the server's certificate; no byte of a request is sent.",
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let named = try arguments.targets()
            let probe = try ServerProbe(arguments)
            let judge = try ChainJudge(arguments, in: environment)
            var source = try arguments.pinSource()
            if case .none = source { source = .policy(try Arguments.usualPolicy(in: environment)) }
            var checks: [(target: Target, expectation: Expectation)] = []
            for target in named.isEmpty ? try source.targets() : named {
                checks.append((target, try source.expectation(for: target.endpoint)))
            }
            guard !checks.isEmpty else { throw .missingOperand(arguments.command) }

            for problem in source.unmetSettings(for: checks.map(\.target.endpoint)) {
                console.problem(problem, .couldNotCheck)
            }

            var tally: [ExitCode: Int] = [:]
            await inOrder(checks) { check -> VerdictText in
                if case .unlisted(let file) = check.expectation {
                    return judge.verdict(onUnlisted: check.target, in: file)
                }
                return judge.verdict(on: await probe.probes(of: check.target)[0], expecting: check.expectation)
            } each: { judged in
                let status = judged.verdict.status
                tally[status, default: 0] += 1
                console.result(
                    [judged.headline] + judged.explanation, judged.json([("target", .string(judged.subject))]), status)
                console.flush()
            }
            let counts = outcomes.map { outcome in (outcome, tally[outcome.status] ?? 0) }
            console.summarize(
                "\(checks.count) checked: "
                    + counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0.words)" }.joined(separator: ", "),
                source.digest + [("checked", .integer(checks.count))]
                    + counts.map { ($0.0.status.word, .integer($0.1)) })
        })

    private static let outcomes: [(status: ExitCode, words: String)] = [
        (.good, "ok"), (.finding, "failed"), (.notTrusted, "not trusted"), (.couldNotCheck, "unreachable"),
    ]
}

extension PinSource {
    /// The targets of every rule: those it names, else its host at the ports it reaches, 443 for all.
    fileprivate func targets() throws(UsageError) -> [Target] {
        guard case .policy(let file) = self else { return [] }
        var targets: [Target] = []
        for rule in file.policy.rules {
            for target in rule.check.targets {
                do throws(TargetError) {
                    targets.append(try Target(target))
                } catch {
                    throw .unusable(["\(rule.origin): the target \"\(target)\" of \"check\": \(error)"])
                }
            }
            guard rule.check.targets.isEmpty else { continue }
            targets += (rule.ports?.sorted() ?? [443]).compactMap { port in
                UInt16(exactly: port).map { Target(Endpoint(name: rule.host, port: $0)) }
            }
        }
        return targets
    }

    /// Which policy it was that the servers were held against: files change.
    fileprivate var digest: [(String, JSON)] {
        guard case .policy(let file) = self else { return [] }
        let digits = file.policy.digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return [("policy", .string(file.path)), ("policy_digest", .string(digits))]
    }

    /// What the rules of these servers ask of a check and is not done, each rule once: less was looked at than they say.
    fileprivate func unmetSettings(for endpoints: [Endpoint]) -> [String] {
        guard case .policy(let file) = self else { return [] }
        let rules = endpoints.compactMap { file.policy.rule(for: $0.name, port: Int($0.port)) }
        var unmet: [String] = []
        for rule in rules where !rule.check.unmet.isEmpty {
            let text =
                "\(rule.origin): \"check\" asks for \(rule.check.unmet.joined(separator: " and ")), which this version "
                + "does not do: look at it by other means"
            if !unmet.contains(text) { unmet.append(text) }
        }
        return unmet
    }
}

extension CheckSettings {
    fileprivate var unmet: [String] {
        [
            keys == .auto ? nil : "keys \(keys.rawValue)", allAddresses ? "all addresses" : nil,
            startTLS.map { "STARTTLS of \($0)" },
        ].compactMap(\.self)
    }
}
