import CertificatePinning

/// Returns whether a host is below one of the parents, at any depth. No hostname has more than 253 bytes (RFC 1035,
/// section 2.3.4).
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
    /// The hosts whose rules also pin all hosts below them.
    var pinnedParents: Set<String> {
        let patterns = rules.filter { $0.mode != .off }.flatMap(\.patterns)
        return Set(patterns.filter { $0.scope == .exactAndBelow }.map(\.host))
    }
}
