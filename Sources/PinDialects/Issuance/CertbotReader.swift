import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A reader of certbot's renewal configuration, one file for each certificate.
///
/// The files are in ConfigObj's format. certbot writes `reuse_key = True` into `[renewalparams]` when a certificate is
/// requested or renewed with `--reuse-key`, and otherwise creates a key for each certificate (certbot's user guide,
/// "Modifying the Renewal Configuration of Existing Certificates" and the options `--reuse-key` and `--new-key`). The
/// hosts are those of the certificate in `cert`. The file itself has only those of the webroot plugin. A file whose
/// hosts aren't known is refused, because the rules for them would look like rules that no file is about.
///
/// certbot keeps the last certificates in `archive_dir`, as `cert1.pem` and so on. They show a key that changes
/// although the settings keep it, such as by an option of the command that renews.
struct CertbotReader {
    let path: String
    /// The options of the `cli.ini` that certbot reads too, if there is one.
    var options: CertbotOptions?

    /// Returns the path of the `cli.ini` beside the directory `renewal` that a file is in, or `nil` for other
    /// directories.
    static func optionsPath(of path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[parts.count - 2] == "renewal" else { return nil }
        return (parts.dropLast(2) + ["cli.ini"]).joined(separator: "/")
    }

    /// The keys that are read, after their section.
    private static let keys: Set = [
        "cert", "fullchain", "archive_dir", "[renewalparams]reuse_key", "[renewalparams]key_type",
        "[renewalparams]rsa_key_size", "[renewalparams]elliptic_curve",
    ]

    private struct Entry {
        let value: String
        let line: Int
    }

    func read(
        _ bytes: [UInt8], archive: (_ directory: String) throws(UnreadableCertificate) -> [X509Certificate],
        certificate: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
    ) throws(PolicyFileError) -> [KeyRenewal] {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let lineage = name.hasSuffix(".conf") ? String(name.dropLast(5)) : name
        var (section, header) = ("", 1)
        var entries: [String: Entry] = [:]
        var hosts: [String] = []
        for line in IssuanceText.lines(bytes) {
            let text = line.text.trimmed
            guard !text.isEmpty, !text.hasPrefix("#") else { continue }
            if let name = Self.section(line.text) {
                section = name
                if section == "[renewalparams]" { header = line.number }
                continue
            }
            let entry = try entry(text, line.number)
            let place = PolicyLocation(path: path, line: line.number, column: 1)
            if section == "[[webroot_map]]" {
                hosts.append(entry.key)
                guard hosts.count <= IssuanceText.limit else {
                    throw IssuanceText.problem(
                        "more than \(IssuanceText.limit) names: split the certificate", at: place)
                }
            } else if Self.keys.contains(section + entry.key) {
                guard entries.updateValue(entry.entry, forKey: section + entry.key) == nil else {
                    throw IssuanceText.problem(
                        "\(quoted(entry.key)) appears twice, and certbot refuses the file: remove one", at: place)
                }
            }
        }
        let named = [entries["cert"], entries["fullchain"]].compactMap(\.self)
        var found = IssuedCertificate()
        for entry in named {
            found.add(entry.value, isRequired: true) { file throws(UnreadableCertificate) in
                try self.certificate(file, certificate)
            }
        }
        let issued = found.certificate
        let unread = named.isEmpty ? "the file names no certificate" : found.problem
        if let issued {
            hosts = issued.hosts
        } else {
            guard !hosts.isEmpty else {
                throw IssuanceText.problem(
                    "the hosts of this certificate aren't known, because \(unread ?? ""): run pinctl as a user who can "
                        + "read it, and where it is",
                    at: PolicyLocation(path: path, line: named.first?.line ?? 1, column: 1))
            }
            hosts.append(lineage)
        }
        let parameters = PolicyLocation(path: path, line: header, column: 1)
        let remedy =
            "run certbot renew --cert-name \(lineage) --reuse-key --force-renewal with the pinned key in place"
        let renewal: KeyRenewal
        if let option = options?.deciding {
            renewal = KeyRenewal(
                names: hosts, option.keepsKey ? .keepsKey : .changesKey, now: issued, unread: unread,
                at: option.location, program: "certbot", setting: option.text,
                remedy: "delete \(option.text), and set reuse-key = true")
        } else {
            let setting = entries["[renewalparams]reuse_key"]
            let isReused = try isTrue(setting)
            renewal = KeyRenewal(
                names: hosts, isReused ? .keepsKey : .changesKey, now: issued, unread: unread,
                at: setting.map { PolicyLocation(path: path, line: $0.line, column: 1) } ?? parameters,
                program: "certbot",
                setting: setting.map { "reuse_key = \($0.value)" } ?? "[renewalparams] has no reuse_key",
                remedy: "\(remedy), which sets reuse_key = True")
        }
        var settings: [String: (text: String, location: PolicyLocation)] = [:]
        for (key, entry) in entries where key.hasPrefix("[renewalparams]") {
            settings[String(key.dropFirst("[renewalparams]".count))] = (
                entry.value.lowercased(), PolicyLocation(path: path, line: entry.line, column: 1)
            )
        }
        guard renewal.effect == .keepsKey else { return [renewal] }
        if let key = issued?.subjectPublicKeyInfo.keyKind,
            let conflict = CertbotKey(key).conflict(options: options, settings: settings, section: parameters)
        {
            return [
                KeyRenewal(
                    names: hosts, .stops, now: issued, unread: unread, at: conflict.location, program: "certbot",
                    setting: conflict.setting, remedy: conflict.remedy)
            ]
        }
        guard let change = try newKeys(in: entries["archive_dir"], of: lineage, archive) else { return [renewal] }
        return [
            KeyRenewal(
                names: hosts, .changesKey, now: issued, unread: unread, at: change.location, program: "certbot",
                setting: "\(change.summary), against \(renewal.setting)",
                remedy: "remove --new-key and --no-reuse-key from the command that renews, and \(remedy)")
        ]
    }

