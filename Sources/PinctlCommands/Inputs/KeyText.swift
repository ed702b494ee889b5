import CertificateTrust

extension KeyMaterial.Kind {
    /// What a list calls it.
    var text: StaticString {
        switch self {
        case .certificate: "cert"
        case .certificateRequest: "CSR"
        case .publicKey: "public key"
        case .privateKey: "private key"
        }
    }

    /// What JSON calls it.
    var word: String {
        switch self {
        case .certificate: "certificate"
        case .certificateRequest: "certificate_request"
        case .publicKey: "public_key"
        case .privateKey: "private_key"
        }
    }
}
