import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

extension CommandDefinition {
    static let hash = CommandDefinition(
        name: "hash", summary: "print the pins of certificates, requests and keys", operands: "FILE…",
        operandCount: 1...Int.max, flags: [.long, .spelling],
        notes: [
            "FILE holds certificates, certificate requests, public keys or unencrypted private",
            "keys, any number as PEM or one as DER; - is standard input. The pin of one key is",
            "printed alone, several as a list. What cannot be read is named on standard error,",
            "and the rest is printed.",
        ],
        examples: [
            ("the pin of a certificate", "pinctl hash cert.pem"),
            (
                "the pins of a chain and of a backup key's request, with what they are of",
                "pinctl hash -l chain.pem backup.csr"
            ),
            ("a value for curl --pinnedpubkey", "pinctl hash --as curl cert.pem"),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            var listing = try PinListing(arguments, now: environment.now())
            for operand in arguments.operands { listing.hash(operand, &console) }
        })
}

/// The pins of some files, alone or as a list.
private struct PinListing {
    private let now: Date
    private let spelling: PinSpelling
    private let isLabelled: Bool
    // A column is as wide as what it has shown so far: nobody waits for the end of the input.
    private var nameWidth: Int
    private var keyWidth = 8
    private var subjectWidth = 0

    init(_ arguments: Arguments, now: Date) throws(UsageError) {
        self.now = now
        spelling = try arguments.spelling()
        isLabelled = arguments.has(.long) || arguments.operands.count > 1
        nameWidth = min(32, arguments.operands.map(\.count).max() ?? 0)
    }

    mutating func hash(_ operand: String, _ console: inout Console) {
        // An object is alone in its file when no other follows: the first is held until that is known.
        var held: KeyFile.Item?
        var isAlone = true
        do throws(KeyFile.Failure) {
            try KeyFile.read(Self.open(operand)) { item in
                if let held {
                    isAlone = false
                    show(held, of: operand, isAlone: false, &console)
                }
                held = item
            }
            if let held {
                show(held, of: operand, isAlone: isAlone, &console)
            } else {
                Self.complain(operand, "", "holds parameters and no key: give the key they belong to", &console)
            }
        } catch {
            if let held { show(held, of: operand, isAlone: false, &console) }
            Self.complain(operand, "", error.description, &console)
        }
    }

    private static func open(_ operand: String) throws(KeyFile.Failure) -> InputFile {
        guard operand != "-" else { return .standardInput() }
        do throws(InputFileError) { return try InputFile(path: operand) } catch { throw .file(error) }
    }

    private static func complain(
        _ operand: String, _ place: String, _ reason: String, _ console: inout Console,
        _ members: [(String, JSON)] = []
    ) {
        console.problem(
            "\(operand == "-" ? "standard input" : operand)\(place): \(reason)", .badInput,
            members: [("input", .string(operand))] + members)
    }

    private mutating func show(_ item: KeyFile.Item, of operand: String, isAlone: Bool, _ console: inout Console) {
        let index = isAlone ? "" : "[\(item.index)]"
        switch item.content {
        case .failure(let error):
            let place = item.line.map { isAlone ? "" : "\(index), line \($0)" } ?? ""
            Self.complain(operand, place, error.description, &console, [("index", .integer(item.index))])
        case .success(let key) where isAlone && !isLabelled:
            console.result([pin(key, key.parsedCertificate)], json(key, item, of: operand))
        case .success(let key):
            console.result([line(key, operand + index)], json(key, item, of: operand))
        }
    }

    private mutating func line(_ key: KeyMaterial, _ name: String) -> String {
        let certificate = key.parsedCertificate
        let kind = key.keyKind?.description ?? ""
        let subject = key.subject?.description ?? ""
        nameWidth = max(nameWidth, name.count)
        keyWidth = max(keyWidth, kind.count)
        subjectWidth = min(48, max(subjectWidth, subject.count))
        let columns = [
            pin(key, certificate), padded(name, nameWidth), padded(key.kindText(certificate), 11),
            padded(kind, keyWidth), padded(subject, subjectWidth), certificate.map { expiry($0, now: now) } ?? "",
        ]
        let line = columns.joined(separator: "  ")
        return String(line[...(line.lastIndex { $0 != " " } ?? line.startIndex)])
    }

    private func pin(_ key: KeyMaterial, _ certificate: @autoclosure () -> X509Certificate?) -> String {
        // TLSA alone tells whose key it is.
        let isAuthority = spelling == .tlsa && certificate()?.isCertificateAuthority == true
        return spelling.text(key.fingerprint, isAuthority: isAuthority)
    }

    private func json(_ key: KeyMaterial, _ item: KeyFile.Item, of operand: String) -> JSON {
        let certificate = key.parsedCertificate
        var members: [(String, JSON)] = [
            ("input", .string(operand)), ("index", .integer(item.index)), ("kind", .string(key.kind.word)),
            ("pin", .string(key.fingerprint.description)),
        ]
        if spelling != .okhttp { members.append((spelling.rawValue, .string(pin(key, certificate)))) }
        if let kind = key.keyKind { members.append(("key", .string(kind.description))) }
        if let subject = key.subject { members.append(("subject", .string(subject.description))) }
        if let certificate { members += certificateMembers(certificate) }
        return .object(members)
    }
}

extension KeyMaterial {
    /// The certificate read whole; nil for the other kinds, and for one with a key but a flaw elsewhere.
    fileprivate var parsedCertificate: X509Certificate? {
        certificate.flatMap { try? X509Certificate(derBytes: $0) }
    }

    fileprivate func kindText(_ certificate: X509Certificate?) -> String {
        switch kind {
        case .certificate:
            guard let certificate else { return "cert" }
            return certificate.isCertificateAuthority ? "cert CA" : "cert leaf"
        case .certificateRequest: return "CSR"
        case .publicKey: return "public key"
        case .privateKey: return "private key"
        }
    }
}

extension KeyMaterial.Kind {
    fileprivate var word: String {
        switch self {
        case .certificate: "certificate"
        case .certificateRequest: "certificate_request"
        case .publicKey: "public_key"
        case .privateKey: "private_key"
        }
    }
}
