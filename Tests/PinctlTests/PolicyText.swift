/// A policy file with a rule for each host; pins are JSON already.
func policyText(_ rules: [(host: String, pins: [String])], _ more: String = "") -> String {
    let domains = rules.map { #"{ "host": "\#($0.host)", "pins": [\#($0.pins.joined(separator: ", "))] }"# }
    return #"{ "version": 1, \#(more) "domains": [\#(domains.joined(separator: ",\n"))] }"#
}

/// A network security config for `api.test`.
func androidText(_ pins: [String], expiration: String? = nil) -> String {
    """
    <network-security-config>
      <domain-config>
        <domain>api.test</domain>
        <pin-set\(expiration.map { " expiration=\"\($0)\"" } ?? "")>
          \(pins.map { "<pin digest=\"SHA-256\">\($0.dropFirst("sha256/".count))</pin>" }.joined(separator: "\n      "))
        </pin-set>
      </domain-config>
    </network-security-config>
    """
}
