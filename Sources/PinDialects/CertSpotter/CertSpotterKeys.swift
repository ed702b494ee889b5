import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The keys that Cert Spotter, a monitor of Certificate Transparency logs, takes as authorized. It reports certificates
/// for other keys.
///
/// Each line is a JSON object with the fields of Cert Spotter's "Authorize Public Key" API (sslmate.com, read on
/// 2026-11-24): `pubkey_sha256`, the SHA-256 of the SubjectPublicKeyInfo in lowercase hexadecimal digits, and
/// `dns_names`. A hook of the open-source monitor finds its `$PUBKEY_SHA256` in the same lines. A name with all names
/// below it is written as the name and its wildcard.
enum CertSpotterKeys {
    private static let wildcard = "*."

    /// Reads lines of JSON.
    static func read(_ bytes: [UInt8], path: String) throws(PolicyFileError) -> DialectReading {
        var problems = PolicyProblems(path: path)
        var rules: [CanonicalRule] = []
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() where !line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) {
            let position = SourcePosition(line: Int32(clamping: index + 1), column: 1)
            let document = JSONCReader.read(Array(line), dialect: .json)
            if let problem = document.problems.first {
                problems.add(problem.message, at: SourcePosition(line: position.line, column: problem.position.column))
            } else if rules.count >= TextLimits.rules {
                problems.add(
                    "the file has more than \(TextLimits.rules) keys: remove those of certificates that have expired",
                    at: position)
                break
            } else if let rule = rule(document.root, PolicyLocation(path: path, position)) {
                rules.append(rule)
            } else {
                problems.add(
                    "this isn't a key of Cert Spotter: write pubkey_sha256 with 64 hexadecimal digits, and dns_names",
                    at: position)
            }
        }
        guard problems.isEmpty else { throw PolicyFileError(problems: problems.sorted, known: rules) }
        return DialectReading(CanonicalPolicy(rules: rules, combination: .union))
    }

    private static func rule(_ object: JSONValue?, _ location: PolicyLocation) -> CanonicalRule? {
        guard let text = object?["pubkey_sha256"]?.string, text == text.lowercased(),
            let digest = Hexadecimal.decode(text.utf8), digest.count == 32,
            let elements = object?["dns_names"]?.elements, !elements.isEmpty
        else { return nil }
        let names = elements.compactMap(\.string)
        guard names.count == elements.count,
            names.allSatisfy({ name in
                let host = name.hasPrefix(wildcard) ? name.dropFirst(wildcard.count) : name[...]
                return !host.isEmpty && !host.contains("*")
            })
        else { return nil }
        let below = Set(names.filter { $0.hasPrefix(wildcard) }.map { String($0.dropFirst(wildcard.count)) })
        let hosts = names.filter { !$0.hasPrefix(wildcard) }
        let patterns =
            hosts.map { HostPattern($0, below.contains($0) ? .exactAndBelow : .exact) }
            + below.subtracting(hosts).sorted().map { HostPattern($0, .oneLabelBelow) }
        return CanonicalRule(
            patterns: patterns, pins: [CanonicalPin(.publicKey, .sha256, digest, role: .leaf)], location: location)
    }

    /// Returns a line for each key, in the order of the policy.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var keys: [[UInt8]] = []
        var names: [[UInt8]: [String]] = [:]
        for rule in policy.rules {
            guard rule.mode == .enforce, rule.ports == nil, rule.requirement == .any, !rule.pins.isEmpty else {
                throw DialectWriteError(
                    "Cert Spotter can't express this rule: convert the policy first", at: rule.location)
            }
            for pin in rule.pins {
                guard pin.content == .publicKey, pin.digest == .sha256, pin.role == .leaf || pin.role == .any else {
                    throw DialectWriteError(
                        "Cert Spotter can't express the pin \(pin) as \(pin.role.rawValue): convert the policy first",
                        at: rule.location)
                }
                if names[pin.value] == nil { keys.append(pin.value) }
                for pattern in rule.patterns {
                    let own = [pattern.host] + (pattern.scope == .exact ? [] : [wildcard + pattern.host])
                    for name in own where !(names[pin.value] ?? []).contains(name) {
                        names[pin.value, default: []].append(name)
                    }
                }
            }
        }
        return keys.map { key in
            let object: JSON = [
                "pubkey_sha256": .string(Hexadecimal.encode(key)),
                "dns_names": .array((names[key] ?? []).map { .string($0) }),
            ]
            return object.text + "\n"
        }.joined()
    }
}
