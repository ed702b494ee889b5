import CertificatePinning

/// A second implementation of the decision on pins, which is compared with the real one.
///
/// It is as plain as possible, and was written from the articles alone: "How a policy decides" in
/// CertificatePinning.md, the keys of a policy file there, and the design page. Keys are numbers, names are lists of
/// labels, and times are numbers. Nothing is looked up in a table, and nothing is kept.
enum DecisionSpecification {
    struct ModelPin: Hashable {
        var key: Int
        var role = PinRole.any
    }

    struct ModelExpiry: Hashable {
        var end: Int
        var action: PinningExpiry.Action
    }

    struct ModelRule {
        var host: [String]
        var subdomains = false
        /// All ports if `nil`.
        var ports: [Int]?
        var pins: [ModelPin]
        /// Any match if empty.
        var require: [PinRole] = []
        var mode = PinningMode.enforce
        var expiry: ModelExpiry?
        /// The keys of the anchors under which the pins apply. All anchors if `nil`.
        var anchors: [Int]?
    }

    struct ModelPolicy {
        var rules: [ModelRule]
        var unlisted = UnlistedHosts.trust
        var deny: [ModelPin] = []
    }

    /// Returns the rule for a host: "the rule of the exact name, or else of the longest parent with `subdomains`. A
    /// rule that doesn't apply to the port is ignored."
    static func rule(_ policy: ModelPolicy, host: [String], port: Int) -> Int? {
        func find(_ matches: (ModelRule) -> Bool) -> Int? {
            policy.rules.firstIndex { matches($0) && ($0.ports?.contains(port) ?? true) }
        }
        if let exact = find({ $0.host == host }) { return exact }
        // The longest parent first: without one label, without two, and so on.
        for skipped in 1..<max(host.count, 1) {
            let parent = Array(host[skipped...])
            if let found = find({ $0.host == parent && $0.subdomains }) { return found }
        }
        return nil
    }

    /// The positions of a role: "the first is the leaf, the last is the root; a path of one certificate is a leaf and
    /// nothing else".
    static func covers(_ role: PinRole, _ position: Int, _ count: Int) -> Bool {
        let isLeaf = position == 0
        let isRoot = position == count - 1 && position > 0
        switch role {
        case .any: return true
        case .leaf: return isLeaf
        case .root: return isRoot
        case .intermediate: return !isLeaf && !isRoot
        case .ca: return !isLeaf
        @unknown default: return false
        }
    }

    static func matches(_ pin: ModelPin, _ path: [Int], in role: PinRole = .any) -> Bool {
        for position in 0..<path.count
        where path[position] == pin.key && covers(pin.role, position, path.count)
            && covers(role, position, path.count)
        {
            return true
        }
        return false
    }

    /// Returns the verdict on a verified path, leaf first, in the words of `PinningPolicy.verdict(_:port:at:)`.
    static func verdict(_ policy: ModelPolicy, path: [Int], host: [String], port: Int, time: Int) -> String {
        // "Denied keys come first", "and for hosts without a rule too".
        for pin in policy.deny where matches(pin, path) { return "refused: denied" }
        guard let index = rule(policy, host: host, port: port) else {
            return policy.unlisted == .trust ? "accepted: unpinned" : "refused: unlisted"
        }
        let rule = policy.rules[index]
        // "In mode `off` the rule's pins and expiry are ignored."
        if rule.mode == .off { return "accepted: unpinned" }
        var reportsOnly = rule.mode == .report
        // "From then on, it refuses every server that it applies to (`fail`, in mode `report` too), only reports
        // mismatches (`report`), or ignores its pins (`stop-pinning`)."
        if let expiry = rule.expiry, time >= expiry.end {
            switch expiry.action {
            case .fail: return "refused: expired"
            case .report: reportsOnly = true
            case .stopPinning: return "accepted: stopped"
            @unknown default: return "refused: expired"
            }
        }
        var isMatched = true
        if rule.require.isEmpty {
            isMatched = rule.pins.contains { matches($0, path) }
        } else {
            for role in rule.require where !rule.pins.contains(where: { matches($0, path, in: role) }) {
                isMatched = false
            }
        }
        if isMatched { return "accepted: matched" }
        // "A chain whose valid paths all end at anchors outside the system's trust store is accepted without a matching
        // pin." This is about one path.
        if let anchors = rule.anchors, let anchor = path.last, !anchors.contains(anchor) {
            return "accepted: bypassed"
        }
        return reportsOnly ? "accepted: forgiven" : "refused: mismatch"
    }
}

extension DecisionSpecification {
    /// Whether a policy is valid: "two rules for one host with overlapping ports are an error", and no role may be
    /// required in which no pin can match.
    static func isValid(_ policy: ModelPolicy) -> Bool {
        for (index, rule) in policy.rules.enumerated() {
            for other in policy.rules[..<index] where other.host == rule.host {
                guard let ports = rule.ports, let others = other.ports else { return false }
                for port in ports where others.contains(port) { return false }
            }
            for role in rule.require {
                let isPossible = (1...4).contains { count in
                    (0..<count).contains { position in
                        covers(role, position, count) && rule.pins.contains { covers($0.role, position, count) }
                    }
                }
                if !isPossible { return false }
            }
        }
        return true
    }

    /// Whether cleartext is allowed: it is "refused for a host with an enforced rule and, under `"unlisted": "refuse"`,
    /// for a host without a rule".
    static func permitsCleartext(_ policy: ModelPolicy, host: [String]) -> Bool {
        let covering = policy.rules.filter { rule in
            rule.host == host || (rule.subdomains && host.count > rule.host.count && host.hasSuffix(rule.host))
        }
        if covering.isEmpty { return policy.unlisted == .trust }
        return !covering.contains { $0.mode == .enforce }
    }
}

extension [String] {
    fileprivate func hasSuffix(_ labels: [String]) -> Bool { Array(suffix(labels.count)) == labels }
}
