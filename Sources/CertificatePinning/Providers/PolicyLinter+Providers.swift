import CertificateTrust
import PinctlBasics
import PinctlFoundation

// Findings about rules for hosts whose certificates a provider manages.

extension PolicyFile {
    /// The free key of a rule that names the provider of its certificates. Programs ignore it, whatever their version
    /// is.
    static let providerKey = "x-provider"

    /// Findings about free keys of rules that look like the one of a provider, and that lint would ignore.
    var misspelledProviders: [LintFinding] {
        (root["domains"]?.elements ?? []).flatMap { $0.members ?? [] }.compactMap { member in
            let (key, known) = (member.key, Self.providerKey)
            let isNear = abs(key.utf8.count - known.utf8.count) < 3 && suggestion(for: key, among: [known]) != nil
            // mutant lint-provider-key: false for 3 by ProviderPoolTests/misspelled
            guard PolicyKey.isFree(key), key != known, isNear else { return nil }
            return LintFinding(
                .providerGap, at: PolicyLocation(path: path, member.keyPosition),
                "\(quoted(key)) isn't read: did you mean \"\(known)\"?")
        }
    }

    /// The providers that rules name.
    package var providers: [String] {
        var names: [String] = []
        for rule in root["domains"]?.elements ?? [] {
            guard let value = rule[Self.providerKey] else { continue }
            for name in (value.elements ?? [value]).compactMap(\.string) where !names.contains(name) {
                names.append(name)
            }
        }
        return names
    }
}

extension PolicyLinter {
    func providerFindings(_ rule: CanonicalRule) -> [LintFinding] {
        guard let value = facts(of: rule).provider else { return [] }
        func finding(_ value: JSONValue, _ message: String) -> LintFinding {
            LintFinding(.providerGap, at: PolicyLocation(path: path, value.position), message)
        }
        let entries = value.elements ?? [value]
        let remedy = "name one, such as \"cloudflare\""
        guard !entries.isEmpty else { return [finding(value, "\"x-provider\" has no provider: \(remedy)")] }
        return entries.flatMap { entry -> [LintFinding] in
            guard let name = entry.string else {
                let found = "found \(entry.kindName)"
                return [finding(entry, "\"x-provider\" must be the name of a provider, \(found): \(remedy)")]
            }
            guard let pool = providers[name] else { return [finding(entry, providers.unknown(name))] }
            // mutant lint-provider-gap: [ProviderPools.Path]() for `pool.gaps…}` by ProviderPoolTests
            let gaps = pool.gaps(at: time) { accepts($0, by: rule) }
            guard rule.mode != .off, !gaps.isEmpty else { return [] }
            if rule.requirement.roles.contains(.leaf) {
                return [
                    finding(
                        entry,
                        "\(rule.lintTitle) requires a match as leaf, but \(pool.title) chooses the key: require a "
                            + "match as ca, or bring your own certificate")
                ]
            }
            return [
                finding(
                    entry,
                    "no pin of \(rule.lintTitle) matches chains that \(pool.title) may serve, of \(Self.text(gaps)): "
                        + "pin \(gaps.count == 1 ? "this root" : "these roots") with the role ca")
            ]
        }
    }

    /// Returns whether clients accept a path with these pins, leaf first, by the pins of a rule.
    private func accepts(_ served: [CanonicalPin], by rule: CanonicalRule) -> Bool {
        let decision = policy.decide(
            by: [rule], under: DecisionCircumstances(at: time, hasLocalAnchors: false), pathLength: served.count
        ) { pin, index in
            let other = served[index]
            return pin.content == other.content && pin.digest == other.digest && pin.value == other.value
        }
        // mutant lint-provider-report: true for `decision.verdict != .forgiven` by ProviderPoolTests/modes
        return decision.isAccepted && decision.verdict != .forgiven
    }

    /// Returns the CAs and anchors of paths: `Sectigo (ROOT, OTHER-ROOT) and SSL.com (ROOT)`.
    private static func text(_ paths: [ProviderPools.Path]) -> String {
        var authorities: [String] = []
        for path in paths where !authorities.contains(path.authority) { authorities.append(path.authority) }
        return enumeration(
            authorities.map { name in
                "\(name) (\(paths.filter { $0.authority == name }.map(\.title).joined(separator: ", ")))"
            })
    }
}
