import CertificateTrust

/// An object of an input with its index from 0, its line in a text, and its content or the problem with it.
struct InputObject {
    enum Content {
        case key(KeyMaterial)
        /// A pin without its key, such as that of a TLSA record. `isAuthority` says whether the key belongs to a CA.
        case pin(SPKIFingerprint, owner: String, isAuthority: Bool)
    }

    var index: Int
    var line: Int?
    let content: Result<Content, InputProblem>
    /// The value of a document that contains the object, such as `data.tls.crt`. `nil` if it is the file itself.
    var part: String?
    /// Whether the object is for the clients of a server, such as the user of a kubeconfig.
    var isOfClient = false
    /// Whether it is a private key, readable or not.
    var isPrivateKey = false
    /// Whether its position among the others counts, because servers present the first certificate as their own.
    var isOrdered = false
}

/// The reason why an input or one of its objects couldn't be used.
struct InputProblem: Error {
    enum Kind: Hashable {
        /// The input should have been readable.
        case broken
        /// The input isn't understood, so it may be a certificate.
        case unknown
        /// The contents show that the input has no certificate, and what it is, in the singular.
        case irrelevant(String)
    }

    let reason: String
    var kind = Kind.broken
    /// Whether it is a private key that is encrypted, and no password was given.
    var isEncrypted = false
    /// Whether it is a private key of SSH, which servers of TLS don't read.
    var isOfSSH = false
}

extension InputProblem {
    /// The kind of the input, if its contents show that it has no certificate.
    var irrelevance: String? { if case .irrelevant(let what) = kind { what } else { nil } }

    init(_ failure: KeyFile.Failure) {
        reason = failure.description
        switch failure {
        case .empty, .format(.noBlock), .format(.binary), .javaKeyStore: kind = .unknown
        default: break
        }
    }

    /// Creates a problem whose remedy names the flags of pinctl, which the library doesn't know.
    init(_ error: KeyMaterialError) {
        let flag = Flag.passwordFile
        let advice = "give \(flag.dashed) \(flag.valueName ?? "")"
        switch error {
        case .encrypted:
            reason = "is an encrypted private key: \(advice), or its public key (openssl pkey -in FILE -pubout)"
            isEncrypted = true
        case .encryptedContainer:
            reason = "is encrypted PKCS #12: \(advice)"
            kind = .unknown
        case .wrongPassword:
            reason =
                "is encrypted with another password: give the one that it was encrypted with, which is the whole first "
                + "line of \(flag.dashed)"
        case .keyless(let what):
            reason = error.description
            kind = .irrelevant(what.hasPrefix("an ") ? String(what.dropFirst(3)) : String(what.dropFirst(2)))
        case .foreign(KeyMaterialError.privateSSHKey, _):
            reason = error.description
            kind = .unknown
            isOfSSH = true
        case .unsupported, .foreign:
            reason = error.description
            kind = .unknown
        default: reason = error.description
        }
    }
}

extension KeyMaterial.Kind {
    /// The name of the kind in a list.
    var text: StaticString {
        switch self {
        case .certificate: "cert"
        case .certificateRequest: "CSR"
        case .publicKey: "public key"
        case .privateKey: "private key"
        }
    }

    /// The name of the kind in JSON.
    var word: String {
        switch self {
        case .certificate: "certificate"
        case .certificateRequest: "certificate_request"
        case .publicKey: "public_key"
        case .privateKey: "private_key"
        }
    }
}
