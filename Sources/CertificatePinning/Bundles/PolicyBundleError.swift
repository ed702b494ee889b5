import PinctlBasics
public import PinctlFoundation

/// The reason why a policy bundle is refused.
@nonexhaustive
public enum PolicyBundleError: Error, Hashable, Sendable {
    /// The bundle isn't what it should be. The text is the problem.
    case malformed(String)
    /// The bundle has more bytes than the limit.
    case tooLarge(limit: Int)
    /// The bundle or key set is for another application.
    case otherAudience(String, expected: String)
    /// Fewer keys of the key set than its threshold have signed the document with this name.
    case tooFewSignatures(String, found: Int, threshold: Int, keySet: Int)
    /// Too few signatures of the document with this name are valid, and others claim a key of the key set, but don't
    /// match what they sign.
    case invalidSignatures(String, found: Int, keySet: Int)
    /// The bundle is signed by an older key set than the one in force.
    case retiredKeySet(Int, current: Int)
    /// The bundle's key sets don't lead from the one in force to the one that signed it.
    case missingKeySet(Int)
    /// The bundle is older than the one in force.
    case rollback(sequence: Int, current: Int)
    /// The bundle differs from the one in force, but has the same sequence number.
    case equivocation(sequence: Int)
    /// The bundle was issued later than now.
    case notYetIssued(Date, now: Date)
    /// The bundle has expired.
    case expired(Date, now: Date)
    /// The policy in the bundle isn't valid.
    case policy(PolicyFileError)
}

extension PolicyBundleError: CustomStringConvertible {
    /// The problem and the remedy.
    public var description: String {
        switch self {
        case .malformed(let problem): "the file is malformed: \(visibleText(problem))"
        case .tooLarge(let limit): "the bundle has more than \(limit) bytes: remove what clients don't need"
        case .otherAudience(let audience, let expected):
            "the bundle is for \(quoted(audience)), not for \(quoted(expected)): publish each application's own"
        case .tooFewSignatures(let name, 0, let threshold, let keySet):
            "\(name) has none of the \(threshold) valid \(threshold == 1 ? "signature" : "signatures") that key set "
                + "\(keySet) requires: sign it with keys of this set, or give the set whose keys signed it"
        case .tooFewSignatures(let name, let found, let threshold, let keySet):
            "\(name) has \(found) of \(threshold) valid signatures that key set \(keySet) requires: sign it with more "
                + "keys"
        case .invalidSignatures(let name, 0, let keySet):
            "the signatures of key set \(keySet) don't match, so \(name) was changed after signing: get it again from "
                + "its signer"
        case .invalidSignatures(let name, _, let keySet):
            "\(name) has a signature that doesn't match, with the name of a key in key set \(keySet): sign it again "
                + "with that key"
        case .retiredKeySet(let number, let current):
            "the bundle is signed by key set \(number), which key set \(current) has replaced: sign it with the keys "
                + "in use"
        case .missingKeySet(let number):
            "the bundle doesn't contain key set \(number), which leads to the one that signed it: "
                + "create it from the bundle before it"
        case .rollback(let sequence, let current):
            "the bundle has sequence number \(sequence), but \(current) is already in force: publish the latest bundle"
        case .equivocation(let sequence):
            "the bundle differs from the one in force, which also has sequence number \(sequence): "
                + "publish it with a higher number"
        case .notYetIssued(let date, let now):
            "the bundle was issued at \(date.rfc3339), later than the current time \(now.rfc3339): check the clock"
        case .expired(let date, let now):
            "the bundle has expired (valid until \(date.rfc3339), current time \(now.rfc3339)): "
                + "publish a new one, or check the clock"
        case .policy(let error): "the policy in the bundle is invalid: \(error)"
        }
    }
}
