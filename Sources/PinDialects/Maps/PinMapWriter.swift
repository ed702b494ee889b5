import CertificatePinning
import PinctlBasics

/// A writer of maps in the form that React Native's react-native-ssl-public-key-pinning takes.
enum PinMapWriter {
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var hosts: [(String, JSON)] = []
        for rule in policy.rules {
            for pattern in rule.patterns {
                guard rule.mode == .enforce, rule.ports == nil, rule.requirement == .any, !rule.pins.isEmpty,
                    rule.pins.allSatisfy({ $0.content == .publicKey && $0.digest == .sha256 && $0.role == .any })
                else {
                    throw DialectWriteError(
                        "a map can't express the rule for \(visibleText(pattern.host)): convert the policy first",
                        at: rule.location)
                }
                var members: [(String, JSON)] = [("includeSubdomains", .bool(pattern.scope == .exactAndBelow))]
                if case .instant(let seconds)? = rule.expiry?.moment, let end = CivilTime(secondsSince1970: seconds) {
                    members.append(("expirationDate", .string(String(end.description.prefix(10)))))
                }
                let pins = rule.pins.map { JSON.string(Base64.encode($0.value.span)) }
                members.append(("publicKeyHashes", .array(pins)))
                hosts.append((pattern.host, .object(members)))
            }
        }
        return JSON.object(hosts).lines() + "\n"
    }
}
