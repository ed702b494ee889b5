public import CertificateTrust
public import FoundationEssentials

/// Why rules make no policy.
@nonexhaustive
public enum PolicyError: Error, Hashable, Sendable {
    /// There is none: a policy that pins nothing is a mistake.
    case noRules
    /// A rule without pins.
    case noPins(host: ServerName)
    /// A rule for an empty set of ports.
    case noPorts(host: ServerName)
    /// A number that is no port.
    case invalidPort(Int, host: ServerName)
    /// A rule that asks for a match in each of no roles.
    case noRequiredRoles(host: ServerName)
    /// A rule that asks for a match in a role that none of its pins can have.
    case unmatchableRole(PinRole, host: ServerName)
    /// A rule that includes the subdomains of an address.
    case subdomainsOfAddress(host: ServerName)
    /// A rule that includes the subdomains of a registry's public suffix.
    case subdomainsOfPublicSuffix(host: ServerName)
    /// A rule that includes the subdomains of a private public suffix and doesn't say that the suffix is the owner's.
    case subdomainsOfPrivateSuffix(host: ServerName)
    /// A second rule for a host that reaches a port which the first one reaches, and where that one stands.
    case overlap(host: ServerName, earlier: PolicyLocation?)
    /// A place for reports that is no `https` URL.
    case reportWithoutTLS(URL, host: ServerName)
    /// A place for reports that the rule itself reaches: a failure there could not be told.
    case reportToItself(URL, host: ServerName)
    /// A text that is no host.
    case invalidHost(ServerNameError)
    /// A text that is no pin.
    case invalidPin(PinTextError)
}

extension PolicyError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noRules: "the policy has no rules: name at least one host"
        case .noPins(let host): "the rule for \(host) has no pins: give it at least one"
        case .noPorts(let host): "the rule for \(host) reaches no port: name one, or leave ports out to reach all"
        case .invalidPort(let port, let host): "the rule for \(host) names port \(port): ports are 1 to 65535"
        case .noRequiredRoles(let host): "the rule for \(host) requires no role: name one, or require any"
        case .unmatchableRole(let role, let host):
            "the rule for \(host) requires a match as \(role.rawValue), but no pin of it can match there: add one"
        case .subdomainsOfAddress(let host): "\(host) is an address and has no subdomains: leave them out"
        case .subdomainsOfPublicSuffix(let host):
            "\(host) is a public suffix, under which strangers have their names: give a rule to each host of yours"
        case .subdomainsOfPrivateSuffix(let host):
            "\(host) is a public suffix, under which strangers have their names: give a rule to each host of yours, or say "
                + "\"ownsPublicSuffix\": true if the suffix is yours"
        case .overlap(let host, let earlier):
            "a rule for \(host)\(earlier.map { " stands at \($0) and" } ?? " already") reaches the same port: "
                + "give each rule ports of its own, or make them one"
        case .reportWithoutTLS(let url, _):
            "\(quoted(url.absoluteString)) is no place for reports: write an https URL with a host"
        case .reportToItself(let url, let host):
            "\(quoted(url.absoluteString)) is reached by the rule for \(host), whose failures could not be told there: "
                + "name another host"
        case .invalidHost(let error): error.description
        case .invalidPin(let error): error.description
        }
    }
}

extension PinningRule {
    /// What keeps the rule from holding, apart from other rules.
    func problems(publicSuffixes: PublicSuffixes) -> [PolicyError] {
        var problems: [PolicyError] = []
        if includesSubdomains, host.isIPAddress {
            problems.append(.subdomainsOfAddress(host: host))
        } else if includesSubdomains {
            switch publicSuffixes.section(of: host) {
            case .icann: problems.append(.subdomainsOfPublicSuffix(host: host))
            case .private where !ownsPublicSuffix: problems.append(.subdomainsOfPrivateSuffix(host: host))
            case .private, nil: break
            }
        }
        if pins.isEmpty { problems.append(.noPins(host: host)) }
        if let ports {
            if ports.isEmpty { problems.append(.noPorts(host: host)) }
            problems += ports.filter { !(1...65535).contains($0) }.sorted().map { .invalidPort($0, host: host) }
        }
        if case .eachOf(let roles) = requirement {
            if roles.isEmpty { problems.append(.noRequiredRoles(host: host)) }
            // In the order the roles are declared, so that the same rule has the same first problem.
            for role in PinRole.allCases
            where roles.contains(role) && !pins.contains(where: { $0.role.overlaps(role) }) {
                problems.append(.unmatchableRole(role, host: host))
            }
        }
        return problems + reports.compactMap(problem(reportingTo:))
    }

    /// What is wrong with a place for reports.
    package func problem(reportingTo url: URL) -> PolicyError? {
        guard url.scheme?.lowercased() == "https", let text = url.host(percentEncoded: false),
            let name = try? ServerName(text)
        else { return .reportWithoutTLS(url, host: host) }
        let isBelow = includesSubdomains && name.description.hasSuffix(".\(host)")
        return name == host || isBelow ? .reportToItself(url, host: host) : nil
    }
}
