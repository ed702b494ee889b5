package import CertificateTrust
import PinctlBasics

/// A certificate that a program renews, and whether the key changes then, as the program's configuration says.
package struct KeyRenewal: Sendable {
    /// The effect of a renewal on the key.
    package enum Effect: Sendable {
        /// The next certificate has the same key.
        case keepsKey
        /// The next certificate has a new key.
        case changesKey
        /// The program refuses to renew the certificate.
        case stops
        /// The configuration refers to something that isn't read.
        case unknown
    }

    /// The names in the certificate: hosts, and wildcards for the names one label below a host.
    package let hosts: [HostPattern]
    package let effect: Effect
    /// The certificate that the server has now, or `nil` if it isn't known.
    package let certificate: X509Certificate?
    /// The certificates that the server had before, as far as they are known.
    package let former: [X509Certificate]
    /// The reason why a file that must have the certificate doesn't show it, or `nil`.
    package let unread: String?
    /// The position of the setting, or of the part of the file that lacks it.
    package let location: PolicyLocation
    /// The program, such as `certbot`.
    package let program: String
    /// The setting as it is in the file, or its absence.
    package let setting: String
    /// The change that keeps the key, or that lets the program renew the certificate, as an imperative.
    package let remedy: String

    /// Creates a renewal. Names may be in capitals and have U-labels, addresses may be in any form, and a leading `*.`
    /// is a wildcard.
    package init(
        names: [String], _ effect: Effect, now certificate: X509Certificate? = nil,
        before former: [X509Certificate] = [], unread: String? = nil, at location: PolicyLocation,
        program: String, setting: String, remedy: String
    ) {
        hosts = names.map { name in
            name.hasPrefix("*.")
                ? HostPattern(Self.canonical(String(name.dropFirst(2))), .oneLabelBelow)
                : HostPattern(Self.canonical(name), .exact)
        }
        self.effect = effect
        self.certificate = certificate
        self.former = former
        self.unread = unread
        self.location = location
        self.program = program
        self.setting = setting
        self.remedy = remedy
    }

    /// Returns a host in the form that policies have. A name whose A-labels aren't certain stays as it is.
    private static func canonical(_ host: String) -> String {
        // A dot at the end makes a name absolute and leaves it the same.
        let host = host.hasSuffix(".") ? String(host.dropLast()) : host
        let ascii = Punycode.aLabels(ofHost: host) ?? host
        return (try? ServerName(ascii))?.description ?? ascii
    }

    /// Returns the names of the certificate that have a host in common with the rule.
    func hosts(of rule: CanonicalRule) -> [HostPattern] {
        let patterns = Self.patterns(of: rule)
        return hosts.filter { host in
            patterns.contains { host == $0 || host.covers($0) || $0.covers(host) }
        }
    }

    /// Returns the patterns of a rule in the form that ``hosts`` have, since dialects keep them as they are written.
    static func patterns(of rule: CanonicalRule) -> [HostPattern] {
        rule.patterns.map { HostPattern(canonical($0.host), $0.scope) }
    }

    /// The position and the setting in findings.
    var evidence: String { "\(location): \(setting)" }
}
