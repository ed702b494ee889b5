// swift-format-ignore-file: AlwaysUseLowerCamelCase

import CertificateTrust
import Foundation
public import PinnedNetworking

// A call that returns an error leaves a trust that every evaluation refuses, so that a program that ignores the status
// doesn't evaluate under the settings that it wanted to replace.

/// Creates a trust from certificates, with the leaf first.
///
/// `certificates` is a ``SecCertificate`` or a list of them, and `policies` a ``SecPolicy``, a list of them, or `nil`
/// for ``SecPolicyCreateBasicX509()``. The anchors are the operating system's. Only the functions of this module
/// evaluate this trust: its own `evaluate(at:)` always refuses it, and so do sessions as a credential.
@discardableResult
public func SecTrustCreateWithCertificates(
    _ certificates: CFTypeRef, _ policies: CFTypeRef?, _ trust: inout SecTrust?
) -> OSStatus {
    trust = nil
    guard let certificates: [SecCertificate] = list(certificates), let leaf = certificates.first,
        let policies: [SecPolicy] = list(policies ?? SecPolicyCreateBasicX509()), !policies.isEmpty,
        let name = try? ServerName("certificates.invalid")
    else { return errSecParam }
    let created = ServerTrust(
        presented: PresentedChain(leaf: leaf, intermediates: Array(certificates.dropFirst())), name: name,
        store: TrustStore(certificates: []))
    TrustSettings.change(created) { settings in
        settings.policies = .success(policies)
        settings.usesSystemStore = true
    }
    trust = created
    return errSecSuccess
}

/// Sets the policies of a trust in place of the earlier ones: a ``SecPolicy`` or a list of them.
///
/// One path must satisfy all of them. The trust of a challenge has the policy of a server with its hostname until then.
/// The session's own `trustPolicy` applies too.
@discardableResult
public func SecTrustSetPolicies(_ trust: SecTrust, _ policies: CFTypeRef) -> OSStatus {
    let list: [SecPolicy] = list(policies) ?? []
    let isUsable = !list.isEmpty
    TrustSettings.change(trust) { settings in
        settings.policies =
            isUsable
            ? .success(list)
            : .failure(
                .unusable(errSecParam, reason: "SecTrustSetPolicies was called without a policy: pass a SecPolicy"))
    }
    return isUsable ? errSecSuccess : errSecParam
}

/// Sets the anchors of a trust, a list of ``SecCertificate``, in place of the system's or session's.
///
/// With `nil`, those apply again. The trust is refused after an empty list, or one that has anything else in it.
@discardableResult
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus {
    guard let anchorCertificates else {
        TrustSettings.change(trust) { settings in
            settings.anchors = .unset
            settings.isAnchorsOnly = false
        }
        return errSecSuccess
    }
    let certificates: [SecCertificate] = list(anchorCertificates) ?? []
    let isUsable = !certificates.isEmpty
    let store = TrustStore(certificates: certificates)
    TrustSettings.change(trust) { settings in
        settings.anchors =
            isUsable
            ? .set(store)
            : .refused(
                .unusable(
                    errSecParam,
                    reason: "SecTrustSetAnchorCertificates was called without a certificate: pass at least one"))
        settings.isAnchorsOnly = true
    }
    return isUsable ? errSecSuccess : errSecParam
}

/// Sets whether only the anchors of ``SecTrustSetAnchorCertificates(_:_:)`` count, which is so after that call. If
/// false, those of the system or session count too.
@discardableResult
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus {
    TrustSettings.change(trust) { $0.isAnchorsOnly = anchorCertificatesOnly }
    return errSecSuccess
}

/// Returns whether a path satisfies the policies of a trust now.
///
/// If there is none, `error` is an `NSError` with one of the `errSec` codes. Its description is the reason, and its
/// `NSUnderlyingErrorKey` the `TrustFinding` of CertificateTrust, if the settings could be honoured.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: inout CFError?) -> Bool {
    do throws(TrustRefusal) {
        _ = try TrustSettings.evaluate(trust)
        error = nil
        return true
    } catch let refusal {
        error = refusal.error
        return false
    }
}

/// Returns whether a path satisfies the policies of a trust now. The second argument is `nil`, for no error.
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: Never?) -> Bool {
    (try? TrustSettings.evaluate(trust)) != nil
}

/// The outcome of an evaluation, with the names and values of Apple's platforms.
public enum SecTrustResultType: UInt32, Sendable {
    /// There was no evaluation.
    case invalid = 0
    /// The user trusts the chain. No evaluation ends with it.
    case proceed = 1
    /// The user distrusts the chain. No evaluation ends with it.
    case deny = 3
    /// The chain is trusted.
    case unspecified = 4
    /// The chain isn't trusted, and other settings might change that. No evaluation ends with it.
    case recoverableTrustFailure = 5
    /// The chain isn't trusted.
    case fatalTrustFailure = 6
    /// The settings can't be honoured.
    case otherError = 7
}

/// Evaluates a trust, without the reason. The result is `unspecified` if a path satisfies the policies.
///
/// The status is an error only if the settings can't be honoured.
@available(*, deprecated, message: "Use SecTrustEvaluateWithError, which gives the reason.")
@discardableResult
public func SecTrustEvaluate(_ trust: SecTrust, _ result: inout SecTrustResultType) -> OSStatus {
    do throws(TrustRefusal) {
        _ = try TrustSettings.evaluate(trust)
        result = .unspecified
        return errSecSuccess
    } catch .untrusted {
        result = .fatalTrustFailure
        return errSecSuccess
    } catch {
        result = .otherError
        return error.status
    }
}

/// Returns the certificates of the path that satisfies the policies now, leaf first and anchor last.
///
/// Certificates that the server presented and that aren't part of the path aren't returned, so that a pin can't match
/// them. If no path satisfies the policies, returns the longest one whose signatures are valid, which is at least the
/// leaf. Returns `nil` if the settings can't be honoured.
public func SecTrustCopyCertificateChain(_ trust: SecTrust) -> CFArray? {
    TrustSettings.chain(of: trust)
}

/// Returns the number of certificates that ``SecTrustCopyCertificateChain(_:)`` returns.
public func SecTrustGetCertificateCount(_ trust: SecTrust) -> CFIndex {
    TrustSettings.chain(of: trust)?.count ?? 0
}

/// Returns one of the certificates that ``SecTrustCopyCertificateChain(_:)`` returns, or `nil` if there is none at
/// `ix`.
@available(*, deprecated, message: "Use SecTrustCopyCertificateChain.")
public func SecTrustGetCertificateAtIndex(_ trust: SecTrust, _ ix: CFIndex) -> SecCertificate? {
    guard let chain = TrustSettings.chain(of: trust), chain.indices.contains(ix) else { return nil }
    return chain[ix]
}

/// Returns the key of the leaf, whether or not the chain is trusted.
public func SecTrustCopyKey(_ trust: SecTrust) -> SecKey? {
    trust.presented.leaf.subjectPublicKeyInfo
}

/// Returns the key of the leaf, whether or not the chain is trusted.
@available(*, deprecated, renamed: "SecTrustCopyKey")
public func SecTrustCopyPublicKey(_ trust: SecTrust) -> SecKey? {
    SecTrustCopyKey(trust)
}

/// Returns the elements of a list or the one value. Returns `nil` if any is of another type.
private func list<Element>(_ value: Any) -> [Element]? {
    if let element = value as? Element { return [element] }
    return value as? [Element]
}
