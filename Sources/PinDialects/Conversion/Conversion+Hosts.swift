import CertificatePinning
import CertificateTrust
import PinctlBasics

extension Conversion {
    /// Keeps the rules that apply to one host, as rules for that host alone.
    mutating func choose(_ host: String, _ policy: inout CanonicalPolicy) {
        let rules = PinDialect.policy.rules(for: host, in: policy)
        if rules.isEmpty {
            note(.splitLost, .impossible, "no rule covers \(visibleText(host)): name another host", nil)
        }
        policy.rules = rules.map { rule in
            var rule = rule
            rule.patterns = rule.patterns.contains { $0.host == host } ? rule.patterns : [HostPattern(host, .exact)]
            return rule
        }
    }

    mutating func checkHosts(_ policy: CanonicalPolicy) {
        let hosts = Set(policy.rules.flatMap(\.patterns).map(\.host))
        if traits.isForOneHost, policy.rules.count > 1 || hosts.count > 1 {
            note(
                .splitLost, .impossible,
                "\(name) supports only one host: choose one of \(hosts.count) with --host, or \"host\" in \"exports\"",
                nil)
        }
        let isNamed = !policy.rules.flatMap(\.patterns).contains { $0.scope == .every }
        if !traits.scopes.contains(.every), !isNamed {
            note(
                .splitLost, .impossible, "the source names no host: give one with --host", policy.rules.first?.location)
        }
    }

    /// Rewrites the host the way policies of this project require. Returns false for a rule to be left out because its
    /// host isn't a valid name.
    mutating func namesHosts(_ rule: inout CanonicalRule) -> Bool {
        guard let pattern = rule.patterns.first, pattern.scope != .every else { return true }
        var text = pattern.host.lowercased()
        if text.hasSuffix(".") {
            text.removeLast()
            note(
                .scopeWidened, .stricter, "\(rule.title) is pinned as \(visibleText(text)), without its trailing dot",
                rule.location)
        }
        let host: ServerName
        do throws(ServerNameError) {
            host = try ServerName(text)
        } catch {
            note(.splitLost, .weaker, "\(rule.title) is left out: \(error)", rule.location)
            return false
        }
        var scope = pattern.scope
        if host.isIPAddress, scope != .exact {
            note(
                .scopeNarrowed, .unchanged, "names below \(rule.title) are left out, because it is an IP address",
                rule.location)
            scope = .exact
        }
        rule.patterns = [HostPattern(host.description, scope)]
        return true
    }

    /// Notes a host for which the target's system doesn't start.
    mutating func checkSuffix(of rule: CanonicalRule) {
        guard traits.needsPublicSuffix, let pattern = rule.patterns.first, let host = try? ServerName(pattern.host),
            let problem = TrustKitConfiguration.problem(with: host, publicSuffixes)
        else { return }
        note(.splitLost, .impossible, problem, rule.location)
    }

    /// Returns the rule once for each scope of the target that is needed to express its own.
    mutating func scoped(_ rule: CanonicalRule, among rules: RuleTable<CanonicalRule>) -> [CanonicalRule] {
        let pattern = rule.patterns[0]
        let targets = targets(of: pattern)
        let isBelowOther = rules.covering(pattern).contains { $0.patterns[0].host != pattern.host }
        noteScope(of: pattern, targets.map(\.scope), isBelowOther: isBelowOther, rule.location)
        return targets.map { pattern in
            var rule = rule
            rule.patterns = [pattern]
            return rule
        }
    }

    /// Returns the target's patterns that express a pattern as far as they can. There is none for the names below a
    /// host if the target only has rules for single hosts.
    private func targets(of pattern: HostPattern) -> [HostPattern] {
        func has(_ scope: HostPattern.Scope) -> Bool { traits.scopes.contains(scope) }
        let scopes: [HostPattern.Scope]
        switch pattern.scope {
        case let scope where has(scope): scopes = [scope]
        case _ where has(.every): return [HostPattern("", .every)]
        case .exactAndOneLabelBelow where has(.oneLabelBelow): scopes = [.exact, .oneLabelBelow]
        case .oneLabelBelow where has(.exactAndOneLabelBelow): scopes = [.exactAndOneLabelBelow]
        case .oneLabelBelow where has(.exactAndBelow): scopes = [.exactAndBelow]
        case .exactAndOneLabelBelow where has(.exactAndBelow): scopes = [.exactAndBelow]
        case .exactAndBelow where has(.exactAndOneLabelBelow): scopes = [.exactAndOneLabelBelow]
        case .oneLabelBelow: scopes = []
        case .every: scopes = [.every]
        default: scopes = [.exact]
        }
        return scopes.map { HostPattern(pattern.host, $0) }
    }

