import CertificatePinning
import CertificateTrust

/// The key of a certificate in the words of certbot's options for new keys.
///
/// While certbot reuses the key, it refuses to renew a certificate whose key isn't the one that these options ask for
/// (`_avoid_reuse_key_conflicts`). An option that isn't set has its default. Each renewal then fails until the
/// certificate expires.
struct CertbotKey {
    static let options: Set = ["key-type", "rsa-key-size", "elliptic-curve"]

    /// The key's own values, for the options that certbot compares, in the order in which it does.
    private let values: [(option: String, value: String, standard: String?)]

    /// Creates the key. Keys other than those of the two types count as ECDSA keys without a curve, as in certbot.
    init(_ kind: PublicKeyKind) {
        // Each certbot since version 1.25 writes the type into the certificate's file. Without it, nothing is known.
        switch kind {
        case .rsa(let bits), .rsaPSS(let bits):
            values = [("key-type", "rsa", nil), ("rsa-key-size", "\(bits)", "2048")]
        case .ellipticCurve(let curve):
            let names = ["P-256": "secp256r1", "P-384": "secp384r1", "P-521": "secp521r1"]
            values =
                [("key-type", "ecdsa", nil)] + (names[curve].map { [("elliptic-curve", $0, "secp256r1")] } ?? [])
        default:
            values = [("key-type", "ecdsa", nil)]
        }
    }

    /// A setting that the key doesn't have.
    struct Conflict {
        let location: PolicyLocation
        let setting: String
        let remedy: String
    }

    /// Returns the first setting that keeps certbot from reusing the key. Options replace the `settings` of the
    /// certificate's own file, whose section of parameters is at `section`.
    func conflict(
        options: CertbotOptions?, settings: [String: (text: String, location: PolicyLocation)], section: PolicyLocation
    ) -> Conflict? {
        let hasType = options?.values["key-type"] != nil || settings["key_type"] != nil
        for (option, value, standard) in values {
            let key = option.replacing("-", with: "_")
            if let found = options?.values[option] {
                // mutant certbot-conflict: false by PinDialectsTests.IssuanceTests PinctlTests.IssuanceTests
                guard found.text != value else { continue }
                return Conflict(
                    location: found.location,
                    setting: "\(option) = \(found.text), but the certificate has \(value), and its key is reused",
                    remedy: "delete \(option), or write \(option) = \(value)")
            }
            let found = settings[key]
            guard let text = found?.text ?? (hasType ? standard : nil), text != value else { continue }
            let setting = found == nil ? "no \(key), which means \(text)" : "\(key) = \(text)"
            return Conflict(
                location: found?.location ?? section,
                setting: "\(setting), but the certificate has \(value), and its key is reused",
                remedy: "write \(key) = \(value)")
        }
        return nil
    }
}
