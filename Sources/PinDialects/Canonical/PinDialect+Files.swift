public import CertificatePinning

extension PinDialect {
    /// Reads a file of this dialect as its own system does. What that rejects is an error, all of it in one; what it
    /// passes over or takes otherwise than it looks is a note, and so is that the file pins nothing. `host` is whom the
    /// pins are for, where the dialect says it nowhere: Public-Key-Pins and curl.
    public func read(_ bytes: [UInt8], path: String, host: String? = nil) throws(PolicyFileError) -> DialectReading {
        switch self {
        case .policy: DialectReading(CanonicalPolicy(try PolicyFile(bytes: bytes, path: path)))
        case .android: try AndroidNetworkSecurityConfig.read(bytes, path: path)
        case .apple: try ApplePinnedDomains.read(bytes, path: path)
        case .trustkit: try TrustKitConfiguration.read(bytes, path: path)
        case .okhttp: try OkHttpReader.read(bytes, path: path)
        case .hpkp: try HPKPReader.read(bytes, path: path, host: host)
        case .curl: try CurlPins.read(bytes, path: path)
        case .tlsa: try TLSAZone.read(bytes, path: path)
        case .swift:
            throw PolicyFileError(problems: [
                PolicyProblem(
                    location: PolicyLocation(path: path),
                    message: "Swift is only written here: read the policy that it was made from")
            ])
        }
    }

    /// Writes a policy that was converted to this dialect, as a file of its own.
    public func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> [UInt8] {
        let text =
            switch self {
            case .policy: Self.policyText(policy)
            case .android: try AndroidNetworkSecurityConfig.write(policy)
            case .apple: try ApplePinnedDomains.write(policy)
            case .trustkit: try TrustKitConfiguration.write(policy)
            case .okhttp: try OkHttpWriter.write(policy)
            case .hpkp: try HPKPWriter.write(policy)
            case .curl: try CurlPins.write(policy)
            case .tlsa: try TLSAZone.write(policy)
            case .swift: try SwiftWriter.write(policy)
            }
        return Array(text.utf8)
    }

    /// Whether its pins are a part of a file that says other things too, which ``replacing(_:path:with:)`` leaves alone.
    public var isPartOfFiles: Bool { [.android, .apple, .trustkit].contains(self) }

    /// A file with its pinning part replaced by that of a converted policy, and every other byte as it was.
    public func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        switch self {
        case .android: try AndroidNetworkSecurityConfig.replacing(bytes, path: path, with: policy)
        case .apple: try ApplePinnedDomains.replacing(bytes, path: path, with: policy)
        case .trustkit: try TrustKitConfiguration.replacing(bytes, path: path, with: policy)
        case .policy, .okhttp, .hpkp, .curl, .tlsa, .swift:
            throw DialectWriteError("\(title) is no part of a bigger file: write it with --output")
        }
    }
}