    private mutating func noteScope(
        of pattern: HostPattern, _ targets: [HostPattern.Scope], isBelowOther: Bool, _ location: PolicyLocation?
    ) {
        let host = visibleText(pattern.host)
        func wider(_ message: String) {
            // Names that the wider scope adds may have had the pins of a parent's rule.
            note(
                .scopeWidened, isBelowOther ? .either : .stricter,
                message + (isBelowOther ? ", and the parent's rule no longer applies to them" : ""), location)
        }
        switch (pattern.scope, targets.first) {
        case _ where targets.count > 1, (_, .every?), (_, pattern.scope): break
        case (.oneLabelBelow, .exactAndOneLabelBelow?):
            wider("\(host) itself is also pinned, not only the names below it")
        case (.oneLabelBelow, .exactAndBelow?): wider("\(host) itself and all names below it are also pinned")
        case (.exactAndOneLabelBelow, .exactAndBelow?):
            wider("all names below \(host) are pinned, not only those one label below")
        case (.exactAndBelow, .exactAndOneLabelBelow?):
            note(.scopeNarrowed, .weaker, "names two or more labels below \(host) aren't pinned", location)
        default: note(.scopeNarrowed, .weaker, "names below \(host) aren't pinned: add a rule for each", location)
        }
    }

    /// Adds the pins and requirements of other rules to each rule if rules counted together in the source and no longer
    /// do in the target: because only the closest rule applies there, or because the other rule no longer reaches the
    /// host.
    ///
    /// Each rule has one pattern, in a scope of the source dialect.
    mutating func join(_ policy: inout CanonicalPolicy) {
        guard policy.combination == .union, !traits.isForOneHost else { return }
        let original = RuleTable(policy.rules)
        for (index, rule) in original.rules.enumerated() {
            let pattern = rule.patterns[0]
            for other in original.around(pattern) where other != index {
                let more = original.rules[other]
                guard more.sharesPorts(with: rule), joins(more, to: pattern, of: rule) else { continue }
                policy.rules[index].pins += more.pins.without(policy.rules[index].pins)
                policy.rules[index].requirement.join(more.requirement)
            }
        }
    }

    /// Returns whether a rule must be given the pins of another one, whose pattern is `above`. Notes names that didn't
    /// have them.
    private mutating func joins(_ more: CanonicalRule, to pattern: HostPattern, of rule: CanonicalRule) -> Bool {
        let above = more.patterns[0]
        guard above == pattern || above.covers(pattern) else { return false }
        let targets = targets(of: pattern)
        if traits.combination == .union {
            let rest = self.targets(of: above)
            // mutant union-narrowed: false by ConversionTests
            let isNarrowed = rest.count < 2 && !rest.contains { $0.reachesAll(of: above) }
            guard isNarrowed, !targets.allSatisfy({ target in rest.contains { $0.reachesAll(of: target) } }) else {
                return false
            }
        }
        guard targets.contains(where: { above == $0 || above.covers($0) }) else { return false }
        if !targets.allSatisfy(above.reachesAll) {
            // Rules for the same host are merged later, and the merge adds the note.
            guard above.host != pattern.host else { return false }
            guard !more.adds(nothingTo: rule) else { return true }
            note(
                .combinationChanged, .weaker, "names below \(rule.title) also accept the pins of the parent's rule",
                rule.location)
        }
        return true
    }

    /// Notes the overlapping rules whose meaning changes because the target combines rules differently.
    mutating func combine(_ policy: inout CanonicalPolicy) {
        let old = policy.combination
        policy.combination = traits.combination
        guard old != traits.combination, old != .union, !traits.isForOneHost else { return }
        let named = RuleTable(policy.rules)
        for (index, rule) in named.rules.enumerated() {
            let pattern = rule.patterns[0]
            let overlaps = named.around(pattern).contains { other in
                guard other != index, !traits.reachesPorts || named.rules[other].sharesPorts(with: rule) else {
                    return false
                }
                guard traits.combination != .union || !named.rules[other].adds(nothingTo: rule) else { return false }
                let above = named.rules[other].patterns[0]
                return above.covers(pattern) || traits.repeatsHosts && other < index && above == pattern
            }
            if overlaps { noteOverlap(of: rule, old) }
        }
    }

    private mutating func noteOverlap(of rule: CanonicalRule, _ old: RuleCombination) {
        switch (old, traits.combination) {
        case (_, .union):
            note(
                .combinationChanged, .weaker,
                "\(rule.title) also accepts the pins of the other rules that cover it: \(name) combines the pins of "
                    + "all of them",
                rule.location)
        case (.carveOut, _) where rule.patterns[0].scope == .exact:
            note(
                .combinationChanged, .stricter,
                "names below \(rule.title) are pinned by the parent's rule, and weren't before", rule.location)
        case (_, .carveOut) where rule.patterns[0].scope == .exact:
            note(.combinationChanged, .weaker, "names below \(rule.title) are no longer pinned", rule.location)
        default: break
        }
    }

