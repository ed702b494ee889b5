import CertificateTrust
import PinctlBasics

/// A document with its signatures, in the form of a DSSE envelope: the bytes that were signed are stored as they are,
/// and a signature also covers the document's type.
///
/// Source: the DSSE specification, version 1.0.2 (github.com/secure-systems-lab/dsse). Members other than its own are
/// the caller's.
struct SignedDocument: Sendable, Hashable {
    struct Signature: Sendable, Hashable {
        /// The pin of the key that made the signature, as the signer claims.
        let key: SPKIFingerprint
        let bytes: [UInt8]
    }

    let type: String
    let payload: [UInt8]
    var signatures: [Signature]

    /// The maximum number of signatures. Each is verified only if its key is known.
    static let maximumSignatures = 32

    init(type: String, payload: [UInt8], signatures: [Signature] = []) {
        self.type = type
        self.payload = payload
        self.signatures = signatures
    }

    /// The bytes that signatures are made over: DSSE's pre-authentication encoding of the type and the payload.
    var signedBytes: [UInt8] {
        Array("DSSEv1 \(type.utf8.count) \(type) \(payload.count) ".utf8) + payload
    }

    /// Returns the keys among `keys` that signed the document. A key counts once, however often it signed.
    func signers(among keys: [SubjectPublicKeyInfo]) -> Set<SPKIFingerprint> {
        let known = Dictionary(keys.map { ($0.fingerprint, $0) }) { first, _ in first }
        let message = signedBytes
        var signers: Set<SPKIFingerprint> = []
        for signature in signatures where !signers.contains(signature.key) {
            // mutant bundle-distinct: true for 2 by PolicyBundleTests
            guard let key = known[signature.key], key.verifies(signature.bytes, over: message) else { continue }
            signers.insert(signature.key)
        }
        return signers
    }
}

// MARK: JSON

extension SignedDocument {
    /// The members of an envelope.
    static let keys = [
        PolicyKey("payloadType", .string, isRequired: true),
        PolicyKey("payload", .string, isRequired: true),
        PolicyKey(
            "signatures",
            .array(
                of: .object([
                    PolicyKey("keyid", .string, isRequired: true), PolicyKey("sig", .string, isRequired: true),
                ])), isRequired: true),
    ]

    /// Reads an envelope whose shape was checked.
    init(_ value: JSONValue, type: String) throws(PolicyBundleError) {
        guard let found = value["payloadType"]?.string, let text = value["payload"]?.string,
            let elements = value["signatures"]?.elements
        else { throw .malformed("it isn't a signed document") }
        // mutant bundle-type: true by PolicyBundleTests
        guard found == type else { throw .malformed("its type is \(quoted(found)), not \(quoted(type))") }
        guard let payload = Base64.decodeCanonical(Array(text.utf8)) else {
            throw .malformed("\"payload\" isn't Base64")
        }
        // mutant bundle-signature-count: true by PolicyBundleTests/refused
        guard elements.count <= Self.maximumSignatures else {
            throw .malformed("it has \(elements.count) signatures, more than \(Self.maximumSignatures)")
        }
        var signatures: [Signature] = []
        for element in elements {
            guard let name = element["keyid"]?.string, let key = SPKIFingerprint(name) else {
                throw .malformed("\"keyid\" isn't sha256/BASE64")
            }
            guard let text = element["sig"]?.string, let bytes = Base64.decodeCanonical(Array(text.utf8)) else {
                throw .malformed("\"sig\" isn't Base64")
            }
            signatures.append(Signature(key: key, bytes: bytes))
        }
        self.init(type: type, payload: payload, signatures: signatures)
    }

    /// The members of the envelope.
    var members: [(String, JSON)] {
        [
            ("payloadType", .string(type)), ("payload", .string(Base64.encode(payload.span))),
            (
                "signatures",
                .array(
                    signatures.map {
                        .object([
                            ("keyid", .string($0.key.description)), ("sig", .string(Base64.encode($0.bytes.span))),
                        ])
                    })
            ),
        ]
    }
}
