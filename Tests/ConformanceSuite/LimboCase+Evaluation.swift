import CertificateTrust
import FoundationEssentials

/// The policies that cases are evaluated under.
package enum Profile: String, CaseIterable, Sendable {
    case `default`

    var policy: TrustPolicy {
        switch self {
        case .default: .default
        }
    }
}

extension LimboCase {
    /// The verdict, and why unless it is success.
    package func evaluate(_ profile: Profile) -> (verdict: Verdict, context: String?) {
        do {
            try verify(profile)
            return (.success, nil)
        } catch let gap as Unsupported {
            return (.skipped, gap.what)
        } catch {
            return (.failure, "\(error)")
        }
    }

    private func verify(_ profile: Profile) throws {
        if validationKind == .client { throw Unsupported("client certificates") }
        if crls?.isEmpty == false { throw Unsupported("revocation lists") }
        if maxChainDepth != nil { throw Unsupported("a bound on the depth") }
        if purpose != nil { throw Unsupported("purpose") }
        guard let name = expectedPeerName else { throw Unsupported("chains without a name") }
        let presented = try PresentedChain(derCertificates: ([peerCertificate] + untrustedIntermediates).map(derBytes))
        let anchors = try trustedCerts.map { try X509Certificate(derBytes: derBytes($0)) }
        let trust = ServerTrust(
            presented: presented, name: try ServerName(name.value), store: TrustStore(certificates: anchors),
            policy: profile.policy)
        _ = try trust.evaluate(at: try time())
    }

    private func time() throws -> Date {
        guard let validationTime else { return Date() }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: validationTime.contains("."))
        return try style.parse(validationTime)
    }
}

/// The bytes of the one object in a PEM text.
private func derBytes(_ pem: String) throws -> [UInt8] {
    let body = pem.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined()
    guard let data = Data(base64Encoded: body) else { throw Malformed("PEM that is not base64") }
    return Array(data)
}

/// What a case asks for and the library has no way to be asked.
private struct Unsupported: Error {
    let what: String

    init(_ what: String) { self.what = what }
}

private struct Malformed: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
