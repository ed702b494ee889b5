import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// An item to check.
enum CheckItem: Sendable {
    /// A server. `rule` is the rule that names it, which may be another host's, and `input` the line that listed it.
    case server(Target, CheckSettings, rule: PinningRule?, input: String?)
    /// Files of certificates, requests and keys, which are read as a whole.
    case files([InputPath])
    /// A problem that prevents an item from being checked, with members that give its position.
    case problem(String, [(String, JSON)])
}

extension PinSource {
    /// Returns a target with the check settings of its rule. `listing` is the rule that lists the target in its own
    /// settings, if any.
    func item(for target: Target, listedBy listing: PinningRule? = nil, input: String? = nil) -> CheckItem {
        guard case .policy = self, let rule = rule(for: target.endpoint.name, port: target.endpoint.port) else {
            return .server(target, CheckSettings(), rule: listing, input: input)
        }
        var target = target
        if target.startTLS == nil { target.startTLS = rule.check.startTLS.flatMap(StartTLSProtocol.init) }
        return .server(target, rule.check, rule: rule, input: input)
    }

    /// Returns the targets of the policy, or none without one.
    func targets() throws(UsageError) -> [(Target, PinningRule?)] {
        guard case .policy(let file) = self else { return [] }
        return try file.policy.checkedTargets().map { ($0, $1) }
    }

    /// The path of the policy file.
    var path: String? { if case .policy(let file) = self { file.path } else { nil } }

    /// The path and digest of the policy that the servers were checked against, since files change.
    var digest: [(String, JSON)] {
        guard case .policy(let file) = self else { return [] }
        return [("policy", .string(file.path)), ("policy_digest", .string(Hexadecimal.encode(file.policy.digest)))]
    }
}

extension PinningPolicy {
    /// Returns the targets of every rule, with the rule. These are the targets that the rule lists, or otherwise its
    /// host at the rule's ports or the default port.
    func checkedTargets() throws(UsageError) -> [(target: Target, rule: PinningRule)] {
        var targets: [(target: Target, rule: PinningRule)] = []
        for rule in rules {
            let startTLS = rule.check.startTLS.flatMap(StartTLSProtocol.init)
            for text in rule.check.targets {
                do throws(TargetError) {
                    targets.append((try Target(text), rule))
                } catch {
                    throw .unusable(["\(rule.origin): the target \"\(text)\" of \"check\": \(error)"])
                }
            }
            guard rule.check.targets.isEmpty else { continue }
            let ports = rule.ports?.sorted() ?? [Int(startTLS?.defaultPort ?? 443)]
            targets += ports.compactMap { port in
                UInt16(exactly: port).map { (Target(Endpoint(name: rule.host, port: $0), startTLS: startTLS), rule) }
            }
        }
        return targets
    }
}
