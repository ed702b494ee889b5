public import CertificateTrust
import PinctlBasics
package import PinctlFoundation

/// A first version of a policy: the named keys of verified paths, and a slot for the backup key that doesn't exist yet.
public struct PolicyDraft: Sendable {
    private struct NamedPin {
        let name: String
        let pin: Pin
        /// The comment above the pin, such as the certificate's subject and the kind of key.
        let remark: String
    }

    private struct Rule {
        let host: ServerName
        let port: Int
        let pins: [String]
        /// Whether the pins are keys of a leaf, of CAs, or of both.
        let roles: Set<PinRole>
        let anchors: [String]
        let target: String?
        /// Whether a pin is a backup.
        let hasBackup: Bool
    }

    /// The free key that marks a missing backup. Lint rejects a policy that has one.
    static let slotKey = "x-backup-slot"

    /// The positions in a path whose keys are pinned. Empty means all of them.
    package var roles: [PinRole] = []
    /// Whether rules apply to subdomains too.
    package var includesSubdomains = false
    /// The provider whose roots are pinned in place of the keys of paths, and these roots.
    private var provider: (name: String, roots: [ProviderPools.Root])?
    /// The names of the backup pins of every rule.
    private var backups: [String] = []
    private var pins: [NamedPin] = []
    private var rules: [Rule] = []
    /// The named pins of the policy that the draft extends. `taken` has all its pin names, `knownHosts` the hosts of
    /// its rules.
    private var known: [String: Pin] = [:]
    private var taken: Set<String> = []
    private var knownHosts: Set<ServerName> = []

    /// Creates a draft without hosts.
    public init() {}

    /// Creates a draft of additions to a policy. Pins that have a name in the policy keep it, and no other key gets a
    /// name that is already used.
    package init(extending file: PolicyFile) {
        for pin in file.policy.rules.flatMap(\.pins) {
            if let name = pin.name { known[name] = pin }
        }
        taken = Set((file.root["pins"]?.members ?? []).map(\.key)).union(known.keys)
        knownHosts = Set(file.policy.rules.map(\.host))
    }

    /// Pins the roots of a provider in place of the keys of paths that are added. Those that aren't on the path are
    /// backups.
    package mutating func pinRoots(of pool: ProviderPools.Pool, at time: Date) {
        provider = (pool.name, pool.roots(at: time))
    }

    /// Returns whether a root of the provider is on a path, or there is no provider.
    package func hasProviderRoot(on path: VerifiedPath) -> Bool {
        guard let provider else { return true }
        return provider.roots.contains { Self.isServed($0, on: path) }
    }

    /// Adds a rule for the host of a verified path, with every key of the path. A host and port is added only once.
    /// `anchors` lists the files with the rule's trust anchors and is empty for the system roots. `target` is the
    /// address to check, if it differs from host and port.
    ///
    /// The rule covers every port, unless the policy has another rule for the host.
    ///
    /// Issuers get the role `ca`: a root that is cross-signed later is no longer the root of the path, but still an
    /// issuer.
    public mutating func add(_ path: VerifiedPath, port: Int, anchors: [String] = [], target: String? = nil) {
        guard !rules.contains(where: { $0.host == path.name && $0.port == port }) else { return }
        var pinned: Set<PinRole> = []
        var names: [String] = []
        var hasBackup = false
        for root in provider?.roots ?? [] {
            guard let key = root.key.pin.spkiFingerprint else { continue }
            pinned.insert(.ca)
            let isServed = Self.isServed(root, on: path)
            hasBackup = hasBackup || !isServed
            let pin = Pin(.publicKey(key), role: .ca, isBackup: !isServed)
            names.append(name(of: pin, root.key.name, "\(root.authority), which the provider may use"))
        }
        for (index, certificate) in path.certificates.enumerated()
        where provider == nil && isPinned(index, of: path.certificates.count) {
            let role = index == 0 ? PinRole.leaf : .ca
            pinned.insert(role)
            let pin = Pin(.publicKey(certificate.spkiFingerprint), role: role)
            let plain = role == .leaf ? "\(path.name)-leaf" : Self.slug(certificate.subject)
            names.append(
                name(of: pin, plain, "\(certificate.subject) (\(certificate.subjectPublicKeyInfo.keyKind))"))
        }
        rules.append(
            Rule(
                host: path.name, port: port, pins: names, roles: pinned, anchors: anchors, target: target,
                hasBackup: hasBackup))
    }

