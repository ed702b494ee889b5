import PinDialects

/// Flags for the sources of keys and the notation of their pins.
extension Flag {
    static let long = Flag("long", short: "l", "say for every pin where it comes from and what it is")
    static let spelling = Flag(
        "as", value: .choice("SPELLING", PinSpelling.allCases.map(\.rawValue)),
        "spell pins as \(PinSpelling.allCases.map(\.rawValue).joined(separator: ", ")) (okhttp)",
        details: "tlsa=NAME, such as tlsa=_443._tcp.example.com, prints a whole record.")
    static let output = Flag(
        "output", short: "o", value: .file("FILE"), "write to FILE, which must not exist yet")
    static let passwordDescriptor = Flag(
        "password-fd", value: .text("N"),
        "read the password of keys and PKCS #12 from descriptor N, such as 3 with 3<FILE")
    static let expect = Flag(
        "expect", value: .text("PIN"), repeatable: true,
        "exit with 1 unless one of the keys has this pin, or another one given")
    static let leaf = Flag("leaf", "only certificates that are no authority's")
    static let authority = Flag("ca", "only authorities' certificates, roots among them")
    static let root = Flag("root", "only authorities' certificates that are their own issuer")
    static let index = Flag("index", value: .text("N"), "only the object at place N of each file; the first is 0")
    static let unique = Flag("unique", "print each pin once")
    static let nulEnd = Flag("null", short: "0", "end each line with NUL, for xargs -0")
    static let pem = Flag("pem", "print the certificates as PEM and nothing else")
    static let base64 = Flag("base64", "print each certificate's DER as a line of base64")
    static let save = Flag(
        "save", value: .folder("DIR"), "write each certificate to a file in DIR, api.example.com_443_rsa_0.pem")
    static let der = Flag("der", "write DER with --save, in files that end in .der")
    static let initialFrom = Flag(
        "from", value: .file("FILE"), "take certificates from FILE and connect to nothing, or targets, one a line")
    static let initialHost = Flag(
        "host", value: .text("NAME"), repeatable: true,
        "make the rule of --from for this host, not for the names of the leaf")
    static let intoPolicy = Flag(
        "into", value: .file("POLICY"), "add the rules to this policy file, and leave the rest of it as it is")
}
