public import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A difference between two policies for one host.
public struct CanonicalDifference: Sendable, Hashable {
    /// The host pattern, as one of the two policies writes it.
    public let host: String
    /// A one-line description of the difference: the expected value and the actual one.
    public let message: String
}

extension CanonicalDifference: CustomStringConvertible {
    public var description: String { "\(visibleText(host)): \(message)" }
}

extension CanonicalPolicy {
    /// Returns the differences between another policy and this one, which is the expected one.
    ///
    /// The order of rules, names, notes and positions in a file are ignored.
    public func differences(in other: CanonicalPolicy) -> [CanonicalDifference] {
        var differences: [CanonicalDifference] = []
        func tell(_ host: String, _ message: String) {
            differences.append(CanonicalDifference(host: host, message: message))
        }
        if unlisted != other.unlisted {
            tell("hosts without a rule", "\(other.unlisted.rawValue), expected \(unlisted.rawValue)")
        }
        if Set(denied.map(\.bare)) != Set(other.denied.map(\.bare)) { tell("denied pins", "differ") }
        let expected = byHost
        let found = other.byHost
        for host in Set(expected.keys).union(found.keys).sorted() {
            let title = host.title
            guard let wanted = expected[host] else {
                tell(title, "is pinned, but has no rule in the policy")
                continue
            }
            guard let there = found[host] else {
                tell(title, "is missing")
                continue
            }
            for message in wanted.differences(from: there) { tell(title, message) }
        }
        return differences
    }

    /// The combined meaning of all rules for each pattern.
    private var byHost: [PlacedPattern: RuleMeaning] {
        var meanings: [PlacedPattern: RuleMeaning] = [:]
        for rule in rulesInEffect() {
            for pattern in rule.patterns {
                meanings[PlacedPattern(pattern: pattern, ports: rule.ports), default: RuleMeaning(rule)].pins
                    .formUnion(rule.pins.map(\.bare))
            }
        }
        return meanings
    }
}

private struct PlacedPattern: Hashable, Comparable {
    let pattern: HostPattern
    let ports: Set<Int>?

    var title: String {
        pattern.title(ports: ports.map { ":" + $0.sorted().map(String.init).joined(separator: ",") } ?? "")
    }

    static func < (left: PlacedPattern, right: PlacedPattern) -> Bool { left.title < right.title }
}

/// The parts of a rule that affect decisions.
private struct RuleMeaning {
    var pins: Set<CanonicalPin> = []
    let requirement: PinRequirement
    let mode: PinningMode
    let expiry: RuleExpiry?
    let anchors: Set<AnchorSet>
    let transparency: CertificateTransparencyMode?
    let reports: Set<String>
    let usesDefaultReport: Bool

    init(_ rule: CanonicalRule) {
        requirement = rule.requirement
        mode = rule.mode
        expiry = rule.expiry
        anchors = Set(rule.anchors ?? [])
        transparency = rule.certificateTransparency
        reports = Set(rule.reports)
        usesDefaultReport = rule.usesDefaultReport
    }

    func differences(from other: RuleMeaning) -> [String] {
        var messages: [String] = []
        func addresses(_ reports: Set<String>) -> String {
            reports.isEmpty ? "no address" : visibleText(reports.sorted().joined(separator: ", "))
        }
        func list(_ pins: Set<CanonicalPin>) -> String {
            pins.map { "\($0)\($0.role == .any ? "" : " (\($0.role.rawValue))")" }.sorted().joined(separator: ", ")
        }
        let missing = pins.subtracting(other.pins)
        let strange = other.pins.subtracting(pins)
        if !missing.isEmpty { messages.append("lacks \(list(missing))") }
        if !strange.isEmpty { messages.append("has \(list(strange)), which the policy doesn't have") }
        if requirement != other.requirement { messages.append("requires other roles") }
        if mode != other.mode { messages.append("is in mode \(other.mode.rawValue), expected \(mode.rawValue)") }
        if expiry != other.expiry {
            messages.append("expires \(other.expiry?.title ?? "never"), expected \(expiry?.title ?? "never")")
        }
        if anchors != other.anchors { messages.append("trusts other roots") }
        // Without a setting, the file and its system decide.
        if let transparency, transparency != other.transparency {
            let found = other.transparency?.rawValue ?? "not set"
            messages.append("certificateTransparency is \(found), expected \(transparency.rawValue)")
        }
        if reports != other.reports {
            messages.append("reports to \(addresses(other.reports)), expected \(addresses(reports))")
        }
        if usesDefaultReport != other.usesDefaultReport {
            messages.append("\(other.usesDefaultReport ? "also reports" : "doesn't report") to its vendor's address")
        }
        return messages
    }
}

extension CanonicalPin {
    /// The pin without the parts that are only for people.
    var bare: CanonicalPin {
        var pin = self
        (pin.name, pin.isBackup) = (nil, false)
        return pin
    }
}

extension RuleExpiry {
    /// A title such as `2026-12-31T23:59:59Z (stop-pinning)`.
    package var title: String {
        let text =
            switch moment {
            case .instant(let seconds): CivilTime(secondsSince1970: seconds)?.description ?? "at an unknown time"
            case .localDay(let day): day
            case .age(let seconds): "after \(seconds) s"
            }
        return "\(text) (\(effect.rawValue))"
    }
}

extension CanonicalPolicy {
    /// The same policy with one pattern in each rule.
    package var split: CanonicalPolicy {
        var policy = self
        policy.rules = rules.flatMap { rule in
            rule.patterns.map { pattern in
                var rule = rule
                rule.patterns = [pattern]
                return rule
            }
        }
        return policy
    }
}
