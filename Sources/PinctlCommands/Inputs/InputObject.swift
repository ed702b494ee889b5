import CertificateTrust

/// One object of an input: its place from 0, its line in text, and what it holds or why not.
struct InputObject {
    enum Content {
        case key(KeyMaterial)
        /// A pin whose key is not there, a TLSA record's; `isAuthority` says whose.
        case pin(SPKIFingerprint, owner: String, isAuthority: Bool)
    }

    let index: Int
    let line: Int?
    let content: Result<Content, InputProblem>
}

/// Why an input, or an object of it, gave nothing.
struct InputProblem: Error {
    let reason: String
    /// Whether there is nothing of the kind that is looked for, so that in a folder it is passed over.
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

    /// Names the flags that the library does not know of.
    init(_ error: KeyMaterialError) {
        let flag = Flag.passwordFile
        let advice = "give \(flag.dashed) \(flag.valueName ?? "")"
        switch error {
        case .encrypted:
            reason = "is an encrypted private key: \(advice), or its public key (openssl pkey -in FILE -pubout)"
        case .encryptedContainer: reason = "is PKCS #12 under a password: \(advice)"
        default: reason = error.description
        }
    }
}
