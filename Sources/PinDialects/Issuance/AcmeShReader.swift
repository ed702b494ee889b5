import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader of acme.sh's configuration of a certificate, which is a part of a shell script.
///
/// acme.sh keeps the key unless the file has `Le_ForceNewDomainKey='1'`, which `--always-force-new-domain-key` saves
/// there (acme.sh's wiki, "Options and Params"). It keeps the certificate beside the file, as `NAME.cer` and
/// `fullchain.cer`. A file that is copied to another place may be without them, unless it says that the certificate was
/// issued (`Le_CertCreateTime`). `--install-cert` saves the paths of copies (`Le_RealCertPath`,
/// `Le_RealFullChainPath`).
struct AcmeShReader {
    let path: String

    func read(
        _ bytes: [UInt8], certificate: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
    ) throws(PolicyFileError) -> [KeyRenewal] {
        var values: [String: (text: String, line: Int)] = [:]
        var installed: [String: String] = [:]
        for line in IssuanceText.lines(bytes) {
            // As for acme.sh, which runs the file, the last line with a name counts.
            var text = line.text.trimmed[...]
            if text.hasPrefix("export ") { text = text.dropFirst("export ".count).trimmed[...] }
            for key in ["Le_Domain", "Le_Alt", "Le_ForceNewDomainKey", "Le_CertCreateTime"]
            where text.hasPrefix(key + "=") {
                values[key] = (try value(text.dropFirst(key.count + 1), line.number), line.number)
            }
            for key in ["Le_RealCertPath", "Le_RealFullChainPath"] where text.hasPrefix(key + "=") {
                installed[key] = text.dropFirst(key.count + 1).trimmed.filter { $0 != "'" && $0 != "\"" }
            }
        }
        let domains = ["Le_Domain", "Le_Alt"].compactMap { values[$0] }
        var names: [String] = []
        for domain in domains {
            names += try IssuanceText.names(
                domain.text, at: PolicyLocation(path: path, line: domain.line, column: 1))
        }
        names.removeAll { $0 == "no" }
        let force = values["Le_ForceNewDomainKey"]
        let line = force?.line ?? domains.first?.line ?? 1
        let found = issued(
            isRecorded: values["Le_CertCreateTime"].map { !$0.text.isEmpty } ?? false,
            installed: installed.values.filter { !$0.isEmpty }.sorted(), certificate)
        return [
            KeyRenewal(
                names: names, force?.text == "1" ? .changesKey : .keepsKey, now: found.certificate,
                unread: found.problem,
                at: PolicyLocation(path: path, line: line, column: 1), program: "acme.sh",
                setting: force.map { "Le_ForceNewDomainKey='\($0.text)'" } ?? "no Le_ForceNewDomainKey",
                remedy: "delete that line while the pinned key is still in place")
        ]
    }

    /// Reads the certificate beside the file, and those that the file names. `isRecorded` says whether the file says
    /// that it was issued.
    private func issued(
        isRecorded: Bool, installed: [String],
        _ read: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
    ) -> IssuedCertificate {
        let own = (path.hasSuffix(".conf") ? String(path.dropLast(".conf".count)) : path) + ".cer"
        let directory = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        var found = IssuedCertificate()
        for file in [own, directory + "fullchain.cer"] { found.add(file, isRequired: false, read) }
        for file in installed { found.add(file, isRequired: true, read) }
        if isRecorded, found.certificate == nil { found.add(own, isRequired: true, read) }
        return found
    }

    private func value(_ text: Substring, _ line: Int) throws(PolicyFileError) -> String {
        let text = text.trimmed
        let inner: Substring
        if text.count >= 2, let quote = text.first, quote == "'" || quote == "\"", text.last == quote {
            inner = text.dropFirst().dropLast()
        } else {
            inner = text[...]
        }
        guard !inner.contains(where: { "'\"$`\\ ;#".contains($0) }) else {
            throw IssuanceText.problem(
                "unsupported value: write it in single quotes", at: PolicyLocation(path: path, line: line, column: 1))
        }
        return String(inner)
    }
}
