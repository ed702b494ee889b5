import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

/// The rules and pins of a file that apply to a host.
struct HostExplanation {
    let host: String
    /// The name of the policy in a file with several, or `nil` if there is only one.
    private let title: String?
    private let pins: ShippedPolicy
    private let notes: [ConversionNote]
    private let port: Int
    private let rules: [CanonicalRule]
    /// The rules that apply at other ports. Without ports, they apply at every other one.
    private let others: [(ports: [Int], rules: [CanonicalRule])]
    /// The rule that was probably meant for the host, if none applies.
    private let causes: [PinFailureCause]
    private let time: Date

    /// Creates an explanation for a host, which may also be a target with a port or a URL.
    init(_ word: String, _ input: DialectInput, as dialect: PinDialect?, at time: Date) throws(UsageError) {
        title = input.title == DialectInput.title(input.path) ? nil : input.title
        let target = try Target(argument: word).endpoint
        // A host alone is used as it is written, because systems differ in which spellings they treat as equal.
        let isAlone = !word.contains("/") && !word.contains(":") && !word.contains("@")
        host = isAlone ? word : target.name.description
        self.time = time
        if let dialect, dialect != input.dialect {
            let converted = input.reading.policy.converted(to: dialect, at: time)
            pins = ShippedPolicy(converted.policy, of: dialect)
            notes = input.reading.notes + converted.notes
        } else {
            pins = ShippedPolicy(input.reading.policy, of: input.dialect)
            notes = input.reading.notes
        }
        port = Int(target.port)
        rules = pins.rules(for: host, port: port)
        others = pins.rules(for: host, besides: rules, at: port)
        let own = rules.isEmpty && pins.dialect == .policy ? try input.policyFile() : nil
        causes = own?.policy.failureCauses(forUnlisted: target.name) ?? []
    }

    /// Explains a host for each policy of one file, since an app enforces all of them.
    static func report(
        _ word: String, _ inputs: [DialectInput], as dialect: PinDialect?, at time: Date, _ console: inout Console
    ) throws(UsageError) {
        var explanations: [HostExplanation] = []
        for input in inputs { explanations.append(try HostExplanation(word, input, as: dialect, at: time)) }
        let isPinned = explanations.contains { !$0.rules.isEmpty }
        for explanation in explanations { explanation.report(isPinned ? .good : .finding, &console) }
    }

    private func report(_ outcome: ExitCode, _ console: inout Console) {
        var lines = [(title.map { "\($0): " } ?? "") + headline]
        for rule in rules {
            lines.append("  \(rule.title)\(rule.location.map { "  \($0)" } ?? "")  \(rule.conditions(at: time))")
            lines += rule.pins.map { pin in
                "    \(pin)  \(pin.role.rawValue)\(pin.name.map { "  \($0)" } ?? "")\(pin.isBackup ? "  backup" : "")"
            }
            if rule.pins.isEmpty {
                lines.append("    no pins: \(rule.mode == .off ? "none is required" : "every server is refused")")
            }
        }
        lines += causes.flatMap { ["  cause: \($0.finding)", "  do: \($0.remedy)"] }
        for (ports, rules) in others {
            let titles = rules.map { "the rule for \($0.title)\($0.location.map { "  \($0)" } ?? "")" }
            let list = ports.map(String.init).joined(separator: ", ")
            let title = ports.isEmpty ? "every other port" : "port \(list)"
            lines.append("  \(title): \(titles.isEmpty ? "no rule" : titles.joined(separator: ", "))")
        }
        for note in notes { console.note(note.description) }
        var members: [(String, JSON)] = [
            ("host", .string(host)), ("port", .integer(port)), ("as", .string(pins.dialect.rawValue)),
            ("rules", .array(rules.map(\.json))),
            ("notes", .array(notes.map { .object($0.members + [("message", .string($0.message))]) })),
        ]
        if !others.isEmpty {
            let list = others.map { ports, rules -> JSON in
                let ports: [(String, JSON)] = ports.isEmpty ? [] : [("ports", .array(ports.map { .integer($0) }))]
                return .object(ports + [("rules", .array(rules.map(\.json)))])
            }
            members.append(("other_ports", .array(list)))
        }
        if !causes.isEmpty { members.append(("diagnosis", .array(causes.map { ReportCause($0).json }))) }
        console.result(lines, .object(members), outcome)
    }

