import CertificatePinning
import PinctlBasics

/// A validation context in Envoy's configuration, and what surrounds it.
struct EnvoyContext {
    /// The mapping of `validation_context`, or of `default_validation_context` in a combined one.
    let node: YAMLNode
    /// Whether the context verifies the certificates of clients that connect to a listener.
    let isForClients: Bool
    /// The name that Envoy asks the server for (`sni`), or else the only exact name that it requires in the
    /// certificate, or `nil`.
    let host: String?
    /// Whether a secret is merged into the context, which may have more pins.
    let hasSecret: Bool

    static let keyHashes = ["verify_certificate_spki", "verifyCertificateSpki"]
    static let certificateHashes = ["verify_certificate_hash", "verifyCertificateHash"]

    /// Whether Envoy verifies the chain. Without anchors, a pinned key is enough.
    var hasAnchors: Bool {
        let keys = [
            "trusted_ca", "trustedCa", "ca_certificate_provider_instance", "caCertificateProviderInstance",
            "system_root_certs", "systemRootCerts",
        ]
        return node.members?.contains { keys.contains($0.key) && !$0.value.isNull } ?? false
    }

    /// Whether Envoy accepts a certificate that it couldn't verify or that no pin matches.
    var acceptsEverything: Bool {
        let word = node["trust_chain_verification", "trustChainVerification"]?.text
        return word == "ACCEPT_UNTRUSTED" || word == "1"
    }

    /// The setting that makes Envoy ignore the pins, and what to do about it.
    var problemWithPins: String? {
        if acceptsEverything {
            return
                "trust_chain_verification is ACCEPT_UNTRUSTED, which accepts certificates that no pin matches: remove "
                + "it"
        }
        return customValidator.map { _ in
            "custom_validator_config replaces the check that pins are for: remove it"
        }
    }

    var customValidator: YAMLNode? { node["custom_validator_config", "customValidatorConfig"] }

    /// Returns the member with one of the spellings of a key.
    func member(_ keys: [String]) -> YAMLNode.Member? { node.members?.first { keys.contains($0.key) } }
}

extension YAMLNode {
    var isNull: Bool { if case .null = kind { true } else { false } }
}

/// The validation contexts of a configuration in the order of the text, wherever they are: in the static resources of a
/// bootstrap, in a single listener, cluster or secret, or alone.
struct EnvoyContexts {
    private(set) var all: [EnvoyContext] = []
    /// The positions of settings that aren't in a validation context, and of validation contexts in a wrong place,
    /// which Envoy doesn't know there.
    private(set) var strays: [SourcePosition] = []
    /// The positions of validation contexts that come from a secret alone.
    private(set) var secrets: [SourcePosition] = []

    /// The TLS context around a value.
    private struct Surroundings {
        var isForClients = false
        var name: String?
        /// Whether the value is inside a validation context, or the TLS context itself.
        var isInside = false
    }

    private static let validationKeys =
        EnvoyContext.keyHashes + EnvoyContext.certificateHashes + [
            "trusted_ca", "trustedCa", "trust_chain_verification", "trustChainVerification",
            "match_typed_subject_alt_names", "matchTypedSubjectAltNames",
        ]

    init(of root: YAMLNode) { walk(root, Surroundings()) }

    private mutating func walk(_ node: YAMLNode, _ surroundings: Surroundings) {
        for element in node.elements ?? [] { walk(element, surroundings) }
        guard let members = node.members else { return }
        var surroundings = surroundings
        // A validation context belongs into the common_tls_context of a TLS context.
        if node["@type"]?.text?.hasSuffix("TlsContext") == true { surroundings.isInside = true }
        if node["common_tls_context", "commonTlsContext"] != nil {
            let type = node["@type"]?.text ?? ""
            if type.hasSuffix("DownstreamTlsContext") { surroundings.isForClients = true }
            if type.hasSuffix("UpstreamTlsContext") { surroundings.isForClients = false }
            surroundings.name = node["sni"]?.text
        }
        let secret = node["validation_context_sds_secret_config", "validationContextSdsSecretConfig"]
        for member in members {
            switch member.key {
            case "validation_context", "validationContext", "default_validation_context", "defaultValidationContext":
                guard member.value.members != nil else { continue }
                guard !surroundings.isInside else {
                    strays.append(member.position)
                    continue
                }
                var inner = surroundings
                inner.isInside = true
                for member in member.value.members ?? [] { walk(member.value, inner) }
                let name = surroundings.name.flatMap { $0.isEmpty ? nil : $0 } ?? Self.requiredName(member.value)
                all.append(
                    EnvoyContext(
                        node: member.value, isForClients: surroundings.isForClients, host: name,
                        hasSecret: secret != nil))
            case "validation_context_sds_secret_config", "validationContextSdsSecretConfig":
                if node["default_validation_context", "defaultValidationContext"] == nil {
                    secrets.append(member.position)
                }
            case "listeners", "filter_chains", "filterChains", "default_filter_chain", "defaultFilterChain":
                var inside = surroundings
                inside.isForClients = true
                walk(member.value, inside)
            case "common_tls_context", "commonTlsContext":
                var inside = surroundings
                inside.isInside = false
                for stray in member.value.members ?? [] where Self.validationKeys.contains(stray.key) {
                    strays.append(stray.position)
                }
                walk(member.value, inside)
            default:
                if (EnvoyContext.keyHashes + EnvoyContext.certificateHashes).contains(member.key) {
                    strays.append(member.position)
                }
                walk(member.value, surroundings)
            }
        }
    }

    /// Returns the name that the certificate must have, if there is exactly one and it isn't a pattern.
    private static func requiredName(_ context: YAMLNode) -> String? {
        let matchers = context["match_typed_subject_alt_names", "matchTypedSubjectAltNames"]?.elements ?? []
        guard matchers.count == 1, let type = matchers[0]["san_type", "sanType"]?.text,
            ["DNS", "IP_ADDRESS"].contains(type)
        else { return nil }
        return matchers[0]["matcher"]?["exact"]?.text
    }
}
