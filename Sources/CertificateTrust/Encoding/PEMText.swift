import PinctlBasics

/// Returns a DER object as PEM (RFC 7468), in lines of 64 characters with a line end after the last.
package func pemText(_ label: String, _ der: [UInt8]) -> String {
    var rest = Base64.encode(der.span)[...]
    var lines = ["-----BEGIN \(label)-----"]
    while !rest.isEmpty {
        lines.append(String(rest.prefix(64)))
        rest = rest.dropFirst(64)
    }
    return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
}
