package import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The decision by the rules of a canonical policy.
package typealias CanonicalDecision = PathDecision<CanonicalPin>

/// A pin of a canonical policy and the certificate that it matches.
package typealias CanonicalMatch = PathMatch<CanonicalPin>

extension CanonicalPolicy {
    /// Decides on a verified path, leaf first, to a host for which these rules of the policy were found.
    ///
    /// The pins of several rules count together. The function is pure and total.
    package func decide(
        _ path: [X509Certificate], by rules: [CanonicalRule], under circumstances: DecisionCircumstances
    ) -> CanonicalDecision {
        var fingerprints = PathFingerprints<CanonicalPin>(path)
        let forms = equivalentPins(on: path)
        let denied = CanonicalMatch.all(of: denied, length: path.count) { pin, index in
            // mutant plan-denied-form: false for `pin.isAmong(forms, at: index)` by DeniedPinTests PlanSettingTests
            fingerprints.hasMatch(pin, at: index) || pin.isAmong(forms, at: index)
        }
        return decide(by: rules, denied, under: circumstances, pathLength: path.count, anchor: path.last) {
            fingerprints.hasMatch($0, at: $1)
        }
    }

    /// Decides on a path of which only the pins of its certificates may be known. `isMatch` returns whether a pin is
    /// that of the certificate at an index, and `anchor` is the last certificate, if it is known.
    package func decide(
        by rules: [CanonicalRule], under circumstances: DecisionCircumstances, pathLength: Int,
        anchor: X509Certificate? = nil, isMatch: (CanonicalPin, Int) -> Bool
    ) -> CanonicalDecision {
        decide(
            by: rules, CanonicalMatch.all(of: denied, length: pathLength, isMatch), under: circumstances,
            pathLength: pathLength, anchor: anchor, isMatch: isMatch)
    }

    private func decide(
        by rules: [CanonicalRule], _ denied: [CanonicalMatch], under circumstances: DecisionCircumstances,
        pathLength: Int, anchor: X509Certificate?, isMatch: (CanonicalPin, Int) -> Bool
    ) -> CanonicalDecision {
        var decision = CanonicalDecision.by(
            rules, unlisted: unlisted, denied: denied, length: pathLength, anchor: anchor, under: circumstances,
            isMatch: isMatch)
        // Several rules may have the same pin.
        var seen: Set<CanonicalMatch> = []
        decision.matches.removeAll { !seen.insert(CanonicalMatch(pin: $0.pin.unnamed, index: $0.index)).inserted }
        return decision
    }
}

extension CanonicalRule: DecidingRule {
    package var pinsApplyOnlyUnder: TrustStore? { stores.pinsApplyOnlyUnder }

    package func expiryEffect(under circumstances: DecisionCircumstances) -> PinningExpiry.Action? {
        expiry.flatMap { $0.moment.isOver(under: circumstances) ? $0.effect : nil }
    }

    package func bypassesPins(under source: String?) -> Bool {
        guard stores.pinsApplyOnlyUnder == nil, let anchors else { return false }
        return anchors.contains { $0.bypassesPins && $0.source == source }
    }
}

extension CanonicalPin: DecidingPin {
    /// A kind of fingerprints: the object, and the digest that identifies it.
    package struct Kind: Hashable, Sendable {
        fileprivate let content: Content
        fileprivate let digest: Digest
    }

    package var kind: Kind { Kind(content: content, digest: digest) }

    /// Returns whether the pin is that of the certificate or its key. The position of the certificate isn't considered.
    package func matches(_ certificate: X509Certificate) -> Bool { Self.value(of: certificate, kind) == value }

    package static func value(of certificate: X509Certificate, _ kind: Kind) -> [UInt8]? {
        kind.digest.value(
            of: kind.content == .certificate ? certificate.derBytes : certificate.subjectPublicKeyInfo.derBytes)
    }
}

extension CanonicalPin.Digest {
    /// Returns what a pin of these bytes has as its value, or `nil` if OpenSSL lacks the digest.
    package func value(of bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .full: bytes
        case .sha256: sha256Digest(bytes.span)
        case .sha1: CertificateTrust.digest("SHA1", of: bytes)
        case .sha512: CertificateTrust.digest("SHA2-512", of: bytes)
        }
    }
}

extension CanonicalPolicy {
    /// The pins of the other forms of each certificate on a path, which anyone can make from it. A denied certificate
    /// is refused in every form. `nil` for a certificate means that the forms are unknown, so that any pin may be one.
    /// Empty if no certificate is denied.
    private func equivalentPins(on path: [X509Certificate]) -> [[[UInt8]]?] {
        guard denied.contains(where: { $0.kind == .certificate }) else { return [] }
        return path.indices.map { index in
            path.equivalentFingerprints(at: index)?.map { CanonicalPin(Pin(.certificate($0))).value }
        }
    }
}

extension CanonicalPin {
    fileprivate func isAmong(_ forms: [[[UInt8]]?], at index: Int) -> Bool {
        guard kind == .certificate, !forms.isEmpty else { return false }
        return forms[index]?.contains(value) ?? true
    }
}

extension CanonicalPin.Kind {
    fileprivate static let certificate = Self(content: .certificate, digest: .sha256)
}

extension RuleExpiry.Moment {
    /// Returns whether the moment has passed.
    package func isOver(under circumstances: DecisionCircumstances) -> Bool {
        let now = circumstances.time.timeIntervalSince1970
        return switch self {
        // mutant canonical-expiry: now > Double(seconds) by DecisionTests TrustKitEvaluationTests
        case .instant(let seconds): now >= Double(seconds)
        // An invalid day never expires, because the dialect's own system rejects such a file.
        case .localDay(let day):
            CivilTime(day: day).map { now > Double($0.secondsSince1970) - Double(circumstances.offset) } ?? false
        case .age(let age): now >= (circumstances.noted?.timeIntervalSince1970 ?? now) + Double(age)
        }
    }
}
