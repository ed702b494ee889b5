/// A set of hosts given by a hostname and a scope.
package struct HostPattern: Sendable, Hashable {
    /// The hostname as written in the file, without the part that `scope` represents. Empty if the scope is
    /// ``Scope-swift.enum/every``.
    package var host: String
    /// The names at and below the host that the pattern includes.
    package var scope: Scope

    /// The set of names that a pattern includes.
    package enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Only the host.
        case exact
        /// Only the names one label below the host: OkHttp's `*.`.
        case oneLabelBelow
        /// The host and the names one label below it: Apple's NSIncludesSubdomains.
        case exactAndOneLabelBelow
        /// The host and all names below it, at any depth.
        case exactAndBelow
        /// Every host. Used by curl, whose pins are for whichever server it connects to.
        case every
    }

    /// Creates a pattern.
    package init(_ host: String, _ scope: Scope) {
        self.host = host
        self.scope = scope
    }

    /// Returns the name of the hosts in messages. `ports`, such as `:8443`, follows the hostname.
    package func title(ports: String = "") -> String {
        switch scope {
        case .exact: host + ports
        case .oneLabelBelow: "*." + host + ports
        case .exactAndOneLabelBelow: "\(host)\(ports) and one label below"
        case .exactAndBelow: "\(host)\(ports) and all below"
        case .every: "every host\(ports)"
        }
    }
}

extension HostPattern.Scope {
    /// Returns whether the scope includes a name with this number of labels before the pattern's host.
    package func includes(depth: Int) -> Bool {
        switch self {
        case .exact: depth == 0
        case .oneLabelBelow: depth == 1
        case .exactAndOneLabelBelow: depth <= 1
        case .exactAndBelow, .every: true
        }
    }
}

extension HostPattern {
    /// Returns whether the pattern includes every host that another pattern includes.
    package func holdsWhole(_ other: HostPattern) -> Bool {
        switch scope {
        case _ where self == other: true
        case .exactAndBelow, .every: other.host == host || other.host.hasSuffix("." + host)
        case .exactAndOneLabelBelow: other.host == host ? other.scope != .exactAndBelow : other.scope == .exact
        case .oneLabelBelow: other.host != host && other.scope == .exact
        case .exact: false
        }
    }

    /// Returns whether the pattern includes the host of another pattern, or names below it.
    package func covers(_ other: HostPattern) -> Bool {
        if scope == .every { return true }
        guard other.host != host || other.scope != scope else { return false }
        guard other.host.hasSuffix("." + host) || other.host == host else { return false }
        let depth = other.host == host ? 0 : other.host.dropLast(host.count + 1).split(separator: ".").count
        return switch scope {
        case .exact: depth == 0 && other.scope != .oneLabelBelow
        case .oneLabelBelow: depth == 1 || depth == 0 && other.scope != .exact
        case .exactAndOneLabelBelow: depth <= 1
        case .exactAndBelow, .every: true
        }
    }
}
