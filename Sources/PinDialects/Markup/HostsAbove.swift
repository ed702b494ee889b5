import CertificatePinning

/// Whether a host stands below one of some others, at any depth. No host has over 253 bytes (RFC 1035, section 2.3.4).
func isBelow(_ host: String, oneOf parents: Set<String>) -> Bool {
    guard host.utf8.count <= 253 else { return false }
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
        rest = rest[rest.index(after: dot)...]
        if parents.contains(String(rest)) { return true }
    }
    return false
}

extension CanonicalPolicy {
    /// The hosts whose rules pin all that is below them.
    var pinnedParents: Set<String> {
        let patterns = rules.filter { $0.mode != .off }.flatMap(\.patterns)
        return Set(patterns.filter { $0.scope == .exactAndBelow }.map(\.host))
    }
}
