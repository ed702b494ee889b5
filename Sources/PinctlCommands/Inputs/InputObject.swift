import CertificateTrust

/// An object of an input with its index from 0, its line in a text, and its content or the problem with it.
struct InputObject {
    enum Content {
        case key(KeyMaterial)
        /// A pin without its key, such as that of a TLSA record. `isAuthority` says whether the key belongs to a CA.
        case pin(SPKIFingerprint, owner: String, isAuthority: Bool)
    }

    let index: Int
    let line: Int?
    let content: Result<Content, InputProblem>
}

/// The reason why an input or one of its objects couldn't be used.
struct InputProblem: Error {
    let reason: String
    /// Whether the input is of another kind, so that it is skipped in a directory.
    var isStranger = false
}

extension InputProblem {
    init(_ failure: KeyFile.Failure) {
        reason = failure.description
        switch failure {
        case .empty, .format(.noBlock), .format(.binary): isStranger = true
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
        case .encryptedContainer: reason = "is encrypted PKCS #12: \(advice)"
        default: reason = error.description
        }
    }
}
