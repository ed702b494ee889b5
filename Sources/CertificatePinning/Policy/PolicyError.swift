public import CertificateTrust
import PinctlBasics
public import PinctlFoundation

/// The reason why rules don't form a valid policy.
@nonexhaustive
public enum PolicyError: Error, Hashable, Sendable {
    /// There are no rules. A policy that pins nothing is a mistake.
    case noRules
    /// A rule without pins.
    case noPins(host: ServerName)
    /// A rule for an empty set of ports.
    case noPorts(host: ServerName)
    /// A number that isn't a port.
    case invalidPort(Int, host: ServerName)
    /// A rule that requires a match in each of an empty set of roles.
    case noRequiredRoles(host: ServerName)
    /// A rule that requires a match in a role that none of its pins can have.
    case unmatchableRole(PinRole, host: ServerName)
    /// A rule that includes the subdomains of an address.
    case subdomainsOfAddress(host: ServerName)
    /// A rule that includes the subdomains of a registry's public suffix.
    case subdomainsOfPublicSuffix(host: ServerName)
    /// A rule that includes the subdomains of a private public suffix without the statement that the policy's owner
    /// owns the suffix.
    case subdomainsOfPrivateSuffix(host: ServerName)
    /// A second rule for a host that covers the same port as an earlier one, with the location of the earlier rule.
    case overlap(host: ServerName, earlier: PolicyLocation?)
    /// A report URL that isn't an `https` URL with a host.
    case reportWithoutTLS(URL, host: ServerName)
    /// A report URL that the rule itself covers. A failure of that host couldn't be reported.
    case reportToItself(URL, host: ServerName)
    /// A text that isn't a host.
    case invalidHost(ServerNameError)
    /// A text that isn't a pin.
    case invalidPin(PinTextError)
}

extension PolicyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noRules: "the policy has no rules: add one for at least one host"
        case .noPins(let host): "the rule for \(host) has no pins: add at least one"
        case .noPorts(let host): "the rule for \(host) covers no port: add one, or omit the ports to cover all"
        case .invalidPort(let port, let host): "the rule for \(host) has the invalid port \(port): use 1 to 65535"
        case .noRequiredRoles(let host):
            "the rule for \(host) requires an empty list of roles: add a role, or require any"
        case .unmatchableRole(let role, let host):
            "the rule for \(host) requires a match as \(role.rawValue), but none of its pins can have that role: add "
                + "one"
        case .subdomainsOfAddress(let host): "\(host) is an IP address and has no subdomains: don't include subdomains"
        case .subdomainsOfPublicSuffix(let host):
            "\(host) is a public suffix, below which anyone can register a name: write a rule for each of your hosts"
        case .subdomainsOfPrivateSuffix(let host):
            "\(host) is a public suffix, below which anyone can register a name: write a rule for each of your "
                + "hosts, or set \"ownsPublicSuffix\": true if the suffix is yours"
        case .overlap(let host, let earlier):
            "another rule for \(host)\(earlier.map { " at \($0)" } ?? "") covers the same port: give each rule "
                + "different ports, or merge them"
        case .reportWithoutTLS(let url, _):
            "\(quoted(url.absoluteString)) can't receive reports: write an https URL with a host"
        case .reportToItself(let url, let host):
            "\(quoted(url.absoluteString)) is covered by the rule for \(host), so its failures can't be reported "
                + "there: use another host"
        case .invalidHost(let error): error.description
        case .invalidPin(let error): error.description
        }
    }
}

extension PinningRule {
    /// Returns the reasons why the rule is invalid, apart from conflicts with other rules.
    func problems(publicSuffixes: PublicSuffixes) -> [PolicyError] {
        var problems: [PolicyError] = []
        if includesSubdomains, host.isIPAddress {
            problems.append(.subdomainsOfAddress(host: host))
        } else if includesSubdomains {
            switch publicSuffixes.section(of: host) {
            // mutant suffix-rule: {} by PolicyProblemTests
            case .icann: problems.append(.subdomainsOfPublicSuffix(host: host))
            case .private where !ownsPublicSuffix: problems.append(.subdomainsOfPrivateSuffix(host: host))
            case .private, nil: break
            }
            if !problems.isEmpty { publicSuffixes.noteRefusal() }
        }
        // mutant no-pins: false by PolicyProblemTests PolicyInCodeTests RuleChoiceTests
        if pins.isEmpty { problems.append(.noPins(host: host)) }
        if let ports {
            if ports.isEmpty { problems.append(.noPorts(host: host)) }
            problems += ports.filter { !(1...65535).contains($0) }.sorted().map { .invalidPort($0, host: host) }
        }
        if case .eachOf(let roles) = requirement {
            if roles.isEmpty { problems.append(.noRequiredRoles(host: host)) }
            // Uses the declared order of the roles, so that the same rule always has the same first problem.
            for role in PinRole.allCases
            // mutant unmatchable-role: false for `!pins.contains(where: { $0.role.overlaps(role) })` by
            //   PolicyProblemTests DecisionSpecificationTests/pins
            where roles.contains(role) && !pins.contains(where: { $0.role.overlaps(role) }) {
                problems.append(.unmatchableRole(role, host: host))
            }
        }
        return problems + reports.compactMap(problem(reportingTo:))
    }

    /// Returns the reason why reports can't be sent to this URL, if any.
    package func problem(reportingTo url: URL) -> PolicyError? {
        // mutant report-tls: true for 1 by PolicyProblemTests PolicyInCodeTests
        guard url.scheme?.lowercased() == "https", let text = url.host(percentEncoded: false),
            let name = try? ServerName(text)
        else { return .reportWithoutTLS(url, host: host) }
        // mutant report-to-itself: false for `covers(name)` by PolicyProblemTests
        return covers(name) ? .reportToItself(url, host: host) : nil
    }
}
