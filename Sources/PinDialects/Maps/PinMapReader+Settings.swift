import CertificatePinning
import PinctlBasics
import PinctlFoundation

// The settings of hosts in a map, recognized by their keys and by the form of their values.

extension PinMapReader {
    /// The settings that the objects around a pin have.
    struct Scope {
        var hosts: [(pattern: HostPattern, position: SourcePosition)] = []
        var includesSubdomains = false
        var expiry: RuleExpiry?
        var mode = PinningMode.enforce
        /// The settings that can't be read, as problems.
        var unread: [(message: String, position: SourcePosition)] = []
        /// The switches of objects around the hosts that may turn pins off.
        var switches: [SourcePosition] = []
        /// Whether the object itself names the hosts.
        var hasOwnHosts = false
        /// Whether an object has any of these settings.
        var isSet = false
        /// Whether the value is the fingerprint of a certificate, whatever its prefix says.
        var isOfCertificate = false
        /// The words of the keys on the way to the value.
        var words: PinWords = []
    }

    mutating func takeSetting(_ member: SourceLiteral.Member, _ scope: inout Scope) {
        if isHostSetting(member) {
            let values: [SourceLiteral] =
                if case .list(let list, _) = (constant(member.value) ?? member.value).kind { list } else {
                    [member.value]
                }
            var hosts: [(HostPattern, SourcePosition)] = []
            for value in values {
                if let found = text(of: value).flatMap({ host($0, at: value.position) }) {
                    hosts.append(found)
                } else if values.count > 1 {
                    scope.unread.append(
                        ("\(quoted(value.text ?? member.key)) isn't a host: write a hostname", value.position))
                }
            }
            // The hosts of an outer object aren't those of a constant that isn't known.
            let isUnknown = values.contains { $0.text == nil }
            // mutant map-two-hosts: false for 2 by PinMapTests/unreadable
            if scope.hasOwnHosts, hosts.map(\.0) != scope.hosts.map(\.pattern) {
                scope.unread.append(
                    ("\(quoted(member.key)) names other hosts than the key before it: leave one out", member.position))
            } else if !hosts.isEmpty || isUnknown {
                (scope.hosts, scope.hasOwnHosts) = (hosts, true)
            }
        } else if Self.isOfPolicy(member) {
            // mutant map-policy: {} by PinMapTests/policySettings
            scope.unread.append(
                (
                    "\(quoted(member.key)) is a setting of a policy, which can't be read from a map: write the policy "
                        + "into a file of its own", member.position
                ))
        } else if let setting = Setting(Self.plain(member.key)) {
            var value = member.value
            if case .word(let name) = value.kind, value.bool == nil {
                value = withValue(of: name) { $1 } ?? value
            }
            // Other objects can be enabled, too.
            if setting == .off || setting == .on, scope.hosts.isEmpty, !scope.words.contains(.pin) {
                if value.bool == (setting == .off) { scope.switches.append(member.position) }
                return
            }
            scope.isSet = true
            // mutant map-setting: {} by PinMapTests/unreadable
            if !apply(setting, value, &scope) {
                scope.unread.append(
                    (
                        "\(quoted(member.key)) isn't a literal: write true, false or a date such as 2026-12-31",
                        member.value.position
                    ))
            }
        }
    }

    /// Whether a member is a setting of this project's policies that changes what is accepted. Maps don't have it.
    private static func isOfPolicy(_ member: SourceLiteral.Member) -> Bool {
        switch member.key {
        case "require", "ports", "anchors", "include", "certificateTransparency", "unlisted", "onExpiry", "deny",
            "localAnchorsBypassPins":
            true
        case "role": member.value.text.flatMap(PinRole.init).map { $0 != .any } ?? false
        default: false
        }
    }

    /// A setting by its key.
    private enum Setting {
        case subdomains
        case noSubdomains
        case enforce
        case report
        case on
        case off
        case expiry
        case mode

        init?(_ key: String) {
            switch key {
            case "enforce", "enforcepinning", "enforced", "tskenforcepinning": self = .enforce
            case "reportonly", "monitoronly", "reportingonly", "dryrun": self = .report
            case "enabled", "pinningenabled", "isenabled", "enable", "active", "isactive": self = .on
            case "disabled", "isdisabled", "skip", "bypass", "skippinning", "bypasspinning": self = .off
            case "mode", "pinningmode": self = .mode
            case "expires", "expiry", "expiration", "expirydate", "expiresat", "expireson", "validuntil", "validto",
                "notafter", "until":
                self = .expiry
            case _ where key.hasSuffix("expirationdate"): self = .expiry
            case _ where key.contains("subdomain"):
                let isNegative = ["exclude", "ignore", "disable", "without"].contains { key.contains($0) }
                self = isNegative || key.hasPrefix("no") ? .noSubdomains : .subdomains
            default: return nil
            }
        }
    }

    /// Applies a setting. Returns false if its value isn't a literal of its type.
    private func apply(_ setting: Setting, _ value: SourceLiteral, _ scope: inout Scope) -> Bool {
        if setting == .expiry {
            guard let end = value.text.flatMap({ Date(rfc3339: $0) }) else { return false }
            scope.expiry = RuleExpiry(.instant(Int64(end.timeIntervalSince1970)), .stopPinning)
            return true
        }
        if setting == .mode {
            switch value.text?.lowercased() {
            case "report", "report-only", "reportonly", "monitor": scope.mode = .report
            case "off", "disabled": scope.mode = .off
            // Other things have modes too.
            default: return value.text != nil || scope.hosts.isEmpty
            }
            return true
        }
        guard let value = value.bool else { return false }
        switch setting {
        case .subdomains: scope.includesSubdomains = value
        case .noSubdomains: scope.includesSubdomains = !value
        case .enforce: if !value { scope.mode = .report }
        case .report: if value { scope.mode = .report }
        case .on: if !value { scope.mode = .off }
        case .off: if value { scope.mode = .off }
        case .expiry, .mode: break
        }
        return true
    }

    /// Returns a key in lower case, without the signs between its words.
    static func plain(_ key: String) -> String { key.lowercased().filter { $0 != "_" && $0 != "-" } }

    private static let hostKeys: Set = [
        "host", "hosts", "hostname", "hostnames", "domain", "domains", "server", "url", "serverurl", "baseurl",
        "origin", "pinnedhosts", "pattern",
    ]

    /// Whether a key is one by which maps name hosts.
    static func isHostKey(_ key: String) -> Bool { hostKeys.contains(plain(key)) }

    /// Whether a member names hosts, by its key and the form of its value.
    func isHostSetting(_ member: SourceLiteral.Member) -> Bool {
        guard !member.isComputed, Self.isHostKey(member.key) else { return false }
        switch member.value.kind {
        case .text: return true
        case .word:
            // A constant can be an object with hosts as keys, or a list of pins.
            // mutant map-host-constant: SourceLiteral.Kind?.none for `constant(member.value)?.kind` by
            //   PinMapTests/hostConstants
            switch constant(member.value)?.kind {
            case .object: return false
            case .list(let elements, _): return elements.allSatisfy { $0.text.flatMap { host($0) } != nil }
            case .text, .word, .expression, nil: return member.value.bool == nil
            }
        case .list(let elements, _): return elements.allSatisfy { $0.text != nil }
        case .object, .expression: return false
        }
    }

    /// Returns the value of a constant that is set once in this file. It doesn't count as used.
    private func constant(_ literal: SourceLiteral) -> SourceLiteral? {
        var used: Set<String> = []
        return literal.word.flatMap { literals.value(of: $0, used: &used) }
    }
}
