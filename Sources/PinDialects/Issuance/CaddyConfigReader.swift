import CertificatePinning
import PinctlBasics

/// A reader of Caddy's configuration in JSON.
///
/// Caddy creates a key for each certificate unless the automation policy of its name has `reuse_private_keys`. The
/// first policy counts whose `subjects` have the name, or that has none (Caddy's documentation,
/// "tls/automation/policies"). Caddy obtains certificates for the names in `tls/certificates/automate` and for those
/// that the routes of a server match, if `automatic_https` isn't off for them ("http/servers/automatic_https"). A name
/// with a placeholder isn't known, and is left out.
struct CaddyConfigReader {
    let path: String

    /// A policy with the names that it is for.
    private struct Policy {
        let value: JSONValue?
        var names: [String] = []
        /// Whether a certificate in a file may be used instead.
        var isOpen = false
    }

    /// Whether a text begins like an object and names Caddy's apps.
    static func recognizes(_ bytes: [UInt8]) -> Bool {
        let blanks: Set<UInt8> = [0x09, 0x0A, 0x0D, 0x20]
        guard bytes.first(where: { !blanks.contains($0) }) == UInt8(ascii: "{") else { return false }
        return bytes.contains(bytesOf: "\"apps\"")
    }

    func read(_ bytes: [UInt8]) throws(PolicyFileError) -> [KeyRenewal] {
        let document = JSONCReader.read(bytes, dialect: .json)
        if let problem = document.problems.first {
            throw IssuanceText.problem(problem.message, at: PolicyLocation(path: path, problem.position))
        }
        let apps = document.root?["apps"]
        let tls = apps?["tls"]
        let values = tls?["automation"]?["policies"]?.elements ?? []
        // The last one stands for names without a policy.
        var policies = values.map { Policy(value: $0) } + [Policy(value: nil)]
        let managed = Self.texts(tls?["certificates"]?["automate"]) + values.flatMap { Self.texts($0["subjects"]) }
        let hasFiles = tls?["certificates"]?.members?.contains { $0.key != "automate" } ?? false
        var seen: Set<String> = []
        func add(_ names: [String], isOpen: Bool) throws(PolicyFileError) {
            for name in names where !name.contains("{") && seen.insert(name).inserted {
                guard seen.count <= IssuanceText.limit else {
                    throw IssuanceText.problem(
                        "more than \(IssuanceText.limit) names: split the file", at: PolicyLocation(path: path))
                }
                let index = values.firstIndex { Self.covers($0, name) } ?? values.count
                policies[index].names.append(name)
                if isOpen { policies[index].isOpen = true }
            }
        }
        try add(managed, isOpen: false)
        for server in apps?["http"]?["servers"]?.members ?? [] {
            try add(Self.hosts(of: server.value), isOpen: hasFiles)
        }
        let place = tls?.position ?? apps?.position ?? SourcePosition(line: 1, column: 1)
        var renewals: [KeyRenewal] = []
        for policy in policies where !policy.names.isEmpty { renewals.append(try renewal(by: policy, at: place)) }
        return renewals
    }

    private func renewal(by policy: Policy, at place: SourcePosition) throws(PolicyFileError) -> KeyRenewal {
        func renewal(
            _ effect: KeyRenewal.Effect, _ position: SourcePosition, _ setting: String, _ remedy: String
        ) -> KeyRenewal {
            KeyRenewal(
                names: policy.names, effect, at: PolicyLocation(path: path, position), program: "Caddy",
                setting: setting, remedy: remedy)
        }
        let setting = policy.value?["reuse_private_keys"]
        if let setting, setting.bool == nil {
            throw IssuanceText.problem(
                "reuse_private_keys is \(setting.kindName), which Caddy refuses: write true or false",
                at: PolicyLocation(path: path, setting.position))
        }
        if let setting, setting.bool == true { return renewal(.keepsKey, setting.position, "reuse_private_keys", "") }
        if let manager = policy.value?["get_certificate"] {
            return renewal(
                .unknown, manager.position, "get_certificate", "check where that program takes its keys from")
        }
        if policy.isOpen {
            return renewal(
                .unknown, place, "certificates from files", "check which program renews the files of these names")
        }
        return renewal(
            .changesKey, setting?.position ?? policy.value?.position ?? place,
            policy.value == nil
                ? "no automation policy for \(policy.names[0])" : "the automation policy has no reuse_private_keys",
            "set reuse_private_keys to true in an automation policy for the name")
    }

    /// The names for which a server obtains certificates.
    private static func hosts(of server: JSONValue) -> [String] {
        let automation = server["automatic_https"]
        for key in ["disable", "disable_certificates"] where automation?[key]?.bool == true { return [] }
        let addresses = texts(server["listen"])
        guard addresses.isEmpty || !addresses.allSatisfy({ $0.hasSuffix(":80") }) else { return [] }
        let skipped = Set(texts(automation?["skip"]) + texts(automation?["skip_certificates"]))
        let routes = server["routes"]?.elements ?? []
        return routes.flatMap { $0["match"]?.elements ?? [] }.flatMap { texts($0["host"]) }
            .filter { !skipped.contains($0) }
    }

    /// Whether a policy is for a name.
    private static func covers(_ policy: JSONValue, _ name: String) -> Bool {
        let subjects = texts(policy["subjects"])
        return subjects.isEmpty
            || subjects.contains { subject in
                subject == name
                    || subject.hasPrefix("*.")
                        && name.drop { $0 != "." }.dropFirst() == subject.dropFirst(2)
            }
    }

    private static func texts(_ value: JSONValue?) -> [String] {
        (value?.elements ?? []).compactMap(\.string).map { $0.lowercased() }.filter { $0.utf8.count <= 255 }
    }
}