    /// Merges the rules for each host into one.
    mutating func mergeDuplicates(_ rules: inout [CanonicalRule]) {
        var merged: [CanonicalRule] = []
        var indices: [String: [Int]] = [:]
        for rule in rules {
            let host = rule.patterns[0].host
            let existing = indices[host]?.first { !traits.reachesPorts || merged[$0].sharesPorts(with: rule) }
            guard let existing else {
                indices[host, default: []].append(merged.count)
                merged.append(rule)
                continue
            }
            if Set(merged[existing].pins.map(\.bare)) != Set(rule.pins.map(\.bare))
                || merged[existing].requirement != rule.requirement
            {
                note(
                    .combinationChanged, .weaker,
                    "the rules for \(rule.title) are merged, so a pin of either is enough for all of their hosts",
                    rule.location)
                merged[existing].pins += rule.pins.without(merged[existing].pins)
                if merged[existing].requirement != rule.requirement { merged[existing].requirement = .any }
            }
            if merged[existing].mode != rule.mode || merged[existing].expiry != rule.expiry
                || merged[existing].anchors != rule.anchors
            {
                note(
                    .splitLost, .impossible,
                    "the rules for \(rule.title) differ in mode, expiry or roots, and \(name) allows one rule for "
                        + "each host: give them the same settings", rule.location)
            }
            if merged[existing].patterns[0].scope == .exact { merged[existing].patterns = rule.patterns }
            if let ports = merged[existing].ports { merged[existing].ports = rule.ports.map(ports.union) }
        }
        rules = merged
    }

    /// Gives a rule for every port the usual one, if the target's rules are for single ports.
    private mutating func narrowPorts(_ rule: inout CanonicalRule, among rules: RuleTable<CanonicalRule>) {
        guard let port = traits.usualPort, rule.ports == nil else { return }
        rule.ports = [port]
        // At other ports, the rule of a parent can be the closest then.
        let isCovered = rules.covering(rule.patterns[0]).contains { $0.ports != nil }
        note(
            .portsLost, isCovered ? .either : .weaker,
            "\(name) pins \(rule.title) at port \(port) only: add \"ports\" to the rule if it has others", rule.location
        )
    }

    mutating func convertPorts(_ rule: inout CanonicalRule, among rules: RuleTable<CanonicalRule>) {
        narrowPorts(&rule, among: rules)
        guard !traits.reachesPorts, let ports = rule.ports else { return }
        rule.ports = nil
        let pattern = rule.patterns[0]
        let list = ports.sorted().map(String.init).joined(separator: ", ")
        if traits.scopes == [.every] {
            note(
                .portsLost, .unchanged,
                "\(name) applies the pins to every server it connects to: use it only with URLs of \(rule.title) at "
                    + "port \(list)", rule.location)
        } else if let direction = effect(of: rule, besides: ports, atPortsOf: rules.covering(pattern)) {
            note(
                .portsLost, direction,
                "in \(name) the rule for \(rule.title) applies to every port, including those of the parent's rule",
                rule.location)
        } else {
            note(
                .portsLost, .stricter, "\(name) pins \(rule.title) at every port, not only at port \(list)",
                rule.location)
        }
    }
}

extension Conversion {
    /// Returns the effect of a rule for some ports at the other ports of its parents' rules, or `nil` if no pins apply
    /// there.
    private func effect(
        of rule: CanonicalRule, besides ports: Set<Int>, atPortsOf parents: [CanonicalRule]
    ) -> SecurityDirection? {
        let others = parents.filter { parent in
            parent.mode != .off && parent.ports.map { !$0.isSubset(of: ports) } ?? true
        }
        guard !others.isEmpty else { return nil }
        // Where rules count together, those of the parents still do, also at ports that none of them covered.
        guard traits.combination == .closest else { return others.contains { $0.ports == nil } ? .weaker : .either }
        if rule.mode == .enforce { return others.contains { $0.mode == .enforce } ? .either : .stricter }
        return others.contains { $0.mode == .enforce } ? .weaker : .unchanged
    }
}

extension HostPattern {
    /// Returns whether the pattern includes every host that any other pattern includes.
    fileprivate func reachesAll(of other: HostPattern) -> Bool { self == other || covers(other) && holdsWhole(other) }
}

extension PinRequirement {
    /// Adds the requirements of another rule.
    fileprivate mutating func join(_ other: PinRequirement) {
        switch (self, other) {
        case (_, .any): break
        case (.any, _): self = other
        case (.eachOf(let roles), .eachOf(let others)): self = .eachOf(roles.union(others))
        }
    }
}

extension [CanonicalPin] {
    /// Returns the pins that aren't among others. Names don't count.
    func without(_ others: [CanonicalPin]) -> [CanonicalPin] {
        let others = Set(others.map(\.bare))
        return filter { !others.contains($0.bare) }
    }
}

extension CanonicalRule {
    /// Returns whether another rule accepts the same chains if this one applies beside it.
    fileprivate func adds(nothingTo other: CanonicalRule) -> Bool {
        Set(pins.map(\.bare)).isSubset(of: other.pins.map(\.bare)) && requirement == other.requirement
            && mode == other.mode && expiry == other.expiry && anchors == other.anchors
    }
}
