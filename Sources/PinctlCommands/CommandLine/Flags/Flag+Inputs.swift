import CertificatePinning
import PinDialects

/// Flags for the sources of keys and the notation of their pins.
extension Flag {
    static let long = Flag("long", short: "l", "print the file, kind, key type, subject and expiry of each pin")
    static let spelling = Flag(
        "as", value: .choice("FORMAT", PinSpelling.allCases.map(\.rawValue)),
        "print pins as \(PinSpelling.allCases.map(\.rawValue).joined(separator: ", ")) (default: okhttp)",
        details: "tlsa=NAME, such as tlsa=_443._tcp.example.com, prints a complete record.")
    static let output = Flag(
        "output", short: "o", value: .file("FILE"), "write to FILE, which must not exist yet")
    static let passwordDescriptor = Flag(
        "password-fd", value: .text("N"),
        "read the password for keys and PKCS #12 from descriptor N, such as 3 with 3<FILE")
    static let expect = Flag(
        "expect", value: .text("PIN"), repeatable: true,
        "exit with 1 unless a key has this pin, or another one given")
    static let leaf = Flag("leaf", "only end-entity certificates")
    static let authority = Flag("ca", "only CA certificates, including roots")
    static let root = Flag("root", "only root certificates (self-issued CA certificates)")
    static let index = Flag(
        "index", value: .text("N"), "only the object at position N of each file, counted from 0")
    static let unique = Flag("unique", "print each pin only once")
    static let nulEnd = Flag("null", short: "0", "end each line with NUL, for xargs -0")
    static let pem = Flag("pem", "print only the certificates, as PEM")
    static let base64 = Flag("base64", "print only the certificates, each as a line of base64 DER")
    static let save = Flag(
        "save", value: .directory("DIR"),
        "write each certificate to a file in DIR, such as api.example.com_443_rsa_0.pem")
    static let der = Flag("der", "with --save, write DER to files ending in .der")
    static let initialFrom = Flag(
        "from", value: .file("FILE"),
        "read certificates from FILE instead of connecting, or targets, one per line")
    static let initialHost = Flag(
        "host", value: .text("HOST"), repeatable: true,
        "with --from, write the rule for this host instead of the leaf's hostnames")
    static let initialRole = Flag(
        "role", value: .choice("ROLE", initialRoles.map(\.rawValue)), repeatable: true,
        "pin only the keys in this position of the chain (default: every key)",
        details: "Issuers are pinned with the role ca, as intermediate or root, because a CA's position can change.")
    static let initialRoles: [PinRole] = [.leaf, .intermediate, .root, .ca]
    static let initialSubdomains = Flag("subdomains", "apply the rules to all subdomains of the hosts too")
    static let initialBackup = Flag(
        "backup", value: .file("FILE"), repeatable: true,
        "add the key of a certificate request, public key or certificate as a backup",
        details:
            "The key of a CA certificate is a backup CA, and any other key one for the leaf. Without a backup, each "
            + "rule gets a slot that has to be filled before pinctl lint accepts the policy.")
    static let intoPolicy = Flag(
        "into", value: .file("POLICY"), "add the rules to this policy file and change nothing else")
}
