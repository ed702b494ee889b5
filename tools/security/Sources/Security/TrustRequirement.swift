import CertificateTrust
import Foundation

/// The claims that a path must satisfy, all of them, under a list of policies.
struct TrustRequirement: Sendable {
    private var names: [ServerName] = []
    private var isServer = false
    /// The flags of all revocation policies.
    private var revocationFlags: [CFOptionFlags] = []

    /// Combines policies. Throws if there is none, or one that can't be honoured.
    init(_ policies: [SecPolicy]) throws(TrustRefusal) {
        guard !policies.isEmpty else {
            throw .unusable(errSecParam, reason: "the trust has no policy: call SecTrustSetPolicies with one")
        }
        for policy in policies {
            switch policy.kind {
            case .basicX509: break
            case .server(let host):
                isServer = true
                if let host { try add(host) }
            case .client:
                throw .unusable(
                    errSecUnimplemented,
                    reason: "SecPolicyCreateSSL for clients is unsupported: evaluate a client's chain with ChainTrust")
            case .revocation(let flags): revocationFlags.append(flags)
            }
        }
    }

    private mutating func add(_ host: String) throws(TrustRefusal) {
        do throws(ServerNameError) {
            names.append(try ServerName(host))
        } catch {
            throw .unusable(errSecHostNameMismatch, reason: "\(error)")
        }
    }

    /// Returns a path that satisfies every claim, leaf first. Throws the reason if there is none.
    func path(of trust: ServerTrust, to store: TrustStore, at time: Date) throws(TrustRefusal) -> [X509Certificate] {
        let claims = claims(about: trust, store)
        do throws(TrustFinding) {
            // One path must satisfy all claims, not each claim another one.
            var paths = try claims[0].paths(at: time, limit: claims.count == 1 ? 1 : .max)
            for claim in claims.dropFirst() {
                let others = Set(try claim.paths(at: time, limit: .max))
                paths.removeAll { !others.contains($0) }
            }
            if let path = paths.first { return path }
        } catch {
            throw .untrusted(error)
        }
        throw .unusable(
            errSecNotTrusted, reason: "no path satisfies all policies of the trust: evaluate them one at a time")
    }

    /// Returns the claims, at least one. The claim's own policy stays in force, except for its purpose.
    private func claims(about trust: ServerTrust, _ store: TrustStore) -> [Claim] {
        var policy = trust.policy
        policy.purpose = isServer ? .server : .any
        var limited: [Claim] = []
        for flags in revocationFlags {
            if policy.revocation == .ignore { policy.revocation = .use }
            guard flags & kSecRevocationRequirePositiveResponse != 0 else { continue }
            var strict = policy
            strict.revocation = .require
            let evidence = trust.revocation.limited(to: flags)
            limited.append(
                Claim(
                    presented: trust.presented, name: nil, store: store, policy: strict, evidence: evidence,
                    transparency: trust.transparency))
        }
        let names: [ServerName?] = names.isEmpty ? [nil] : names
        return names.map {
            Claim(
                presented: trust.presented, name: $0, store: store, policy: policy, evidence: trust.revocation,
                transparency: trust.transparency)
        } + limited
    }
}

/// A claim with or without a hostname.
private struct Claim {
    let presented: PresentedChain
    let name: ServerName?
    let store: TrustStore
    let policy: TrustPolicy
    let evidence: RevocationEvidence
    let transparency: TransparencyEvidence

    /// Returns valid paths, best first and at most `limit`. Throws the reason if there is none.
    func paths(at time: Date, limit: Int) throws(TrustFinding) -> [[X509Certificate]] {
        guard let name else {
            let trust = ChainTrust(
                presented: presented, store: store, policy: policy, revocation: evidence, transparency: transparency)
            return try trust.allPaths(at: time, limit: limit).map(\.certificates)
        }
        let trust = ServerTrust(
            presented: presented, name: name, store: store, policy: policy, revocation: evidence,
            transparency: transparency)
        return try trust.allPaths(at: time, limit: limit).map(\.certificates)
    }
}

extension RevocationEvidence {
    /// Returns the part of the evidence that the methods in `flags` use.
    fileprivate func limited(to flags: CFOptionFlags) -> RevocationEvidence {
        RevocationEvidence(
            lists: flags & kSecRevocationCRLMethod != 0 ? lists : [], certificates: certificates,
            stapledOCSP: flags & kSecRevocationOCSPMethod != 0 ? stapledOCSP : nil)
    }
}
