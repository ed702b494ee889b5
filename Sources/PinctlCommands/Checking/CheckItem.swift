import CertificatePinning
import CertificateTrust
import TLSTransport

/// One thing to check.
enum CheckItem: Sendable {
    /// A server; `input` is the line that named it, where one did.
    case server(Target, Expectation, CheckSettings, input: String?)
    /// A file of certificates, requests and keys; one that stands in a folder may hold something else.
    case file(String, isNamed: Bool)
    /// What stands in the way of knowing what is to be checked, with members that say where.
    case problem(String, [(String, JSON)])
}

extension PinSource {
    /// A target with what its rule expects and how it wants it looked at.
    func item(for target: Target, input: String? = nil) throws(UsageError) -> CheckItem {
        let expectation = try expectation(for: target.endpoint)
        guard case .policy(let file) = self,
            let rule = file.policy.rule(for: target.endpoint.name, port: Int(target.endpoint.port))
        else { return .server(target, expectation, CheckSettings(), input: input) }
        var target = target
        if target.startTLS == nil { target.startTLS = rule.check.startTLS.flatMap(StartTLSProtocol.init) }
        return .server(target, expectation, rule.check, input: input)
    }

    /// The targets of every rule, each once: those it names, else its host at the ports it reaches, or at the usual one.
    func targets() throws(UsageError) -> [Target] {
        guard case .policy(let file) = self else { return [] }
        var targets: [Target] = []
        for rule in file.policy.rules {
            let startTLS = rule.check.startTLS.flatMap(StartTLSProtocol.init)
            for text in rule.check.targets {
                do throws(TargetError) {
                    targets.append(try Target(text))
                } catch {
                    throw .unusable(["\(rule.origin): the target \"\(text)\" of \"check\": \(error)"])
                }
            }
            guard rule.check.targets.isEmpty else { continue }
            let ports = rule.ports?.sorted() ?? [Int(startTLS?.defaultPort ?? 443)]
            targets += ports.compactMap { port in
                UInt16(exactly: port).map { Target(Endpoint(name: rule.host, port: $0), startTLS: startTLS) }
            }
        }
        return targets
    }

    /// The file of the policy.
    var path: String? { if case .policy(let file) = self { file.path } else { nil } }

    /// Which policy it was that the servers were held against: files change.
    var digest: [(String, JSON)] {
        guard case .policy(let file) = self else { return [] }
        let digits = file.policy.digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return [("policy", .string(file.path)), ("policy_digest", .string(digits))]
    }
}
