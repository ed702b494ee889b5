public import CertificateTrust

/// A policy to begin with: the keys of verified paths, with names, and a slot for the backup key that is still to be
/// made.
public struct PolicyDraft: Sendable {
    private struct NamedPin {
        let name: String
        let pin: Pin
        /// Whose key it is.
        let remark: String
    }

    private struct Rule {
        let host: ServerName
        let port: Int
        let pins: [String]
        let anchors: [String]
        let target: String?
    }

    /// The free key that marks a backup that is still to be made; lint refuses a policy that has one.
    static let slotKey = "x-backup-slot"

    private var pins: [NamedPin] = []
    private var rules: [Rule] = []
    /// Pins of the policy that the draft is for, by name, and where its rules are.
    private var known: [String: Pin] = [:]
    private var taken: Set<String> = []
    private var knownHosts: Set<ServerName> = []

    /// A draft without hosts.
    public init() {}

    /// A draft of what is to be added to a policy: pins that it has under a name keep that name, and no other key gets
    /// one of its names.
    package init(extending file: PolicyFile) {
        for pin in file.policy.rules.flatMap(\.pins) where !pin.isBackup {
            if let name = pin.name { known[name] = pin }
        }
        taken = Set((file.root["pins"]?.members ?? []).map(\.key)).union(known.keys)
        knownHosts = Set(file.policy.rules.map(\.host))
    }

    /// Adds a rule for the host of a verified path, with every key of the path. A host and port counts once. `anchors`
    /// are files with the roots that it holds under, none for the system's; `target` is where to check it, where host
    /// and port do not say that.
    ///
    /// Issuers get the role `ca`: a root that is cross-signed tomorrow is no root any more, but still an issuer.
    public mutating func add(_ path: VerifiedPath, port: Int, anchors: [String] = [], target: String? = nil) {
        guard !rules.contains(where: { $0.host == path.name && $0.port == port }) else { return }
        let names = path.certificates.enumerated().map { index, certificate in
            name(of: certificate, index == 0 ? .leaf : .ca, host: path.name)
        }
        rules.append(Rule(host: path.name, port: port, pins: names, anchors: anchors, target: target))
    }

    /// How many rules there are.
    package var count: Int { rules.count }

    /// The policy file, JSON with comments; the same paths give the same text.
    public var text: String { text(isStrict: false) }

    /// The policy file; strict JSON has no comments, and no comma behind the last of a list.
    package func text(isStrict: Bool) -> String {
        // On its own it needs the pins too whose names are known.
        let needed = rules.flatMap(\.pins)
        let others = known.keys.sorted().filter(needed.contains).compactMap { name in
            known[name].map { NamedPin(name: name, pin: $0, remark: "in the policy already") }
        }
        let pins = Self.closed(pinLines(pins + others, isStrict: isStrict), isStrict)
        let rules = Self.closed(ruleLines(isStrict: isStrict), isStrict)
        let middle = ["  },", "  \"domains\": ["]
        let end = isStrict ? ["  ]", "}", ""] : ["  ],", "}", ""]
        return (["{", "  \"version\": 1,", "  \"pins\": {"] + pins + middle + rules + end).joined(separator: "\n")
    }

    /// The pins that no policy has yet, a line or two for each, commas behind all.
    func newPinLines(isStrict: Bool) -> [String] { pinLines(pins, isStrict: isStrict) }

    private func pinLines(_ pins: [NamedPin], isStrict: Bool) -> [String] {
        pins.flatMap { named in
            (isStrict ? [] : ["    // \(named.remark)"]) + [
                "    \(literal(named.name)): "
                    + "{ \"pin\": \"\(named.pin.object)\", \"role\": \"\(named.pin.role.rawValue)\" },"
            ]
        }
    }

    /// The rules, commas behind all.
    func ruleLines(isStrict: Bool) -> [String] {
        var lines: [String] = []
        for rule in rules {
            lines += ["    {", "      \"host\": \(literal(rule.host.description)),"]
            // Without ports a rule reaches all of them, which a second rule for the host would run into.
            let isOneOfSeveral =
                knownHosts.contains(rule.host)
                || rules.contains { $0.host == rule.host && $0.port != rule.port }
            if rule.port != 443 || isOneOfSeveral { lines.append("      \"ports\": [\(rule.port)],") }
            if !rule.anchors.isEmpty {
                let files = rule.anchors.map(literal).joined(separator: ", ")
                lines.append("      \"anchors\": { \"files\": [\(files)] },")
            }
            if let target = rule.target { lines.append("      \"check\": { \"targets\": [\(literal(target))] },") }
            if !isStrict { lines.append("      // Any one of them is enough.") }
            lines.append("      \"pins\": [\(rule.pins.map(literal).joined(separator: ", "))],")
            if !isStrict {
                lines.append(
                    "      // pinctl lint fails until { \"pin\": \"sha256/…\", \"role\": \"leaf\", \"backup\": true } is in "
                        + "the list above instead of this slot.")
            }
            let slot = Self.slotText(rule.host, port: isOneOfSeveral ? rule.port : nil)
            lines += ["      \(literal(Self.slotKey)): \(literal(slot))\(isStrict ? "" : ",")", "    },"]
        }
        return lines
    }

    /// Without the last comma, where none may stand.
    static func closed(_ lines: [String], _ isStrict: Bool) -> [String] {
        guard isStrict, let last = lines.last, last.hasSuffix(",") else { return lines }
        return lines.dropLast() + [String(last.dropLast())]
    }

    /// The name of a certificate's key in this role, which becomes a pin if it is none yet.
    private mutating func name(of certificate: X509Certificate, _ role: PinRole, host: ServerName) -> String {
        let pin = Pin(.publicKey(certificate.spkiFingerprint), role: role)
        if let made = pins.first(where: { $0.pin == pin }) { return made.name }
        let same = known.filter { $0.value.object == pin.object && $0.value.role == pin.role }
        if let name = same.keys.min() { return name }
        let plain = role == .leaf ? "\(host)-leaf" : Self.slug(certificate.subject)
        // What starts with x- is a free key, no pin's name.
        let base = PolicyKey.isFree(plain) ? "pin-\(plain)" : plain
        var name = base
        var number = 2
        while taken.contains(name) || pins.contains(where: { $0.name == name }) {
            name = "\(base)-\(number)"
            number += 1
        }
        let remark = "\(certificate.subject) (\(certificate.subjectPublicKeyInfo.keyKind))"
        pins.append(NamedPin(name: name, pin: pin, remark: remark))
        return name
    }

    /// `isrg-root-x1`: what a name is called in lower-case letters, digits and hyphens.
    private static func slug(_ subject: X509Name) -> String {
        let text = (subject.commonName ?? subject.description).utf8.prefix(60)
        let words = text.split { byte in
            !(UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte)
        }
        let slug = words.map { String(decoding: $0, as: UTF8.self).lowercased() }.joined(separator: "-")
        return slug.isEmpty ? "ca" : slug
    }

    /// `port` keeps the files of two rules for one host apart.
    private static func slotText(_ host: ServerName, port: Int?) -> String {
        let place = port.map { "\(host)-\($0)" } ?? host.description
        let file = place.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "_")
        return "no backup yet. Make a key: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 "
            + "-out \(file)-backup.key && openssl req -new -key \(file)-backup.key -subj /CN=\(host) "
            + "-out \(file)-backup.csr && pinctl hash \(file)-backup.csr -- keep the key offline, add its pin "
            + "to \"pins\", and remove this slot"
    }

    private func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { literal += "\\" }
            literal.unicodeScalars.append(scalar)
        }
        return literal + "\""
    }
}
