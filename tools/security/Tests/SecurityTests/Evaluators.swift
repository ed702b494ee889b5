import Foundation
import PinnedNetworking
import Security
import Synchronization

/// A check of a server's trust, written with Apple's functions as programs and libraries have it.
struct Evaluator: Sendable {
    let check: @Sendable (_ trust: SecTrust, _ host: String) throws -> Void

    /// The system's verdict, with or without the host.
    static func system(checksHost: Bool = true) -> Evaluator {
        Evaluator { trust, host in try trust.check(SecPolicyCreateSSL(true, checksHost ? host as CFString : nil)) }
    }

    /// The system's verdict, and one of these certificates in the chain.
    static func certificates(_ pinned: [SecCertificate], areAnchors: Bool = false) -> Evaluator {
        Evaluator { trust, host in
            if areAnchors {
                try OSError.check(SecTrustSetAnchorCertificates(trust, pinned as CFArray))
                try OSError.check(SecTrustSetAnchorCertificatesOnly(trust, true))
            }
            try trust.check(SecPolicyCreateSSL(true, host as CFString))
            guard trust.certificates.contains(where: pinned.contains) else { throw PinError() }
        }
    }

    /// The system's verdict, and one of these keys in the chain. With `isAlone`, only the key.
    static func keys(_ pinned: [SecKey], isAlone: Bool = false) -> Evaluator {
        Evaluator { trust, host in
            if !isAlone { try trust.check(SecPolicyCreateSSL(true, host as CFString)) }
            for certificate in trust.certificates {
                var single: SecTrust?
                try OSError.check(SecTrustCreateWithCertificates(certificate, SecPolicyCreateBasicX509(), &single))
                if let key = single.flatMap(SecTrustCopyKey), pinned.contains(key) { return }
            }
            throw PinError()
        }
    }

    /// These anchors, besides or in place of the usual ones.
    static func anchors(_ anchors: [SecCertificate], only: Bool) -> Evaluator {
        Evaluator { trust, _ in
            try OSError.check(SecTrustSetAnchorCertificates(trust, anchors as CFArray))
            try OSError.check(SecTrustSetAnchorCertificatesOnly(trust, only))
            try trust.check(nil)
        }
    }

    /// Only the anchors that the trust has already.
    static let ownAnchorsOnly = Evaluator { trust, _ in
        try OSError.check(SecTrustSetAnchorCertificatesOnly(trust, true))
        try trust.check(nil)
    }

    /// A revocation check after the system's verdict.
    static func revocation(_ flags: CFOptionFlags) -> Evaluator {
        Evaluator { trust, host in
            guard let revocation = SecPolicyCreateRevocation(flags) else { throw PinError() }
            try trust.check(SecPolicyCreateSSL(true, host as CFString))
            try trust.check(revocation)
            try trust.check([SecPolicyCreateSSL(true, host as CFString), revocation] as CFArray)
        }
    }

    static func all(_ evaluators: [Evaluator]) -> Evaluator {
        Evaluator { trust, host in for evaluator in evaluators { try evaluator.check(trust, host) } }
    }

    static let none = Evaluator { _, _ in }
}

/// The pins don't match.
struct PinError: Error {}

/// A call failed with this status.
struct OSError: Error {
    let status: OSStatus

    static func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw OSError(status: status) }
    }
}

extension SecTrust {
    /// Evaluates the trust under new policies, or with `nil` under those that it has.
    fileprivate func check(_ policies: CFTypeRef?) throws {
        if let policies { try OSError.check(SecTrustSetPolicies(self, policies)) }
        var error: CFError?
        guard SecTrustEvaluateWithError(self, &error) else { throw error ?? CFError(domain: "none", code: 0) }
    }

    var certificates: [SecCertificate] { (SecTrustCopyCertificateChain(self) as? [SecCertificate]) ?? [] }
}

/// Answers server trust challenges with an evaluator, and keeps the last error.
final class EvaluatingDelegate: NSObject, URLSessionTaskDelegate {
    private let evaluator: Evaluator
    private let lastError = Mutex<(any Error)?>(nil)

    init(_ evaluator: Evaluator) { self.evaluator = evaluator }

    var error: (any Error)? { lastError.withLock { $0 } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(.performDefaultHandling, nil)
        }
        do {
            try evaluator.check(trust, challenge.protectionSpace.host)
            completionHandler(.useCredential, URLCredential(trust: trust))
        } catch {
            lastError.withLock { $0 = error }
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }
}
