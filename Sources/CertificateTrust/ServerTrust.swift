public import FoundationEssentials
import OpenSSLBridge

/// A claim to be evaluated: a presented chain, the name it should prove, the anchors and the policy.
///
/// Nothing is trusted until ``evaluate(at:accepting:)`` returns. It is an object so that an answer can name the very
/// claim it answers.
public final class ServerTrust: Sendable {
    /// What the server presented.
    public let presented: PresentedChain
    /// The name that was asked for.
    public let name: ServerName
    /// The anchors.
    public let store: TrustStore
    /// What a path must satisfy.
    public let policy: TrustPolicy

    /// A claim over an already parsed chain.
    public init(presented: PresentedChain, name: ServerName, store: TrustStore, policy: TrustPolicy = .default) {
        self.presented = presented
        self.name = name
        self.store = store
        self.policy = policy
    }

    /// Finds a valid path that `accepting` accepts, as of `time`.
    ///
    /// `accepting` is asked for each valid path, best first, and can only refuse it; then the next valid path is tried.
    /// A path is valid when the leaf names the server (RFC 9525), every certificate is within its validity, both ends
    /// inclusive, and OpenSSL verifies it (RFC 5280, section 6). Throws ``TrustError/refused(best:)`` when valid paths
    /// exist and none was accepted, ``TrustError/untrusted(_:)`` when none is valid.
    public func evaluate(
        at time: Date, accepting: (VerifiedPath) -> Bool = { _ in true }
    ) throws(TrustError) -> VerifiedPath {
        // An infinite Date is no time at which anything is valid.
        guard let seconds = Int64(exactly: time.timeIntervalSince1970.rounded(.down)) else {
            throw .untrusted(
                TrustFinding(
                    rule: .notYetValid, depth: nil, certificate: nil,
                    detail: "the time to evaluate at is not a time: check the clock"))
        }
        try checkName()
        var finding: TrustFinding?
        var refused: VerifiedPath?
        var accepted: VerifiedPath?
        var builder = PathBuilder(presented: presented, store: store, time: seconds)
        let outcome = builder.search { candidate in
            if let reason = Self.refusal(of: candidate, at: seconds) {
                if reason.rule.usefulness > (finding?.rule.usefulness ?? 0) { finding = reason }
                return false
            }
            let path = VerifiedPath(certificates: candidate, leaf: presented.leaf, name: name)
            guard accepting(path) else {
                refused = refused ?? path
                return false
            }
            accepted = path
            return true
        }
        if let accepted { return accepted }
        if let refused { throw .refused(best: refused) }
        if let finding { throw .untrusted(finding) }
        throw .untrusted(outcome == .overBudget ? Self.overBudget : missingIssuer(builder.longestWalk))
    }

    private func checkName() throws(TrustError) {
        let names = presented.leaf.subjectAlternativeNames
        guard !names.contains(where: { name.matches($0) }) else { return }
        let proved = names.filter { if case .other = $0 { false } else { true } }
        let found =
            proved.isEmpty
            ? "has no subjectAltName for servers"
            : "is valid for " + proved.prefix(10).map(\.description).joined(separator: ", ")
                + (proved.count > 10 ? " and \(proved.count - 10) more" : "")
        throw .untrusted(
            TrustFinding(
                rule: .nameMismatch, depth: 0, certificate: presented.leaf,
                detail: "\(found), not for \(name): connect to a name it has, or reissue it"))
    }

    /// Why a path is not valid; nil when it is.
    private static func refusal(of path: [X509Certificate], at seconds: Int64) -> TrustFinding? {
        for (depth, certificate) in path.enumerated() {
            if let finding = validityFinding(certificate, depth: depth, at: seconds) { return finding }
        }
        var parsed: [OpenSSLCertificate] = []
        parsed.reserveCapacity(path.count)
        for (depth, certificate) in path.enumerated() {
            do throws(OpenSSLError) {
                parsed.append(try certificate.openSSLCertificate())
            } catch {
                return TrustFinding(
                    rule: .malformed, depth: depth, certificate: certificate,
                    detail: "OpenSSL cannot parse it (\(error.reason)): reissue it")
            }
        }
        switch verify(path: parsed) {
        case .verified: return excludedWildcard(in: path)
        case .refused(let code, let depth):
            return TrustFinding(
                rule: TrustRule(code), depth: depth, certificate: path.indices.contains(depth) ? path[depth] : nil,
                detail: "\(code.reason): reissue it, or check the chain and the anchors")
        case .failed(let error):
            return TrustFinding(
                rule: .other, depth: nil, certificate: nil, detail: "OpenSSL could not judge the path: \(error.reason)")
        }
    }

    /// A wildcard of the leaf that stands for a name which an issuer excludes (RFC 5280, section 4.2.1.10). OpenSSL
    /// compares the `*` as if it were a label, and so finds `*.example.com` outside of an excluded `www.example.com`.
    private static func excludedWildcard(in path: [X509Certificate]) -> TrustFinding? {
        let issuers = path.dropFirst()
        guard let leaf = path.first, issuers.contains(where: { !$0.excludedDNSNames.isEmpty }) else { return nil }
        let parents = Set(leaf.subjectAlternativeNames.compactMap(\.wildcardParent))
        let excluded = issuers.lazy.flatMap(\.excludedDNSNames).first { name in
            parents.contains(Array(name.drop { $0 != UInt8(ascii: ".") }.dropFirst()))
        }
        return excluded.map { name in
            TrustFinding(
                rule: .nameConstraints, depth: 0, certificate: leaf,
                detail: "a wildcard covers \(SubjectAlternativeName.dns(name)), which an issuer excludes: "
                    + "reissue it with the names of the servers")
        }
    }

    private static func validityFinding(
        _ certificate: X509Certificate, depth: Int, at seconds: Int64
    ) -> TrustFinding? {
        let validity = certificate.validity
        guard !validity.contains(seconds) else { return nil }
        let now = timeText(seconds)
        if seconds > validity.upperBound {
            return TrustFinding(
                rule: .expired, depth: depth, certificate: certificate,
                detail: "expired at \(timeText(validity.upperBound)), it is \(now): renew it, or check the clock")
        }
        return TrustFinding(
            rule: .notYetValid, depth: depth, certificate: certificate,
            detail: "is valid from \(timeText(validity.lowerBound)), it is \(now): check the clock")
    }

    private static func timeText(_ seconds: Int64) -> String {
        CivilTime(secondsSince1970: seconds)?.description ?? "second \(seconds) of 1970"
    }

    private static let overBudget = TrustFinding(
        rule: .budget, depth: nil, certificate: nil,
        detail: "the search for a path was stopped after \(PathBuilder.maximumCandidates) candidates, "
            + "\(PathBuilder.maximumSignatures) signatures or \(PathBuilder.maximumSteps) steps: "
            + "have the server send its chain alone")

    private func missingIssuer(_ walk: [X509Certificate]) -> TrustFinding {
        let last = walk.last ?? presented.leaf
        let detail =
            last.isSelfIssued
            ? "is self-signed and no trust anchor: add it to the trust store if it should be one"
            : "its issuer (\(last.issuer)) was neither presented nor is it a trust anchor: "
                + "have the server send its intermediates, or add the root to the trust store"
        return TrustFinding(rule: .unknownIssuer, depth: max(walk.count - 1, 0), certificate: last, detail: detail)
    }
}
