import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// Returns the SHA-256 of a policy's canonical text. The text has everything that affects decisions, in an order that
/// doesn't depend on the file. It has no names, notes or locations.
func policyDigest(_ rules: [PinningRule], _ unlisted: UnlistedHosts, deny: [Pin]) -> [UInt8] {
    // Rules of one file share their stores, and hashing a store is the expensive part.
    var stores: [ObjectIdentifier: String] = [:]
    let lines = rules.map { rule in
        let digests = [rule.anchors, rule.pinsApplyOnlyUnder].map { store in
            guard let store else { return "none" }
            let digest = stores[ObjectIdentifier(store)] ?? Base64.encode(store.digest.span)
            stores[ObjectIdentifier(store)] = digest
            return digest
        }
        return rule.canonicalText(stores: digests)
    }.sorted()
    let text = Array(
        "policy 1\nunlisted \(unlisted.rawValue)\ndeny \(deny.canonicalText)\n\(lines.joined())".utf8)
    return sha256Digest(text.span)
}

extension PinningRule {
    /// Returns a line of the canonical text. No field contains a space, so different rules never have the same line.
    fileprivate func canonicalText(stores: [String]) -> String {
        let ports = ports.map { $0.sorted().map(String.init).joined(separator: ",") } ?? "all"
        let roles =
            switch requirement {
            case .any: "any"
            case .eachOf(let roles): "each:" + roles.map(\.rawValue).sorted().joined(separator: ",")
            }
        let expiry = expiry.map { "\($0.end.timeIntervalSince1970):\($0.action.rawValue)" } ?? "never"
        let transparency = certificateTransparency.map { "ct:\($0.rawValue) " } ?? ""
        return "\(host) \(includesSubdomains) \(ports) \(roles) \(mode.rawValue) \(expiry) "
            + "\(transparency)\(stores.joined(separator: " ")) \(pins.canonicalText)\n"
    }
}

extension [Pin] {
    fileprivate var canonicalText: String {
        map { "\($0.role.rawValue):\($0.fingerprint)" }.sorted().joined(separator: ",")
    }
}
