public import CertificatePinning

extension PinDialect {
    /// Reads a file of this dialect the way the dialect's own system does.
    ///
    /// Throws one error with all the problems for which that system rejects the file. Settings that it ignores, or
    /// reads differently from how they look, become notes. So does the fact that a file pins nothing. `host` is the
    /// host of the pins for dialects that don't always name it: Public-Key-Pins and Envoy.
    public func read(_ bytes: [UInt8], path: String, host: String? = nil) throws(PolicyFileError) -> DialectReading {
        try read(bytes, path: path, host: host, target: nil)
    }

    /// Reads a file as an app does that targets this API level of Android, if it is known. Without a level, settings
    /// that aren't in the file stay up to the client. `project` has the other files that can declare the constants of a
    /// program.
    package func read(
        _ bytes: [UInt8], path: String, host: String? = nil, target: AndroidTarget?,
        project: @autoclosure () -> SourceProject? = nil
    ) throws(PolicyFileError) -> DialectReading {
        var reading = try whole(bytes, path: path, host: host, target: target, project: project())
        if [.map, .swift, .trustkit, .apple].contains(self) {
            reading.notes += ConditionalParts(bytes).notes(on: reading.policy, path: path)
        }
        return reading
    }

    /// Reads a file as if each build had all of its parts.
    private func whole(
        _ bytes: [UInt8], path: String, host: String?, target: AndroidTarget?,
        project: @autoclosure () -> SourceProject?
    ) throws(PolicyFileError) -> DialectReading {
        switch self {
        case .policy: DialectReading(try PolicyFile.reading(bytes, path: path))
        case .android: try AndroidNetworkSecurityConfig.read(bytes, path: path, target: target)
        case .apple: try ApplePinnedDomains.read(bytes, path: path)
        case .trustkit: try TrustKitConfiguration.read(bytes, path: path)
        case .okhttp: try OkHttpReader.read(bytes, path: path, project: project())
        case .cronet: try CronetReader.read(bytes, path: path, project: project())
        case .alamofire: try AlamofireReader.read(bytes, path: path, project: project())
        case .hpkp: try HPKPReader.read(bytes, path: path, host: host)
        case .curl: try CurlPins.read(bytes, path: path)
        case .git: try GitPins.read(bytes, path: path)
        case .envoy: try EnvoyConfiguration.read(bytes, path: path, host: host)
        case .tlsa: try TLSAZone.read(bytes, path: path)
        case .certspotter: try CertSpotterKeys.read(bytes, path: path)
        case .map: try PinMapReader.read(bytes, path: path)
        case .swift: try SwiftReader.read(bytes, path: path)
        }
    }

    /// Returns a policy that was converted to this dialect, as a separate file.
    public func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> [UInt8] {
        let text =
            switch self {
            case .policy: Self.policyText(policy)
            case .android: try AndroidNetworkSecurityConfig.write(policy)
            case .apple: try ApplePinnedDomains.write(policy)
            case .trustkit: try TrustKitConfiguration.write(policy)
            case .okhttp: try OkHttpWriter.write(policy)
            case .cronet: try CronetWriter.write(policy)
            case .alamofire: throw Self.pinsFiles
            case .hpkp: try HPKPWriter.write(policy)
            case .curl: try CurlPins.write(policy)
            case .git: try GitPins.write(policy)
            case .envoy: try EnvoyConfiguration.write(policy)
            case .tlsa: try TLSAZone.write(policy)
            case .certspotter: try CertSpotterKeys.write(policy)
            case .map: try PinMapWriter.write(policy)
            case .swift: try SwiftWriter.write(policy)
            }
        return Array(text.utf8)
    }

    /// Whether the files are programs that can have their pins in other files, as constants or certificates.
    package var hasConstants: Bool { [.okhttp, .cronet, .alamofire].contains(self) }

    private static let pinsFiles = DialectWriteError(
        "Alamofire's pins are the certificates of the app's bundle: add or remove their files")

    /// The dialects that policies can be written in.
    package static let written = allCases.filter { $0 != .alamofire }

    /// Whether pins are part of a larger file, whose other contents ``replacing(_:path:with:)`` preserves.
    public var isPartOfFiles: Bool { [.android, .apple, .trustkit, .okhttp, .git, .envoy, .map].contains(self) }

    /// Returns a file in which only the pins are replaced by those of a converted policy.
    public func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        guard XMLReader.wideEncoding(of: bytes.span) == nil else {
            throw DialectWriteError("the file is encoded in UTF-16: save it as UTF-8 to change its pins")
        }
        return switch self {
        case .android: try AndroidNetworkSecurityConfig.replacing(bytes, path: path, with: policy)
        case .apple: try ApplePinnedDomains.replacing(bytes, path: path, with: policy)
        case .trustkit: try TrustKitConfiguration.replacing(bytes, path: path, with: policy)
        case .git: try GitPins.replacing(bytes, path: path, with: policy)
        case .envoy: try EnvoyConfiguration.replacing(bytes, path: path, with: policy)
        case .okhttp: try OkHttpWriter.replacing(bytes, path: path, with: policy)
        case .map: try LiteralEdit.replacing(bytes, path: path, of: .map, with: policy)
        case .cronet:
            throw DialectWriteError(
                "the calls of addPublicKeyPins in a program can't be replaced: write them with --output and copy them")
        case .alamofire: throw Self.pinsFiles
        case .policy, .hpkp, .curl, .tlsa, .certspotter, .swift:
            throw DialectWriteError("\(title) isn't part of a larger file: write it with --output")
        }
    }
}
