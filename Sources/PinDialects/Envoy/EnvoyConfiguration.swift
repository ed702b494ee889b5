import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The pins of servers in Envoy's configuration, in YAML or JSON: `verify_certificate_spki` and
/// `verify_certificate_hash` of a validation context
/// (`envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext`).
///
/// Envoy compares only the leaf certificate, and one match in either list is enough.
enum EnvoyConfiguration {
    /// Reads a bootstrap, listener, cluster, secret or validation context.
    static func read(
        _ bytes: [UInt8], path: String, host: String? = nil
    ) throws(PolicyFileError) -> DialectReading {
        var reader = EnvoyReader(path: path, host: host)
        return try reader.read(try YAMLReader.read(bytes, path: path))
    }

    /// Returns a cluster for each host, with the part of its settings that verifies the server.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var lines = ["clusters:"]
        for rule in policy.rules {
            let (hosts, lists) = (try host(of: rule), try EnvoyLists(rule))
            let isAddress = (try? ServerName(hosts))?.isIPAddress ?? false
            let name = JSON.string(hosts).text
            lines += [
                "- name: \(name)",
                "  transport_socket:",
                "    name: envoy.transport_sockets.tls",
                "    typed_config:",
                "      \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            ]
            if !isAddress { lines.append("      sni: \(name)") }
            lines += [
                "      common_tls_context:",
                "        validation_context:",
                "          trusted_ca:",
                "            filename: /etc/ssl/certs/ca-certificates.crt",
                "          match_typed_subject_alt_names:",
                "          - san_type: \(isAddress ? "IP_ADDRESS" : "DNS")",
                "            matcher:",
                "              exact: \(name)",
            ]
            for (keys, values) in lists.all where !values.isEmpty {
                lines.append("          \(keys[0]):")
                lines += values.map { "          - \(JSON.string($0).text)" }
            }
        }
        guard lines.count > 1 else { throw DialectWriteError("the policy pins no host: add a rule") }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the host of a rule that was converted to this dialect.
    private static func host(of rule: CanonicalRule) throws(DialectWriteError) -> String {
        guard rule.mode == .enforce, rule.patterns.count == 1, rule.patterns[0].scope == .exact, rule.ports == nil
        else {
            throw DialectWriteError(
                "Envoy can't express the rule for \(rule.title): convert the policy to Envoy first", at: rule.location)
        }
        return rule.patterns[0].host
    }

    /// Returns a configuration in which only the pins are replaced by those of the policy.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        let root: YAMLNode
        do throws(PolicyFileError) {
            // A value that several contexts use can't be changed for one of them.
            root = try YAMLReader.read(bytes, path: path, .none)
        } catch {
            throw DialectWriteError(error)
        }
        let contexts = EnvoyContexts(of: root).all.filter { !$0.isForClients }
        let unnamed = contexts.filter { $0.host == nil }
        // A configuration for a single server needs no name.
        let onlyHost = contexts.count == 1 && policy.rules.count == 1 ? try host(of: policy.rules[0]) : nil
        var edit = MarkupEdit(bytes, usualStep: "  ")
        var missing: [String: CanonicalRule] = [:]
        for rule in policy.rules { missing[try host(of: rule)] = rule }
        let rules = missing
        for context in contexts {
            let location = PolicyLocation(path: path, context.node.position)
            guard let name = (context.host ?? onlyHost)?.lowercased(), let rule = rules[name] else {
                guard context.member(EnvoyContext.keyHashes) == nil,
                    context.member(EnvoyContext.certificateHashes) == nil
                else {
                    throw DialectWriteError(
                        "this context has pins, but the policy has no rule for "
                            + "\(context.host.map(quoted) ?? "a server without sni"): add a rule, or remove the pins",
                        at: location)
                }
                continue
            }
            guard context.hasAnchors else {
                throw DialectWriteError(
                    "without trusted_ca, Envoy doesn't verify the chain of \(quoted(name)): add trusted_ca",
                    at: location)
            }
            // mutant envoy-ineffective: String?.none by PinDialectsTests.EnvoyTests
            if let problem = context.problemWithPins {
                throw DialectWriteError("the pins of \(quoted(name)) wouldn't count: \(problem)", at: location)
            }
            missing[name] = nil
            try EnvoyLists(rule).replace(in: context, &edit)
        }
        guard let host = missing.keys.min() else {
            let result = edit.result
            try PinDialect.envoy.check(result, path: path, says: policy, host: unnamed.isEmpty ? nil : onlyHost)
            return result
        }
        throw DialectWriteError(
            "no UpstreamTlsContext with a validation_context has the sni \(quoted(host)): add one to its cluster",
            at: PolicyLocation(path: path))
    }
}
