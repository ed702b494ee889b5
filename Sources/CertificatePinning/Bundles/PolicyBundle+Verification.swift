public import CertificateTrust
import PinctlBasics
public import PinctlFoundation

/// The trust of a program before it receives a bundle: a key set, and the bundle that it had last, if any.
public struct PolicyBundleTrust: Sendable, Hashable {
    /// The key set in force.
    public let keySet: PolicyKeySet
    /// The highest sequence number that was accepted, or that of the policy that the program was built with. It is 0 if
    /// every bundle is newer.
    public let sequence: Int
    /// The signed bytes of the bundle with this number, or `nil` if the program was built with it.
    let payload: [UInt8]?

    /// Creates the trust of a program that was built with a key set, and with the policy of the bundle `sequence`.
    public init(keySet: PolicyKeySet, sequence: Int = 0) {
        self.init(keySet: keySet, sequence: sequence, payload: nil)
    }

    init(keySet: PolicyKeySet, sequence: Int, payload: [UInt8]?) {
        self.keySet = keySet
        self.sequence = sequence
        self.payload = payload
    }
}

/// A bundle whose signatures, audience, sequence number and policy are valid.
public struct VerifiedPolicyBundle: Sendable {
    /// The bundle as received.
    public let bundle: PolicyBundle
    /// The policy.
    public let policy: PinningPolicy
    /// The pins of the keys that signed the bundle, in the order of the key set.
    public let signers: [SPKIFingerprint]
    /// The trust of a program that accepts the bundle.
    public let trust: PolicyBundleTrust
}

extension PolicyBundle {
    /// The time by which a client's clock may be slow: five minutes.
    static let clockTolerance = 300.0

    /// Verifies the bundle for a program with this trust at a time. Throws the first reason to refuse it.
    ///
    /// The key sets in the bundle are followed from the one in force. Then enough keys of the last one must have signed
    /// the bundle, which must be for the same application, as new as the one in force or newer, and valid now.
    public func verified(by trust: PolicyBundleTrust, at time: Date) throws(PolicyBundleError) -> VerifiedPolicyBundle {
        let verified = try verifiedAtAnyTime(by: trust)
        // mutant bundle-future: true by PolicyBundleTests
        guard issued.timeIntervalSince(time) <= Self.clockTolerance else { throw .notYetIssued(issued, now: time) }
        // mutant bundle-expired: true by PolicyBundleTests
        guard time < expires else { throw .expired(expires, now: time) }
        return verified
    }

    /// Verifies everything but the times of the bundle.
    package func verifiedAtAnyTime(by trust: PolicyBundleTrust) throws(PolicyBundleError) -> VerifiedPolicyBundle {
        let keySet = try keySet(after: trust.keySet)
        let signers = try keySet.requireSignatures(on: document, "the bundle")
        // mutant bundle-audience: true by PolicyBundleTests
        guard audience == keySet.audience else { throw .otherAudience(audience, expected: keySet.audience) }
        // mutant bundle-rollback: true by PolicyBundleTests PolicyUpdaterTests
        guard sequence >= trust.sequence else { throw .rollback(sequence: sequence, current: trust.sequence) }
        // mutant bundle-equivocation: false for 1 by PolicyBundleTests
        if sequence == trust.sequence, let payload = trust.payload, payload != document.payload {
            throw .equivocation(sequence: sequence)
        }
        let policy: PinningPolicy
        do throws(PolicyFileError) {
            policy = try policyFile(in: "bundle \(sequence) of \(visibleText(audience))").policy
        } catch {
            throw .policy(error)
        }
        return VerifiedPolicyBundle(
            bundle: self, policy: policy, signers: signers,
            trust: PolicyBundleTrust(keySet: keySet, sequence: sequence, payload: document.payload))
    }

    /// Returns the key set that has to sign the bundle, to which the key sets in the bundle lead from the one in force.
    private func keySet(after current: PolicyKeySet) throws(PolicyBundleError) -> PolicyKeySet {
        var last = current
        for document in keySets {
            let number = try PolicyKeySet(json: document.payload).number
            // The sets before the one in force lead to it, and were followed earlier.
            guard number > last.number else { continue }
            // mutant key-set-order: true by PolicyBundleTests
            guard number == last.number + 1 else { throw .missingKeySet(last.number + 1) }
            last = try last.next(in: document)
        }
        // mutant key-set-retired: true by PolicyBundleTests
        guard keySetNumber >= last.number else { throw .retiredKeySet(keySetNumber, current: last.number) }
        guard keySetNumber == last.number else { throw .missingKeySet(last.number + 1) }
        return last
    }
}
