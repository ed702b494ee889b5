import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The output of certificates by `show` as PEM, base64 or files instead of text.
struct CertificateExport {
    private enum Form {
        case pem
        case base64
    }

    private let form: Form?
    private let directory: String?
    private let isDER: Bool

    /// Creates the export from `--pem`, `--base64`, `--save` and `--der`.
    init(_ arguments: Arguments) throws(UsageError) {
        guard !arguments.has(.pem) || !arguments.has(.base64) else {
            throw .unusable(["--pem and --base64 cannot be used together: give one of them"])
        }
        form = arguments.has(.pem) ? .pem : arguments.has(.base64) ? .base64 : nil
        directory = arguments[.save]
        isDER = arguments.has(.der)
        guard !isDER || directory != nil else { throw .unusable(["--der needs --save: give --save DIR too"]) }
        if let directory, FileKind(directory) != .directory {
            throw .invalidValue(.save, reason: "\(directory): isn't a directory: create it first")
        }
    }

    /// Whether standard output contains only the certificates.
    var replacesText: Bool { form != nil }

    /// Prints certificates if the arguments ask for it.
    func print(_ certificates: [X509Certificate], _ members: [(String, JSON)], _ console: inout Console) {
        let text: String
        let name: String
        switch form {
        case .pem?:
            text = certificates.map { pemText("CERTIFICATE", $0.derBytes) }.joined()
            name = "pem"
        case .base64?:
            text = certificates.map { certificate in
                let der = certificate.derBytes
                return Base64.encode(der.span) + "\n"
            }.joined()
            name = "base64"
        case nil: return
        }
        guard !certificates.isEmpty else { return }
        console.file(text, .object(members + [(name, .string(text))]))
    }

    /// Writes certificates to the directory, if there is one.
    ///
    /// Existing files aren't overwritten. A file with the same content isn't a problem, so a run can be repeated.
    func save(_ certificates: [X509Certificate], as base: String, _ console: inout Console) {
        guard let directory else { return }
        for (index, certificate) in certificates.enumerated() {
            let path = "\(directory)/\(Self.fileName(base))_\(index).\(isDER ? "der" : "pem")"
            let bytes = isDER ? certificate.derBytes : Array(pemText("CERTIFICATE", certificate.derBytes).utf8)
            do throws(NewFileError) {
                try writeNewFile(path, bytes)
                console.note("wrote \(path)")
            } catch {
                let there = try? InputFile.contents(ofFile: path, limit: 2 << 20)
                guard there != bytes else { continue }
                console.problem("\(path): \(error)", .badInput, members: [("file", .string(path))])
            }
        }
    }

    /// Returns a name of letters, digits, dots, hyphens and underscores that isn't hidden and can't leave the
    /// directory.
    static func fileName(_ text: String) -> String {
        let name = String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(150).map { scalar in
                    scalar.isASCII
                        && (scalar.properties.isAlphabetic || "0123456789.-_".unicodeScalars.contains(scalar))
                        ? scalar : "_"
                }))
        return name.isEmpty || name.hasPrefix(".") || name.hasPrefix("-") ? "_" + name : name
    }
}
