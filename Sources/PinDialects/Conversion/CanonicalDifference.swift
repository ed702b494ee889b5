public import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A difference between two policies for one host.
public struct CanonicalDifference: Sendable, Hashable {
    /// The host pattern, as one of the two policies writes it.
    public let host: String
    /// A one-line description of the difference: the expected value and the actual one.
    public let message: String
    /// A one-line description of the change that removes the difference, in the past tense.
    public let change: String
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
        func report(_ host: String, _ message: String, _ change: String) {
            differences.append(CanonicalDifference(host: host, message: message, change: change))
        }
        if unlisted != other.unlisted {
            report(
                "hosts without a rule", "\(other.unlisted.rawValue), expected \(unlisted.rawValue)",
                "changed from \(other.unlisted.rawValue) to \(unlisted.rawValue)")
        }
        if Set(denied.map(\.bare)) != Set(other.denied.map(\.bare)) { report("denied pins", "differ", "replaced") }
        let expected = Self.meanings(of: rulesInEffect { !$0.decidesRoots })
        let effective = Self.meanings(of: other.rulesInEffect())
        let found = Self.meanings(of: other.rules)
        for host in Set(expected.keys).union(effective.keys).sorted() {
            let title = host.title
            guard let wanted = expected[host] else {
                report(
                    title, "is pinned, but has no rule in the policy", "removed, because no rule of the policy pins it")
                continue
            }
            guard let there = found[host] else {
                report(title, "is missing", "added")
                continue
            }
            for (message, change) in wanted.differences(from: there) { report(title, message, change) }
        }
        return differences
    }

    /// Returns the combined meaning of all rules for each pattern.
    private static func meanings(of rules: [CanonicalRule]) -> [PlacedPattern: RuleMeaning] {
        var meanings: [PlacedPattern: RuleMeaning] = [:]
        for rule in rules {
            for pattern in rule.patterns {
                meanings[PlacedPattern(pattern: pattern, ports: rule.ports), default: RuleMeaning(rule)].add(rule.pins)
            }
        }
        return meanings
    }
}

extension CanonicalRule {
    /// Whether the rule names other roots than the system's, which decide even if its pins are off.
    var decidesRoots: Bool { anchors.map { !$0.allSatisfy { $0.source == "system" } } ?? false }

    /// Whether chains that end at local roots need no pin, by `localAnchorsBypassPins` or by roots that bypass pins.
    var bypassesLocally: Bool { stores.pinsApplyOnlyUnder != nil || anchors?.contains(where: \.bypassesPins) == true }
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
    private var pins: Set<CanonicalPin> = []
    /// The names of the pins, which don't affect decisions.
    private var names: [CanonicalPin: String] = [:]
    private let requirement: PinRequirement
    private let mode: PinningMode
    private let expiry: RuleExpiry?
    private let anchors: Set<AnchorSet>
    /// Whether chains that end at local roots need no pin.
    private let exemptsLocalRoots: Bool
    private let transparency: CertificateTransparencyMode?
    private let reports: Set<String>
    private let usesDefaultReport: Bool

    init(_ rule: CanonicalRule) {
        requirement = rule.requirement
        mode = rule.mode
        expiry = rule.expiry
        anchors = Set(rule.anchors ?? [])
        exemptsLocalRoots = rule.stores.pinsApplyOnlyUnder != nil
        transparency = rule.certificateTransparency
        reports = Set(rule.reports)
        usesDefaultReport = rule.usesDefaultReport
    }

    mutating func add(_ more: [CanonicalPin]) {
        for pin in more {
            pins.insert(pin.bare)
            if let name = pin.name { names[pin.bare] = visibleText(name) }
        }
    }

    /// Returns the differences of another rule, each with the change that removes it.
    func differences(from other: RuleMeaning) -> [(message: String, change: String)] {
        var found: [(message: String, change: String)] = []
        let names = other.names.merging(names) { $1 }
        func list(_ pins: Set<CanonicalPin>) -> String {
            let texts = pins.map { pin in
                let remarks = [names[pin], pin.role == .any ? nil : pin.role.rawValue].compactMap(\.self)
                return "\(pin)" + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))")
            }
            return texts.sorted().joined(separator: ", ")
        }
        func addresses(_ reports: Set<String>) -> String {
            reports.isEmpty ? "no address" : visibleText(reports.sorted().joined(separator: ", "))
        }
        func report(_ message: String, _ change: String) { found.append((message, change)) }
        let (missing, unknown) = (pins.subtracting(other.pins), other.pins.subtracting(pins))
        if !missing.isEmpty { report("lacks \(list(missing))", "added \(list(missing))") }
        if !unknown.isEmpty {
            report("has \(list(unknown)), which the policy doesn't have", "removed \(list(unknown))")
        }
        if requirement != other.requirement { report("requires other roles", "changed the required roles") }
        if mode != other.mode {
            report(
                "is in mode \(other.mode.rawValue), expected \(mode.rawValue)",
                "changed the mode from \(other.mode.rawValue) to \(mode.rawValue)")
        }
        if expiry != other.expiry {
            let (there, wanted) = (other.expiry?.title ?? "never", expiry?.title ?? "never")
            report("expires \(there), expected \(wanted)", "changed the expiry from \(there) to \(wanted)")
        }
        if anchors != other.anchors { report("trusts other roots", "changed the roots") }
        // mutant difference-local-bypass: false for `exemptsLocalRoots != other.exemptsLocalRoots` by
        //   DialectDocumentTests/localBypass
        if exemptsLocalRoots != other.exemptsLocalRoots {
            report(
                "\(other.exemptsLocalRoots ? "lets" : "doesn't let") local roots bypass the pins",
                "turned the bypass for local roots \(exemptsLocalRoots ? "on" : "off")")
        }
        // Without a setting, the file and its system decide.
        if let transparency, transparency != other.transparency {
            let there = other.transparency?.rawValue ?? "not set"
            report(
                "certificateTransparency is \(there), expected \(transparency.rawValue)",
                "changed certificateTransparency from \(there) to \(transparency.rawValue)")
        }
        if reports != other.reports {
            let (there, wanted) = (addresses(other.reports), addresses(reports))
            report("reports to \(there), expected \(wanted)", "changed the reports from \(there) to \(wanted)")
        }
        if usesDefaultReport != other.usesDefaultReport {
            report(
                "\(other.usesDefaultReport ? "also reports" : "doesn't report") to its vendor's address "
                    + "(\(TrustKitReader.defaultReportKey))",
                "turned reports to its vendor's address \(usesDefaultReport ? "on" : "off")")
        }
        return found
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
