package import CertificatePinning
import CertificateTrust
import PinctlBasics

extension PinDialect {
    /// Returns the policy file of a converted policy: JSON with comments. The same policy always produces the same
    /// text. Strict JSON has no comma after the last element of a list.
    package static func policyText(_ policy: CanonicalPolicy, isStrict: Bool = false) -> String {
        var names = PinNames(policy)
        var object: [(String, JSON)] = [("version", .integer(1))]
        if policy.unlisted == .refuse { object.append(("unlisted", .string("refuse"))) }
        let domains = policy.rules.map { $0.json(&names) }
        let denied = policy.denied.map { names.json($0) }
        if !names.named.isEmpty { object.append(("pins", .object(names.named))) }
        if !denied.isEmpty { object.append(("deny", .array(denied))) }
        object.append(("domains", .array(domains)))
        return JSON.object(object).lines(commas: !isStrict) + "\n"
    }
}

extension PolicyAdditions {
    /// Creates additions from the rules of a converted policy. Pins that have a name in the file keep it, and no other
    /// pin gets a name that is already used.
    package init(_ policy: CanonicalPolicy, to file: PolicyFile) {
        let isStrict = JSONCReader.Dialect(ofFile: file.path) == .json
        var known: [CanonicalPin: String] = [:]
        for var pin in CanonicalPolicy(file).rules.flatMap(\.pins) {
            guard let name = pin.name else { continue }
            pin.name = nil
            known[pin] = known[pin].map { min($0, name) } ?? name
        }
        let defined = Set(known.values)
        let taken = Set((file.root["pins"]?.members ?? []).map(\.key)).union(defined)
        var policy = policy
        (policy.denied, policy.unlisted) = ([], .trust)
        for rule in policy.rules.indices {
            for index in policy.rules[rule].pins.indices {
                var pin = policy.rules[rule].pins[index]
                let name = pin.name
                pin.name = nil
                policy.rules[rule].pins[index].name = known[pin] ?? (name.map(taken.contains) == true ? nil : name)
            }
        }
        var names = PinNames(policy)
        let rules = policy.rules.map { $0.json(&names) }
        let pins = names.named.filter { !defined.contains($0.0) }
        func lines(_ list: JSON, _ count: Int) -> [String] {
            guard count > 0 else { return [] }
            let lines = list.lines(commas: !isStrict).split(separator: "\n").dropFirst().dropLast().map { "  " + $0 }
            return isStrict ? lines.dropLast() + lines.suffix(1).map { $0 + "," } : lines
        }
        self.init(
            pins: lines(.object(pins), pins.count), rules: lines(.array(rules), rules.count),
            text: PinDialect.policyText(policy, isStrict: isStrict))
    }
}

/// The named pins of a policy, which are written once under their names.
private struct PinNames {
    /// The names that always mean the same pin throughout the policy.
    private let meanings: [String: CanonicalPin]
    private(set) var named: [(String, JSON)] = []
    private var written: Set<String> = []

    init(_ policy: CanonicalPolicy) {
        var meanings: [String: CanonicalPin] = [:]
        var twofold: Set<String> = []
        for pin in policy.rules.flatMap(\.pins) + policy.denied {
            guard let name = pin.name, !name.isEmpty, !name.contains("/"), !name.hasPrefix("x-") else { continue }
            if let known = meanings[name], known != pin { twofold.insert(name) }
            meanings[name] = pin
        }
        self.meanings = meanings.filter { !twofold.contains($0.key) }
    }

    mutating func json(_ pin: CanonicalPin) -> JSON {
        guard let name = pin.name, meanings[name] == pin else { return Self.value(pin) }
        if written.insert(name).inserted { named.append((name, Self.value(pin))) }
        return .string(name)
    }

    private static func value(_ pin: CanonicalPin) -> JSON {
        let text = (pin.content == .certificate ? "cert-sha256/" : "sha256/") + Base64.encode(pin.value.span)
        guard pin.role != .any || pin.isBackup || pin.note != nil else { return .string(text) }
        var members: [(String, JSON)] = [("pin", .string(text))]
        if pin.role != .any { members.append(("role", .string(pin.role.rawValue))) }
        if pin.isBackup { members.append(("backup", .bool(true))) }
        if let note = pin.note { members.append(("note", .string(note))) }
        return .object(members)
    }
}

extension CanonicalRule {
    fileprivate func json(_ names: inout PinNames) -> JSON {
        var members: [(String, JSON)] = [("host", .string(patterns[0].host))]
        if patterns[0].scope == .exactAndBelow { members.append(("subdomains", .bool(true))) }
        if ownsPublicSuffix { members.append(("ownsPublicSuffix", .bool(true))) }
        if let ports { members.append(("ports", .array(ports.sorted().map { .integer($0) }))) }
        let pins = pins.map { names.json($0) }
        members.append(("pins", .array(pins)))
        if case .eachOf(let roles) = requirement {
            members.append(("require", .array(PinRole.allCases.filter(roles.contains).map { .string($0.rawValue) })))
        }
        if mode != .enforce { members.append(("mode", .string(mode.rawValue))) }
        if let expiry, case .instant(let seconds) = expiry.moment {
            let end = CivilTime(secondsSince1970: seconds)?.description ?? "9999-12-31T23:59:59Z"
            members += [("expires", .string(end)), ("onExpiry", .string(expiry.effect.rawValue))]
        }
        if let anchors {
            let files = anchors.filter { $0.source != "system" }.map { JSON.string($0.source) }
            var object: [(String, JSON)] = files.isEmpty ? [] : [("files", .array(files))]
            if anchors.contains(where: { $0.source == "system" }) { object.append(("system", .bool(true))) }
            members.append(("anchors", .object(object)))
        }
        if bypassesLocally { members.append(("localAnchorsBypassPins", .bool(true))) }
        if let certificateTransparency {
            members.append(("certificateTransparency", .string(certificateTransparency.rawValue)))
        }
        if !reports.isEmpty { members.append(("reports", .array(reports.map { .string($0) }))) }
        if let note { members.append(("note", .string(note))) }
        return .object(members)
    }
}