    private var headline: String {
        let (dialect, policy) = (pins.dialect, pins.policy)
        let count = rules.count
        // Most policies don't list ports.
        let host = others.isEmpty ? host : "\(host), port \(port)"
        let roles = rules.reduce(into: Set<PinRole>()) { $0.formUnion($1.requirement.roles) }
        let required = PinRole.allCases.filter(roles.contains).map(\.rawValue).joined(separator: " and as ")
        let needed =
            roles.count > 1
            ? "a match as \(required) is required" : "a pin of any of them is enough"
        return switch count {
        case 0 where policy.unlisted == .refuse:
            "\(host): no rule covers it, and the policy refuses such hosts"
        case 0 where policy.denied.isEmpty && policy.rules.allSatisfy { $0.mode == .off }:
            "\(host): no pins: the file pins no host, and \(dialect.title) only verifies the chain"
        case 0 where !policy.denied.isEmpty:
            "\(host): no rule covers it: \(dialect.title) verifies the chain and refuses only denied keys"
        case 0: "\(host): no rule covers it: \(dialect.title) only verifies the chain"
        case 1: "\(host): one rule applies, as \(dialect.title) matches hosts"
        default: "\(host): \(count) rules apply together, as \(dialect.title) matches hosts: \(needed)"
        }
    }
}

extension ShippedPolicy {
    /// Returns the rules for a host at each port where they differ from those at `port`: at each one that some rule
    /// lists, and at any other port.
    fileprivate func rules(
        for host: String, besides known: [CanonicalRule], at port: Int
    ) -> [(ports: [Int], rules: [CanonicalRule])] {
        let listed = policy.rules.reduce(into: Set<Int>()) { $0.formUnion($1.ports ?? []) }
        guard !listed.isEmpty else { return [] }
        var groups: [(ports: [Int], rules: [CanonicalRule])] = []
        for other in listed.subtracting([port]).sorted() {
            let rules = rules(for: host, port: other)
            guard rules != known else { continue }
            if let index = groups.firstIndex(where: { $0.rules == rules }) {
                groups[index].ports.append(other)
            } else {
                groups.append(([other], rules))
            }
        }
        let rest = (1...65_535).first { !listed.contains($0) && $0 != port }.map { rules(for: host, port: $0) } ?? known
        return rest == known ? groups : groups.filter { $0.rules != rest } + [([], rest)]
    }
}

extension CanonicalRule {
    /// The hosts that the rule is for.
    var title: String { patterns.map { $0.title() }.joined(separator: ", ") }

    /// Returns the conditions other than the pins, such as the mode, the required roles and the expiry.
    fileprivate func conditions(at time: Date) -> String {
        var words = [mode.rawValue]
        if case .eachOf(let roles) = requirement {
            words.append(
                "a match as " + PinRole.allCases.filter(roles.contains).map(\.rawValue).joined(separator: " and as "))
        }
        if let ports { words.append("port " + ports.sorted().map(String.init).joined(separator: ", ")) }
        if let expiry { words.append(expiry.phase(at: time)) }
        let bypasses = (anchors ?? []).filter(\.bypassesPins).map(\.source)
        if !bypasses.isEmpty {
            words.append("pins are ignored for chains that end at " + bypasses.joined(separator: ", "))
        }
        return words.joined(separator: ", ")
    }

    fileprivate var json: JSON {
        var members: [(String, JSON)] = [
            (
                "hosts",
                .array(patterns.map { .object([("host", .string($0.host)), ("scope", .string($0.scope.rawValue))]) })
            ),
            ("mode", .string(mode.rawValue)),
            (
                "pins",
                .array(pins.map { .object([("pin", .string($0.description)), ("role", .string($0.role.rawValue))]) })
            ),
        ]
        if let location { members += [("file", .string(location.path)), ("line", .integer(location.line))] }
        if let expiry { members.append(("expires", .string(expiry.title))) }
        return .object(members)
    }
}

extension RuleExpiry {
    /// Returns a text such as `until 2026-12-31 (stop-pinning)` or `expired …`. A day begins in the device's time zone.
    fileprivate func phase(at time: Date) -> String {
        let zones = [RuleExpiry.zoneMargin, -RuleExpiry.zoneMargin].map { offset in
            moment.isOver(under: DecisionCircumstances(at: time, offset: offset))
        }
        switch (zones[0], zones[1]) {
        case (false, _): return "until \(title)"
        case (true, false): return "expired \(title) where that day has begun"
        case (true, true): return "expired \(title)"
        }
    }
}
