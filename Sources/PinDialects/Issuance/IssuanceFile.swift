package import CertificatePinning
package import CertificateTrust
import PinctlBasics

/// The programs whose configuration says whether a certificate's key changes when it is renewed.
package enum IssuanceProgram: String, Sendable, CaseIterable {
    /// certbot's `renewal/NAME.conf`.
    case certbot
    /// The manifests of cert-manager.
    case certManager = "cert-manager"
    /// acme.sh's `NAME.conf`.
    case acmeSh = "acme.sh"
    /// lego's `.lego.yml`, or a script, unit or crontab with its command line.
    case lego
    /// A Caddyfile, or Caddy's configuration in JSON.
    case caddy = "Caddy"

    /// The files that are recognized, for messages.
    package static let files =
        "certbot's renewal/NAME.conf, a cert-manager manifest, acme.sh's NAME.conf, lego's .lego.yml or command line, "
        + "a file named Caddyfile, *.caddyfile or *.caddy, or Caddy's JSON"

    /// Returns the program that a file is for, judging by its contents, or `nil`. A Caddyfile is recognized by its name.
    package init?(recognizing bytes: [UInt8], path: String) {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let lines = IssuanceText.lines(bytes)
        if name.hasPrefix("Caddyfile") || [".caddyfile", ".caddy"].contains(where: name.lowercased().hasSuffix) {
            self = .caddy
            return
        }
        // A text may have a million lines, so they are made once for all programs.
        var manifest = CertManagerReader.Marks()
        var (isAcmeSh, isLego) = (false, false)
        for line in lines {
            let text = line.text
            if text.utf8.contains(bytesOf: "renewalparams"), CertbotReader.section(text) == "[renewalparams]" {
                self = .certbot
                return
            }
            isAcmeSh = isAcmeSh || text.hasPrefix("Le_Domain=")
            isLego = isLego || text.hasPrefix("certificates:")
            manifest.note(text)
        }
        if isAcmeSh {
            self = .acmeSh
        } else if manifest.isComplete {
            self = .certManager
        } else if CaddyConfigReader.recognizes(bytes) {
            self = .caddy
        } else if isLego {
            self = .lego
        } else if LegoCommandReader.recognizes(lines) {
            self = .lego
        } else {
            return nil
        }
    }

    /// Reads the renewals that a file of the program configures.
    ///
    /// certbot's files name the certificate instead of its hosts: `certificate` reads the one in a file.
    /// `options` is the file of ``optionsPath(of:)``, if it exists.
    package func read(
        _ bytes: [UInt8], path: String, options: (path: String, bytes: [UInt8])? = nil,
        certificate: (_ file: String) throws(UnreadableCertificate) -> IssuedCertificate
    ) throws(PolicyFileError) -> [KeyRenewal] {
        let renewals = try unchecked(bytes, path: path, options: options, certificate: certificate)
        for renewal in renewals {
            guard let host = renewal.hosts.map(\.host).first(where: { !$0.utf8.allSatisfy { $0 < 0x80 } }) else {
                continue
            }
            throw IssuanceText.problem(
                "the hostname \(quoted(host)) can't be compared: write its A-label, which starts with xn--",
                at: renewal.location)
        }
        return renewals
    }

    private func unchecked(
        _ bytes: [UInt8], path: String, options: (path: String, bytes: [UInt8])?,
        certificate: (_ file: String) throws(UnreadableCertificate) -> IssuedCertificate
    ) throws(PolicyFileError) -> [KeyRenewal] {
        // Also refuses what isn't UTF-8, and what is too large.
        _ = try TextCursor(checking: bytes, path: path)
        switch self {
        case .certbot:
            var reader = CertbotReader(path: path)
            if let options {
                _ = try TextCursor(checking: options.bytes, path: options.path)
                reader.options = try CertbotOptions(options.bytes, path: options.path)
            }
            return try reader.read(bytes, certificate: certificate)
        case .certManager: return try CertManagerReader(path: path).read(bytes)
        case .acmeSh: return try AcmeShReader(path: path).read(bytes)
        case .lego:
            let isConfiguration = IssuanceText.lines(bytes).contains { $0.text.hasPrefix("certificates:") }
            return isConfiguration
                ? try LegoReader(path: path).read(bytes) : try LegoCommandReader(path: path).read(bytes)
        case .caddy:
            return CaddyConfigReader.recognizes(bytes)
                ? try CaddyConfigReader(path: path).read(bytes) : try CaddyReader(path: path).read(bytes)
        }
    }

    /// Returns the path of the file with options that the program reads together with one of its files, if there is such
    /// a file.
    package func optionsPath(of path: String) -> String? {
        self == .certbot ? CertbotReader.optionsPath(of: path) : nil
    }
}

/// A certificate that a configuration names.
package struct IssuedCertificate: Sendable {
    /// The hosts, with wildcards.
    package let names: [String]
    /// The kind of the certificate's key.
    package let key: PublicKeyKind

    package init(names: [String], key: PublicKeyKind) {
        self.names = names
        self.key = key
    }
}

/// The reason why a certificate that a configuration names can't be read.
package struct UnreadableCertificate: Error {
    package let reason: String

    package init(_ reason: String) { self.reason = reason }
}

/// The lines of a text, and errors at them.
enum IssuanceText {
    struct Line {
        /// The number of the line, from 1.
        let number: Int
        let text: Substring
    }

    /// The lines of a text, which end with LF or CR LF. They are made one by one, so their number costs no memory.
    struct Lines: Sequence {
        let bytes: [UInt8]

        func makeIterator() -> Iterator { Iterator(bytes: bytes) }

        struct Iterator: IteratorProtocol {
            let bytes: [UInt8]
            private var start = 0
            private var number = 0

            init(bytes: [UInt8]) { self.bytes = bytes }

            mutating func next() -> Line? {
                guard start <= bytes.count else { return nil }
                let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
                let line = bytes[start..<end]
                let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
                (start, number) = (end + 1, number + 1)
                return Line(number: number, text: String(decoding: text, as: UTF8.self)[...])
            }
        }
    }

    static func lines(_ bytes: [UInt8]) -> Lines { Lines(bytes: bytes) }

    /// The maximum number of names in a certificate, and of certificates in a file: far above what CAs issue.
    static let limit = 1000

    /// Splits names at commas. Throws if there are more than ``limit``.
    static func names(_ text: String, at location: PolicyLocation) throws(PolicyFileError) -> [String] {
        guard text.utf8.count(where: { $0 == UInt8(ascii: ",") }) < limit else {
            throw problem("more than \(limit) names: split the certificate", at: location)
        }
        return text.split(separator: ",").map(String.init)
    }

    static func problem(_ message: String, at location: PolicyLocation) -> PolicyFileError {
        PolicyFileError(problems: [PolicyProblem(location: location, message: message)])
    }
}

extension Substring {
    /// The text without blanks around it.
    var trimmed: String {
        var text = self
        while text.first == " " || text.first == "\t" { text.removeFirst() }
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}

extension Collection<UInt8> {
    /// Returns whether the bytes of a text occur. `contains` of a string makes a table for each call, which is too slow for
    /// each of a million lines.
    func contains(bytesOf text: String) -> Bool {
        guard let first = text.utf8.first else { return true }
        var rest = self[...]
        while let start = rest.firstIndex(of: first) {
            rest = rest[start...]
            if rest.starts(with: text.utf8) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}
