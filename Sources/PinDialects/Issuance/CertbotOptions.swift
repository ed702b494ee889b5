import CertificatePinning
import PinctlBasics

/// The options of certbot's `cli.ini` that concern keys.
///
/// An option there counts like one on the command line, and so replaces what `renewal/NAME.conf` says (certbot's user
/// guide, "Configuration file"). A flag is set by `true`, by `yes`, by `1` or without a value, as ConfigArgParse reads
/// them.
struct CertbotOptions {
    /// The option that decides, or `nil` if there is none.
    private(set) var deciding: (text: String, keepsKey: Bool, location: PolicyLocation)?
    /// The values of the options about new keys, `key-type`, `rsa-key-size` and `elliptic-curve`.
    private(set) var values: [String: (text: String, location: PolicyLocation)] = [:]

    init(_ bytes: [UInt8], path: String) throws(PolicyFileError) {
        var flags: [String: PolicyLocation] = [:]
        for line in IssuanceText.lines(bytes) {
            let text = line.text.trimmed
            guard let first = text.first, !"#;[".contains(first), !text.hasPrefix("---") else { continue }
            let body = text.drop { $0 == "-" }
            let key = String(body.prefix { !":= \t;#".contains($0) })
            let place = PolicyLocation(path: path, line: line.number, column: 1)
            let dashed = key.replacing("_", with: "-")
            guard Self.keys.contains(dashed) || CertbotKey.options.contains(dashed) else { continue }
            guard key == dashed else {
                throw IssuanceText.problem(
                    "certbot refuses to run with \(quoted(key)) in this file: write \(dashed)", at: place)
            }
            if CertbotKey.options.contains(key) {
                values[key] = (Self.value(body.dropFirst(key.count)).lowercased(), place)
            } else if try isSet(body.dropFirst(key.count), key, at: place) {
                flags[key] = place
            }
        }
        // A new key replaces the one that is otherwise kept.
        for (key, keepsKey) in [("new-key", false), ("no-reuse-key", false), ("reuse-key", true)] {
            guard let location = flags[key] else { continue }
            deciding = (key, keepsKey, location)
            return
        }
    }

    private static let keys: Set = ["reuse-key", "no-reuse-key", "new-key"]

    /// Returns a value without its separator, comment and quotes.
    private static func value(_ rest: Substring) -> String {
        var value = rest.prefix { !"#;".contains($0) }.trimmed
        if value.hasPrefix("=") || value.hasPrefix(":") { value = value.dropFirst().trimmed }
        value.removeAll { $0 == "'" || $0 == "\"" }
        return value
    }

    private func isSet(_ rest: Substring, _ key: String, at place: PolicyLocation) throws(PolicyFileError) -> Bool {
        let value = Self.value(rest)
        switch value.lowercased() {
        case "", "true", "yes", "1": return true
        case "false", "no", "0": return false
        default:
            throw IssuanceText.problem(
                "\(key) is \(quoted(value)), which certbot refuses: write true or false", at: place)
        }
    }
}
