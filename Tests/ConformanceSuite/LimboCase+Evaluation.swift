import CertificateTrust
import FoundationEssentials

/// The policies that cases are evaluated under.
package enum Profile: String, CaseIterable, Sendable {
    case `default`
    case strict

    var policy: TrustPolicy {
        switch self {
        case .default: .default
        case .strict: .strict
        }
    }
}

extension LimboCase {
    /// The verdict, and why unless it is success. What cannot be parsed is a failure.
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
        let presented = try PresentedChain(derCertificates: ([peerCertificate] + untrustedIntermediates).map(derBytes))
        let store = TrustStore(certificates: try trustedCerts.map { try X509Certificate(derBytes: derBytes($0)) })
        let time = try time()
        var policy = profile.policy
        if let maxChainDepth { policy.maximumIntermediates = maxChainDepth }
        if let inputs = self.policy {
            policy.certificatePolicies = CertificatePolicyRequirements(
                initialPolicies: Set(inputs.initialPolicySet), requireExplicit: inputs.explicit,
                inhibitMapping: inputs.inhibitMap, inhibitAnyPolicy: inputs.inhibitAny)
        }
        // Cases with lists have one for every issuer, unless they are about its absence (PKITS 4.4.1) or about one that
        // says nothing of the certificate (4.14): `use` would accept those.
        let lists = try (crls ?? []).map { try CertificateRevocationList(derBytes: derBytes($0)) }
        if !lists.isEmpty { policy.revocation = .require }
        let revocation = RevocationEvidence(lists: lists)
        var names = expectedPeerNames ?? []
        if let expectedPeerName { names.append(expectedPeerName) }
        for purpose in try purposes() {
            policy.purpose = purpose
            if validationKind == "SERVER", let name = try expectedPeerName?.server() {
                _ = try ServerTrust(
                    presented: presented, name: name, store: store, policy: policy, revocation: revocation
                ).evaluate(at: time)
            } else {
                _ = try ChainTrust(presented: presented, store: store, policy: policy, revocation: revocation)
                    .evaluate(at: time)
            }
        }
        for name in names {
            guard try presented.leaf.subjectAlternativeNames.contains(where: name.matches) else {
                throw Mismatch("the leaf does not name \(name.value)")
            }
        }
    }

    /// What the leaf has to be for, one after the other. `digitalSignature`, the one usage cases ask for, is what TLS
    /// asks of a leaf anyway.
    private func purposes() throws -> [TrustPolicy.Purpose] {
        guard keyUsage.allSatisfy({ $0 == "digitalSignature" }) else {
            throw Unsupported("keyUsage \(keyUsage.joined(separator: ", "))")
        }
        switch purpose {
        case nil: break
        case "any": return [.any]
        case let purpose?: throw Unsupported("the purpose \(purpose)")
        }
        return try (extendedKeyUsage.isEmpty ? [validationKind] : extendedKeyUsage).map { usage in
            switch usage {
            case "SERVER", "serverAuth": .server
            case "CLIENT", "clientAuth": .client
            case "anyExtendedKeyUsage": .any
            default: throw Unsupported("the purpose \(usage)")
            }
        }
    }

    private func time() throws -> Date {
        guard let validationTime else { return Date() }
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: validationTime.contains("."))
        return try style.parse(validationTime)
    }
}

extension LimboCase.PeerName {
    /// The name as a server's; nil for a mailbox.
    fileprivate func server() throws -> ServerName? {
        switch kind {
        case "DNS", "IP": try ServerName(value)
        case "RFC822": nil
        default: throw Unsupported("a name of kind \(kind)")
        }
    }

    /// Whether an entry of the leaf is this name. Of a mailbox the part before the `@` has capitals of its own
    /// (RFC 5280, section 7.5).
    fileprivate func matches(_ entry: SubjectAlternativeName) throws -> Bool {
        if let server = try server() { return server.matches(entry) }
        guard case .other(tag: 1, let contents) = entry else { return false }
        return Self.mailbox(String(decoding: contents, as: UTF8.self)) == Self.mailbox(value)
    }

    private static func mailbox(_ text: String) -> [String] {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.dropLast().map(String.init) + parts.suffix(1).map { $0.lowercased() }
    }
}

/// The bytes of the one object in a PEM text.
private func derBytes(_ pem: String) throws -> [UInt8] {
    let body = pem.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined()
    guard let data = Data(base64Encoded: body) else { throw Mismatch("PEM that is not base64") }
    return Array(data)
}

/// What a case asks for and the library has no way to be asked.
private struct Unsupported: Error {
    let what: String

    init(_ what: String) { self.what = what }
}

private struct Mismatch: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
