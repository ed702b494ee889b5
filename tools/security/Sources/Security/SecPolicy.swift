// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// A requirement for a path, which ``SecTrustSetPolicies(_:_:)`` sets.
public struct SecPolicy: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case basicX509
        /// Without a host, the name isn't checked.
        case server(host: String?)
        case client
        case revocation(flags: CFOptionFlags)
    }

    let kind: Kind
}

/// Returns the policy of path validation alone (RFC 5280, section 6), for any purpose and without a hostname.
public func SecPolicyCreateBasicX509() -> SecPolicy { SecPolicy(kind: .basicX509) }

/// Returns the policy of a TLS server.
///
/// If `hostname` is `nil`, a certificate for any host is accepted, as on Apple's platforms. Every trust is refused
/// under a policy for TLS clients (`server` is false), which is unsupported, and one for a hostname that isn't valid.
public func SecPolicyCreateSSL(_ server: Bool, _ hostname: CFString?) -> SecPolicy {
    SecPolicy(kind: server ? .server(host: hostname) : .client)
}

/// Returns a policy that checks revocation, or `nil` if `revocationFlags` has an unknown flag or no method.
///
/// Nothing is fetched. The evidence is the session's `revocationEvidence`: lists, and an OCSP response if the program
/// has one, because the client requests none. All of it can reject a certificate, whatever the methods. With
/// ``kSecRevocationRequirePositiveResponse``, every certificate below the anchor needs evidence that it is good, from
/// one of the methods.
public func SecPolicyCreateRevocation(_ revocationFlags: CFOptionFlags) -> SecPolicy? {
    let known =
        kSecRevocationUseAnyAvailableMethod | kSecRevocationPreferCRL | kSecRevocationRequirePositiveResponse
        | kSecRevocationNetworkAccessDisabled
    guard revocationFlags & ~known == 0, revocationFlags & kSecRevocationUseAnyAvailableMethod != 0 else { return nil }
    return SecPolicy(kind: .revocation(flags: revocationFlags))
}

/// The OCSP response in the session's evidence.
public let kSecRevocationOCSPMethod: CFOptionFlags = 1 << 0
/// The revocation lists in the session's evidence.
public let kSecRevocationCRLMethod: CFOptionFlags = 1 << 1
/// Lists before responses. It has no effect, because all evidence counts.
public let kSecRevocationPreferCRL: CFOptionFlags = 1 << 2
/// Evidence that every certificate below the anchor is good.
public let kSecRevocationRequirePositiveResponse: CFOptionFlags = 1 << 3
/// No network access. It has no effect, because there never is any.
public let kSecRevocationNetworkAccessDisabled: CFOptionFlags = 1 << 4
/// Both methods.
public let kSecRevocationUseAnyAvailableMethod: CFOptionFlags = kSecRevocationOCSPMethod | kSecRevocationCRLMethod
