import CertificatePinning
import PinctlBasics

/// The options of certbot's `cli.ini` that decide about keys.
///
/// An option there counts like one on the command line, and so replaces what `renewal/NAME.conf` says (certbot's user
/// guide, "Configuration file"). A flag is set by `true`, by `yes`, by `1` or without a value, as ConfigArgParse reads
/// them.
struct CertbotOptions {
    /// The option that decides, or `nil` if there is none.
    private(set) var deciding: (text: String, keepsKey: Bool, location: PolicyLocation)?

    init(_ bytes: [UInt8], path: String) throws(PolicyFileError) {
        var flags: [String: PolicyLocation] = [:]
        for line in IssuanceText.lines(bytes) {
            let text = line.text.trimmed
            guard let first = text.first, !"#;[".contains(first), !text.hasPrefix("---") else { continue }
            let body = text.drop { $0 == "-" }
            let key = String(body.prefix { !":= \t;#".contains($0) })
            guard Self.keys.contains(key) else { continue }
            let place = PolicyLocation(path: path, line: line.number, column: 1)
            if try isSet(body.dropFirst(key.count), key, at: place) { flags[key] = place }
        }
        // A new key replaces the one that is otherwise kept.
        for (key, keepsKey) in [("new-key", false), ("no-reuse-key", false), ("reuse-key", true)] {
            guard let location = flags[key] else { continue }
            deciding = (key, keepsKey, location)
            return
        }
    }

    private static let keys: Set = ["reuse-key", "no-reuse-key", "new-key"]

    private func isSet(_ rest: Substring, _ key: String, at place: PolicyLocation) throws(PolicyFileError) -> Bool {
        var value = rest.prefix { !"#;".contains($0) }.trimmed
        if value.hasPrefix("=") || value.hasPrefix(":") { value = value.dropFirst().trimmed }
        value.removeAll { $0 == "'" || $0 == "\"" }
        switch value.lowercased() {
        case "", "true", "yes", "1": return true
        case "false", "no", "0": return false
        default:
            throw IssuanceText.problem(
                "\(key) is \(quoted(value)), which certbot refuses: write true or false", at: place)
        }
    }
}