    private static func isServed(_ root: ProviderPools.Root, on path: VerifiedPath) -> Bool {
        path.certificates.dropFirst().contains(where: root.key.pin.matches)
    }

    private func isPinned(_ index: Int, of length: Int) -> Bool {
        roles.isEmpty || roles.contains { $0.covers(index: index, of: length) }
    }

    /// Adds a backup pin to every rule, in place of the slot for one. `file` is the name of the file that it is from.
    package mutating func addBackup(_ pin: Pin, from file: String) {
        let base = file.split(separator: "/").last.map(String.init) ?? file
        let name = name(of: pin, Self.slug(base.prefix { $0 != "." }, orElse: "backup"), "the key in \(base)")
        if !backups.contains(name) { backups.append(name) }
    }

    /// The number of rules.
    package var count: Int { rules.count }

    /// The policy file as JSON with comments. The same paths give the same text.
    public var text: String { text(isStrict: false) }

    /// Returns the policy file. Strict JSON has neither comments nor a comma after the last element of a list.
    package func text(isStrict: Bool) -> String {
        // A separate file also needs the pins whose names are already in the policy.
        let needed = rules.flatMap(\.pins) + backups
        let others = known.keys.sorted().filter(needed.contains).compactMap { name in
            known[name].map { NamedPin(name: name, pin: $0, remark: "already in the policy") }
        }
        let pins = Self.closed(pinLines(pins + others, isStrict: isStrict), isStrict)
        let rules = Self.closed(ruleLines(isStrict: isStrict), isStrict)
        let middle = ["  },", "  \"domains\": ["]
        let end = isStrict ? ["  ]", "}", ""] : ["  ],", "}", ""]
        return (["{", "  \"version\": 1,", "  \"pins\": {"] + pins + middle + rules + end).joined(separator: "\n")
    }

    /// Returns the pins that the policy doesn't have yet, with one or two lines for each and a comma after every pin.
    func newPinLines(isStrict: Bool) -> [String] { pinLines(pins, isStrict: isStrict) }

    private func pinLines(_ pins: [NamedPin], isStrict: Bool) -> [String] {
        let ordered = pins.filter { !$0.pin.isBackup } + pins.filter(\.pin.isBackup)
        return ordered.flatMap { named -> [String] in
            let backup = named.pin.isBackup ? ", \"backup\": true" : ""
            let value = "{ \"pin\": \"\(named.pin.fingerprint)\", \"role\": \"\(named.pin.role.rawValue)\"\(backup) }"
            return (isStrict ? [] : ["    // \(named.remark)"]) + ["    \(literal(named.name)): \(value),"]
        }
    }

    /// Returns the rules, with a comma after every rule.
    func ruleLines(isStrict: Bool) -> [String] {
        var lines: [String] = []
        for rule in rules {
            lines += ["    {", "      \"host\": \(literal(rule.host.description)),"]
            // A rule without ports covers all of them and would overlap with a second rule for the host.
            let isOneOfSeveral =
                knownHosts.contains(rule.host)
                || rules.contains { $0.host == rule.host && $0.port != rule.port }
            if isOneOfSeveral {
                if !isStrict {
                    lines.append("      // Other ports have no pins: a rule without \"ports\" covers all of them.")
                }
                lines.append("      \"ports\": [\(rule.port)],")
            }
            if let provider { lines.append("      \(literal(PolicyFile.providerKey)): \(literal(provider.name)),") }
            if includesSubdomains { lines.append("      \"subdomains\": true,") }
            if !rule.anchors.isEmpty {
                let files = rule.anchors.map(literal).joined(separator: ", ")
                lines.append("      \"anchors\": { \"files\": [\(files)] },")
            }
            if let target = rule.target ?? (isOneOfSeveral ? nil : Self.target(rule.host, rule.port)) {
                lines.append("      \"check\": { \"targets\": [\(literal(target))] },")
            }
            if !isStrict, rule.roles.count > 1 {
                lines.append("      // One matching pin is enough: remove the CA pins to accept only the leaf's key.")
            }
            let pins = "      \"pins\": [\((rule.pins + backups).map(literal).joined(separator: ", "))]"
            guard backups.isEmpty, !rule.hasBackup else {
                lines += [pins + (isStrict ? "" : ","), "    },"]
                continue
            }
            lines.append(pins + ",")
            let role = rule.roles.contains(.leaf) ? PinRole.leaf : .ca
            if !isStrict {
                lines.append(
                    "      // pinctl lint fails until this slot is removed and { \"pin\": \"sha256/…\", \"role\": "
                        + "\"\(role.rawValue)\", \"backup\": true } is in the list above.")
            }
            let slot =
                role == .leaf
                ? Self.slotText(rule.host, port: isOneOfSeveral ? rule.port : nil) : Self.authoritySlotText
            lines += ["      \(literal(Self.slotKey)): \(literal(slot))\(isStrict ? "" : ",")", "    },"]
        }
        return lines
    }

