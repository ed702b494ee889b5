import CertificatePinning
import PinctlBasics

/// A reader of lego's configuration file, `.lego.yml`, which lego 5 and later use.
///
/// A certificate's `renew.reuseKey` is `false` by default (lego's documentation, "Configuration file"). A certificate
/// with a `csr` has the request's key, and names no hosts here.
struct LegoReader {
    let path: String

    func read(_ bytes: [UInt8]) throws(PolicyFileError) -> [KeyRenewal] {
        let root = try YAMLReader.read(bytes, path: path)
        var renewals: [KeyRenewal] = []
        for member in root["certificates"]?.members ?? [] where member.value["csr"] == nil {
            let names = (member.value["domains"]?.elements ?? []).compactMap(\.text)
            let renew = member.value["renew"]
            let setting = renew?["reuseKey"]
            if let setting, !["true", "false"].contains(setting.text?.lowercased()) {
                throw IssuanceText.problem(
                    "reuseKey is \(setting.text.map(quoted) ?? setting.kindName): write true or false",
                    at: PolicyLocation(path: path, setting.position))
            }
            renewals.append(
                KeyRenewal(
                    names: names, setting?.text?.lowercased() == "true" ? .keepsKey : .changesKey,
                    at: PolicyLocation(path: path, setting?.position ?? renew?.position ?? member.position),
                    program: "lego",
                    setting: setting?.text.map { "reuseKey: \($0)" } ?? "\(quoted(member.key)) has no renew.reuseKey",
                    remedy: "set reuseKey: true under renew"))
        }
        return renewals
    }
}