    /// Returns what the archive shows if it contradicts settings that keep the key.
    private func newKeys(
        in entry: Entry?, of lineage: String,
        _ read: (_ directory: String) throws(UnreadableCertificate) -> [X509Certificate]
    ) throws(PolicyFileError) -> (summary: String, location: PolicyLocation)? {
        let named = entry?.value ?? "/archive/\(lineage)"
        do throws(UnreadableCertificate) {
            for directory in [entry?.value, copy(of: named, "archive")].compactMap(\.self) {
                let found = try read(directory)
                guard !found.isEmpty else { continue }
                let history = KeyHistory(found.map(\.spkiFingerprint))
                // mutant certbot-archive: false for `history.contradictsSettings` by PinDialectsTests.IssuanceTests
                //   PinctlTests.IssuanceTests
                return history.contradictsSettings ? (history.summary, PolicyLocation(path: directory)) : nil
            }
            return nil
        } catch {
            throw IssuanceText.problem(
                "the earlier certificates aren't known, because \(error.reason): "
                    + (error.remedy ?? "remove that file, or restore it"),
                at: PolicyLocation(path: path, line: entry?.line ?? 1, column: 1))
        }
    }

    /// Reads the certificate that the file names. If the file is in a copy of certbot's directory, the certificate may
    /// be in that copy.
    private func certificate(
        _ file: String, _ read: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
    ) throws(UnreadableCertificate) -> X509Certificate {
        do throws(UnreadableCertificate) {
            return try read(file)
        } catch {
            guard let copy = copy(of: file, "live"), let found = try? read(copy) else { throw error }
            return found
        }
    }

    /// Returns the path of a file in the copy of certbot's directory that this file may be in. `directory` is the part
    /// of certbot's directory that has the file.
    private func copy(of file: String, _ directory: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 2, parts[parts.count - 2] == "renewal", let start = file.firstRange(of: "/\(directory)/")
        else { return nil }
        return parts.dropLast(2).map { $0 + "/" }.joined() + "\(directory)/" + file[start.upperBound...]
    }

    /// Returns the header of a section without blanks, quotes and comments, or `nil` for other lines.
    static func section(_ line: Substring) -> String? {
        guard line.first(where: { $0 != " " && $0 != "\t" }) == "[" else { return nil }
        return line.prefix { $0 != "#" }.filter { !" \t'\"".contains($0) }
    }

    private func entry(_ text: String, _ line: Int) throws(PolicyFileError) -> (key: String, entry: Entry) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw IssuanceText.problem(
                "expected a key and a value: write key = value", at: PolicyLocation(path: path, line: line, column: 1))
        }
        let raw = parts[1].trimmed
        guard !raw.hasPrefix("'''"), !raw.hasPrefix("\"\"\"") else {
            throw IssuanceText.problem(
                "a value over several lines isn't supported: write it on one line",
                at: PolicyLocation(path: path, line: line, column: 1))
        }
        return (parts[0].trimmed, Entry(value: Self.unquoted(raw), line: line))
    }

    /// Returns a value without its quotes, or without the comment after it.
    private static func unquoted(_ raw: String) -> String {
        if let quote = raw.first, quote == "'" || quote == "\"",
            let end = raw.dropFirst().firstIndex(of: quote)
        {
            return String(raw[raw.index(after: raw.startIndex)..<end])
        }
        return raw.prefix { $0 != "#" }.trimmed
    }

    private func isTrue(_ entry: Entry?) throws(PolicyFileError) -> Bool {
        guard let entry else { return false }
        switch entry.value.lowercased() {
        case "true": return true
        case "false": return false
        default:
            throw IssuanceText.problem(
                "reuse_key is \(quoted(entry.value)), which certbot refuses: write True or False",
                at: PolicyLocation(path: path, line: entry.line, column: 1))
        }
    }
}
