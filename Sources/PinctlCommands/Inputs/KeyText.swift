import CertificateTrust

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
