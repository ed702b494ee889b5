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
    /// Returns the verdict, and the reason unless it is success. Input that can't be parsed is a failure.
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
        // Cases with lists have one for every issuer. The exceptions are cases about a missing list (PKITS 4.4.1) and
        // about a list that doesn't cover the certificate (4.14). The mode `use` would accept those.
        let lists = try (crls ?? []).map { try CertificateRevocationList(derBytes: derBytes($0)) }
        if !lists.isEmpty { policy.revocation = .require }
        let revocation = RevocationEvidence(lists: lists)
        // The evaluation of a server checks its name. Checking it here again would hide that it doesn't.
        let server = validationKind == "SERVER" ? try expectedPeerName?.server() : nil
        var names = expectedPeerNames ?? []
        if let expectedPeerName, server == nil { names.append(expectedPeerName) }
        for purpose in try purposes() {
            policy.purpose = purpose
            if let name = server {
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

    /// Returns the purposes that the leaf must have, which are evaluated one by one. TLS always requires
    /// `digitalSignature` of a leaf, and cases require no other usage.
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
    /// Returns the name as a server name, or `nil` for a mailbox.
    fileprivate func server() throws -> ServerName? {
        switch kind {
        case "DNS", "IP": try ServerName(value)
        case "RFC822": nil
        default: throw Unsupported("a name of kind \(kind)")
        }
    }

    /// Returns whether an entry of the leaf is this name. The part of a mailbox before the `@` is case-sensitive (RFC
    /// 5280, section 7.5).
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

/// Returns the bytes of the only object in a PEM text.
private func derBytes(_ pem: String) throws -> [UInt8] {
    let body = pem.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined()
    guard let data = Data(base64Encoded: body) else { throw Mismatch("PEM that is not base64") }
    return Array(data)
}

/// A requirement of a case that the library has no setting for.
private struct Unsupported: Error {
    let what: String

    init(_ what: String) { self.what = what }
}

private struct Mismatch: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
