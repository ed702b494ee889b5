public import CertificateTrust
import PinctlBasics

/// The keys that sign the policy bundles of an application, and how many of them must.
///
/// A program is built with one key set. A later set replaces it only if enough keys of the set before and enough of its
/// own have signed it, so an attacker with fewer keys than the threshold can't replace it.
public struct PolicyKeySet: Sendable, Hashable {
    /// The application that the bundles are for, such as `com.example.app`.
    public let audience: String
    /// The number of the set, from 1. Each set replaces the one before it.
    public let number: Int
    /// The number of keys that must sign.
    public let threshold: Int
    /// The public keys, Ed25519 or EC P-256, without duplicates: at most 16.
    public let keys: [SubjectPublicKeyInfo]

    static let maximumKeys = 16
    /// The type of a signed key set.
    static let type = "application/vnd.pinctl.key-set.v1+json"

    static let shape = PolicyShape.object([
        PolicyKey("version", .number(1...1), isRequired: true),
        PolicyKey("audience", .string, isRequired: true),
        PolicyKey("number", .number(1...PolicyBundle.maximumNumber), isRequired: true),
        PolicyKey("threshold", .number(1...maximumKeys), isRequired: true),
        PolicyKey("keys", .array(of: .string, minimum: 1), isRequired: true),
    ])

    /// Reads a key set, which is JSON:
    ///
    ///     { "version": 1, "audience": "com.example.app", "number": 1, "threshold": 2, "keys": ["BASE64", …] }
    ///
    /// Each key is the Base64 of a DER SubjectPublicKeyInfo.
    public init(json: [UInt8]) throws(PolicyBundleError) {
        let root = try bundleJSON(json, Self.shape, "the key set")
        // mutant key-set-no-audience: true for 2 by PolicyBundleTests/refused
        guard let audience = root["audience"]?.string, !audience.isEmpty else {
            throw .malformed("\"audience\" of the key set is empty: write the identifier of your application")
        }
        var keys: [SubjectPublicKeyInfo] = []
        for value in root["keys"]?.elements ?? [] {
            guard let bytes = value.string.flatMap({ Base64.decodeCanonical(Array($0.utf8)) }),
                // mutant key-set-algorithm: true for 2 by PolicyBundleTests
                let key = try? SubjectPublicKeyInfo(derBytes: bytes), key.signsMessages
            else {
                throw .malformed(
                    "a key of the key set isn't Ed25519 or EC P-256 (uncompressed): write what openssl pkey -pubout "
                        + "-outform DER prints, in Base64")
            }
            // mutant key-set-duplicate: true by PolicyBundleTests
            guard !keys.contains(key) else { throw .malformed("the key set has a key twice: remove one of them") }
            keys.append(key)
        }
        guard let number = root["number"]?.integer, let threshold = root["threshold"]?.integer,
            // mutant key-set-threshold: true for 2 by PolicyBundleTests
            // mutant key-set-size: true for 1 by PolicyBundleTests/refused
            keys.count <= Self.maximumKeys, threshold <= keys.count
        else {
            throw .malformed(
                "the key set has \(keys.count) keys and a threshold of \(root["threshold"]?.integer ?? 0): use at most "
                    + "\(Self.maximumKeys) keys, and a threshold of at most their number")
        }
        self.audience = audience
        self.number = number
        self.threshold = threshold
        self.keys = keys
    }

    /// The set as JSON.
    package var json: [UInt8] {
        let object = JSON.object([
            ("version", 1), ("audience", .string(audience)), ("number", .integer(number)),
            ("threshold", .integer(threshold)),
            ("keys", .array(keys.map { .string(Base64.encode($0.derBytes.span)) })),
        ])
        return Array((object.lines() + "\n").utf8)
    }

    /// Throws unless enough keys of this set have signed a document. Returns those that have, in the set's order.
    func requireSignatures(on document: SignedDocument, _ name: String) throws(PolicyBundleError) -> [SPKIFingerprint] {
        let signers = document.signers(among: keys)
        // mutant bundle-threshold: true by PolicyBundleTests
        guard signers.count >= threshold else {
            let claimed = document.signatures.filter { signature in keys.contains { $0.fingerprint == signature.key } }
            guard claimed.allSatisfy({ signers.contains($0.key) }) else {
                throw .invalidSignatures(name, found: signers.count, keySet: number)
            }
            throw .tooFewSignatures(name, found: signers.count, threshold: threshold, keySet: number)
        }
        return keys.map(\.fingerprint).filter(signers.contains)
    }

    /// Returns the set in a signed document, which must be the next one after this set: signed by enough keys of this
    /// set, and by enough of its own, which shows that they can sign.
    func next(in document: SignedDocument) throws(PolicyBundleError) -> PolicyKeySet {
        let next = try PolicyKeySet(json: document.payload)
        // mutant key-set-audience: true by PolicyBundleTests
        guard next.audience == audience else { throw .otherAudience(next.audience, expected: audience) }
        // mutant key-set-old: {} by PolicyBundleTests
        _ = try requireSignatures(on: document, "key set \(next.number)")
        // mutant key-set-own: {} by PolicyBundleTests
        _ = try next.requireSignatures(on: document, "key set \(next.number)")
        return next
    }
}

/// Reads strict JSON of this shape.
func bundleJSON(_ bytes: [UInt8], _ shape: PolicyShape, _ name: String) throws(PolicyBundleError) -> JSONValue {
    // mutant bundle-size: true by PolicyBundleTests
    guard bytes.count <= PolicyBundle.maximumSize else { throw .tooLarge(limit: PolicyBundle.maximumSize) }
    let document = JSONCReader.read(bytes, dialect: .json)
    var problems = PolicyProblems(path: name)
    problems.add(document, of: bytes, keys: "its members")
    if let root = document.root { shape.check(root, name, &problems) }
    if let problem = problems.sorted.first {
        throw .malformed(
            "\(name), line \(problem.location.line), column \(problem.location.column): \(problem.message)")
    }
    guard let root = document.root else { throw .malformed("\(name) isn't JSON") }
    return root
}
