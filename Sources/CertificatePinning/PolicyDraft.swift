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
    }

    /// The free key that marks a backup that is still to be made; lint refuses a policy that has one.
    static let slotKey = "x-backup-slot"

    private var pins: [NamedPin] = []
    private var rules: [Rule] = []

    /// A draft without hosts.
    public init() {}

    /// Adds a rule for the host of a verified path, with every key of the path. A host and port counts once.
    ///
    /// Issuers get the role `ca`: a root that is cross-signed tomorrow is no root any more, but still an issuer.
    public mutating func add(_ path: VerifiedPath, port: Int) {
        guard !rules.contains(where: { $0.host == path.name && $0.port == port }) else { return }
        let names = path.certificates.enumerated().map { index, certificate in
            name(of: certificate, index == 0 ? .leaf : .ca, host: path.name)
        }
        rules.append(Rule(host: path.name, port: port, pins: names))
    }

    /// The policy file, JSON with comments; the same paths give the same text.
    public var text: String {
        var lines = ["{", "  \"version\": 1,", "  \"pins\": {"]
        for named in pins {
            lines.append("    // \(named.remark)")
            lines.append(
                "    \(literal(named.name)): "
                    + "{ \"pin\": \"\(named.pin.object)\", \"role\": \"\(named.pin.role.rawValue)\" },")
        }
        lines += ["  },", "  \"domains\": ["]
        for rule in rules {
            lines += ["    {", "      \"host\": \(literal(rule.host.description)),"]
            // Without ports a rule reaches all of them, which a second rule for the host would run into.
            let isOneOfSeveral = rules.contains { $0.host == rule.host && $0.port != rule.port }
            if rule.port != 443 || isOneOfSeveral { lines.append("      \"ports\": [\(rule.port)],") }
            let slot = Self.slotText(rule.host, port: isOneOfSeveral ? rule.port : nil)
            lines += [
                "      // Any one of them is enough.",
                "      \"pins\": [\(rule.pins.map(literal).joined(separator: ", "))],",
                "      // pinctl lint fails until { \"pin\": \"sha256/…\", \"role\": \"leaf\", \"backup\": true } is in the list "
                    + "above instead of this slot.",
                "      \(literal(Self.slotKey)): \(literal(slot)),",
                "    },",
            ]
        }
        return (lines + ["  ],", "}", ""]).joined(separator: "\n")
    }

    /// The name of a certificate's key in this role, which becomes a pin if it is none yet.
    private mutating func name(of certificate: X509Certificate, _ role: PinRole, host: ServerName) -> String {
        let pin = Pin(.publicKey(certificate.spkiFingerprint), role: role)
        if let known = pins.first(where: { $0.pin == pin }) { return known.name }
        let plain = role == .leaf ? "\(host)-leaf" : Self.slug(certificate.subject)
        // What starts with x- is a free key, no pin's name.
        let base = PolicyKey.isFree(plain) ? "pin-\(plain)" : plain
        var name = base
        var number = 2
        while pins.contains(where: { $0.name == name }) {
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