    /// Returns the address to check, or `nil` for the default port, at which `pinctl check` connects to the host.
    private static func target(_ host: ServerName, _ port: Int) -> String? {
        guard port != 443 else { return nil }
        let name = host.description
        return name.contains(":") ? "[\(name)]:\(port)" : "\(name):\(port)"
    }

    /// Removes the last comma if the dialect doesn't allow it.
    static func closed(_ lines: [String], _ isStrict: Bool) -> [String] {
        guard isStrict, let last = lines.last, last.hasSuffix(",") else { return lines }
        return lines.dropLast() + [String(last.dropLast())]
    }

    /// Returns the name of a pin, which is `plain` unless another pin has it. Adds the pin if there is none yet.
    private mutating func name(of pin: Pin, _ plain: String, _ remark: String) -> String {
        if let made = pins.first(where: { $0.pin == pin }) { return made.name }
        let same = known.filter { _, other in
            other.fingerprint == pin.fingerprint && other.role == pin.role && other.isBackup == pin.isBackup
        }
        if let name = same.keys.min() { return name }
        // A name that starts with x- would be a free key and not the name of a pin.
        let base = PolicyKey.isFree(plain) ? "pin-\(plain)" : plain
        var name = base
        var number = 2
        while taken.contains(name) || pins.contains(where: { $0.name == name }) {
            name = "\(base)-\(number)"
            number += 1
        }
        pins.append(NamedPin(name: name, pin: pin, remark: remark))
        return name
    }

    /// Returns a name for the key of a CA, such as `isrg-root-x1`.
    private static func slug(_ subject: X509Name) -> String {
        slug(subject.commonName ?? subject.description, orElse: "ca")
    }

    /// Returns a text in lowercase letters, digits and hyphens, or another text if nothing is left.
    private static func slug(_ text: some StringProtocol, orElse other: String) -> String {
        let words = text.utf8.prefix(60).split { byte in
            !(UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte)
        }
        let slug = words.map { String(decoding: $0, as: UTF8.self).lowercased() }.joined(separator: "-")
        return slug.isEmpty ? other : slug
    }

    /// The text of the backup slot of a rule that pins CAs only. A leaf's key would be no backup for them in formats
    /// that pin CAs and leaves apart.
    private static let authoritySlotText =
        "no backup CA yet. Choose a second CA that can issue for the host, and print the pin of its root: pinctl hash "
        + "ROOT.pem -- then add that pin to the \"pins\" of this rule, and remove this slot"

    /// Returns the text of the backup slot. `port` gives two rules for one host different file names.
    private static func slotText(_ host: ServerName, port: Int?) -> String {
        let place = port.map { "\(host)-\($0)" } ?? host.description
        let file = place.split(separator: ":", omittingEmptySubsequences: false).joined(separator: "_")
        return "no backup key yet. Create one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 "
            + "-out \(file)-backup.key && openssl req -new -key \(file)-backup.key -subj /CN=\(host) "
            + "-out \(file)-backup.csr && pinctl hash \(file)-backup.csr -- then keep the key offline, add its pin "
            + "to the \"pins\" of this rule, and remove this slot"
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

extension PolicyDraft {
    /// Returns the bytes of a policy file with the draft's pins and rules inserted before the existing ones.
    package func inserted(into bytes: [UInt8], path: String) throws(PolicyInsertionError) -> [UInt8] {
        let isStrict = JSONCReader.Dialect(ofFile: path) == .json
        return try PolicyAdditions(
            pins: newPinLines(isStrict: isStrict), rules: ruleLines(isStrict: isStrict), text: text(isStrict: isStrict)
        ).inserted(into: bytes, path: path)
    }
}
