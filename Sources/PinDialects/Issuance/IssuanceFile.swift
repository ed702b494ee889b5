package import CertificatePinning
package import CertificateTrust
import PinctlBasics

/// The programs whose settings say whether a certificate's key changes when it is renewed.
package enum IssuanceProgram: String, Sendable, CaseIterable {
    /// certbot's `renewal/NAME.conf`.
    case certbot
    /// The manifests of cert-manager.
    case certManager = "cert-manager"
    /// acme.sh's `NAME.conf`.
    case acmeSh = "acme.sh"
    /// lego's `.lego.yml`.
    case lego
    /// Caddy's configuration in JSON.
    case caddy = "Caddy"

    /// The files that are recognized, for messages.
    package static let files =
        "certbot's renewal/NAME.conf, a cert-manager manifest, acme.sh's NAME.conf, lego's .lego.yml or Caddy's JSON"

    /// Returns the program that a file is for, judging by its contents, or `nil`.
    package init?(recognizing bytes: [UInt8]) {
        // A text may have a million lines, so they are made once for all programs.
        var manifest = CertManagerReader.Marks()
        var (isAcmeSh, isLego) = (false, false)
        for line in IssuanceText.lines(bytes) {
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
        } else {
            return nil
        }
    }

    /// Returns why a file isn't read although it decides about renewals, and what to name instead, or `nil` for files
    /// that don't.
    ///
    /// The effect of a command or a Caddyfile depends on the program that runs it and on other files. So neither is
    /// judged, and a file that runs lego or is named as a Caddyfile must not count as one that has nothing to do with
    /// renewals.
    package static func refusal(of bytes: [UInt8], path: String) -> String? {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        if name.hasPrefix("Caddyfile") || [".caddyfile", ".caddy"].contains(where: name.lowercased().hasSuffix) {
            return "is a Caddyfile, which may import other files: name the JSON that caddy adapt --config \(name) "
                + "prints"
        }
        guard IssuanceText.lines(bytes).contains(where: { namesLego($0.text.utf8) }) else { return nil }
        return "runs lego, and commands aren't read: name the .lego.yml of lego 5, or a directory with the server's "
            + "last certificates"
    }

    /// Whether a word is `lego` or a path that ends so.
    private static func namesLego(_ line: Substring.UTF8View) -> Bool {
        line.contains(bytesOf: "lego")
            && line.split { !$0.isWordByte && !"-./".utf8.contains($0) }.contains { word in
                word.split(separator: UInt8(ascii: "/")).last.map { $0.elementsEqual("lego".utf8) } ?? false
            }
    }

    /// Reads the renewals that a file of the program configures.
    ///
    /// certbot's files name the certificate instead of its hosts, and the directory with the earlier ones. acme.sh's
    /// files are beside the certificate. `certificate` reads the one in a file, and `archive` the last
    /// ``KeyHistory/length`` certificates in a directory, oldest first. `options` is the file of ``optionsPath(of:)``,
    /// if it exists.
    package func read(
        _ bytes: [UInt8], path: String, options: (path: String, bytes: [UInt8])? = nil,
        archive: (_ directory: String) throws(UnreadableCertificate) -> [X509Certificate],
        certificate: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
    ) throws(PolicyFileError) -> [KeyRenewal] {
        let renewals = try unchecked(bytes, path: path, options: options, archive: archive, certificate: certificate)
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
        archive: (_ directory: String) throws(UnreadableCertificate) -> [X509Certificate],
        certificate: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
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
            return try reader.read(bytes, archive: archive, certificate: certificate)
        case .certManager: return try CertManagerReader(path: path).read(bytes)
        case .acmeSh: return try AcmeShReader(path: path).read(bytes, certificate: certificate)
        case .lego: return try LegoReader(path: path).read(bytes)
        case .caddy: return try CaddyConfigReader(path: path).read(bytes)
        }
    }

    /// Returns the path of the file with options that the program reads together with one of its files, if there is
    /// such a file.
    package func optionsPath(of path: String) -> String? {
        self == .certbot ? CertbotReader.optionsPath(of: path) : nil
    }
}

extension X509Certificate {
    /// The hosts that the certificate is for, with wildcards.
    package var hosts: [String] {
        subjectAlternativeNames.compactMap { entry in
            switch entry {
            case .dns, .ipAddress: entry.description
            default: nil
            }
        }
    }
}

/// The reason why a certificate that a configuration names can't be read.
package struct UnreadableCertificate: Error {
    package let reason: String
    /// The remedy, or `nil` for the usual one.
    let remedy: String?
    /// Whether there is no such file.
    let isMissing: Bool

    package init(_ reason: String, remedy: String? = nil, isMissing: Bool = false) {
        (self.reason, self.remedy, self.isMissing) = (reason, remedy, isMissing)
    }
}

/// The certificate that a program has now, from the files in which it keeps it.
struct IssuedCertificate {
    /// The certificate of the first file that can be read.
    private(set) var certificate: X509Certificate?
    /// The reason why a file doesn't show it.
    private(set) var problem: String?
    private var first = ""

    /// Reads a file. `isRequired` says whether it is a problem if there is no such file.
    mutating func add(
        _ file: String, isRequired: Bool,
        _ read: (_ file: String) throws(UnreadableCertificate) -> X509Certificate
    ) {
        do throws(UnreadableCertificate) {
            let found = try read(file)
            if let certificate, certificate != found {
                throw UnreadableCertificate("\(file) has another certificate than \(first)")
            }
            if certificate == nil { (certificate, first) = (found, file) }
        } catch {
            if isRequired || !error.isMissing { problem = problem ?? error.reason }
        }
    }
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
    /// Returns whether the bytes of a text occur. `contains` of a string makes a table for each call, which is too slow
    /// for each of a million lines.
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
