import CertificateTrust

extension KeyMaterial {
    /// What a list calls it.
    func kindText(_ certificate: X509Certificate?) -> String {
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
