import CertificateTrust
import Foundation
import PinctlTestPKI

/// The owner of signing keys, who writes bundles and key sets of any kind, valid or not, without the project's own
/// writer.
struct Publisher {
    static let audience = "com.example.app"
    /// The time around which bundles are valid, unless a test says otherwise.
    static let now = Date(timeIntervalSince1970: 1_790_000_000)

    /// Five keys, of both kinds.
    static let keys = Result<[Key], any Error> {
        try [.ed25519, .p256, .ed25519, .p256, .ed25519].map { try Key($0) }
    }

    struct Key: Sendable {
        let key: MessageSigningKey
        let pem: String

        init(_ kind: TestKey.Kind) throws {
            pem = try TestKey(kind).privateKeyPEM
            key = try MessageSigningKey(pem: Array(pem.utf8), password: nil)
        }

        var name: String { key.publicKey.fingerprint.description }
        var base64: String { Data(key.publicKey.derBytes).base64EncodedString() }
    }

    let keys: [Key]

    init() throws { keys = try Self.keys.get() }

    /// The P-256 key at a position with a compressed point, in Base64.
    func compressed(_ index: Int) -> String {
        let der = keys[index].key.publicKey.derBytes
        let point = [2 + (der[der.count - 1] & 1)] + der.suffix(64).prefix(32)
        let algorithm = Array(der[2..<23])
        return Data([0x30, 0x39] + algorithm + [0x03, 0x22, 0x00] + point).base64EncodedString()
    }

    // MARK: Documents

    /// A key set with the keys at these positions.
    func keySet(
        _ members: [Int], threshold: Int = 2, number: Int = 1, audience: String = audience
    ) -> String {
        let keys = members.map { "\"\(self.keys[$0].base64)\"" }.joined(separator: ", ")
        return """
            {"version": 1, "audience": "\(audience)", "number": \(number), "threshold": \(threshold), "keys": [\(keys)]}
            """
    }

    static func policy(_ host: String = "api.example.com", pin: String = String(repeating: "A", count: 43) + "=")
        -> String
    {
        """
        {"version": 1, "domains": [{"host": "\(host)", "pins": ["sha256/\(pin)"]}]}
        """
    }

    struct Contents {
        var audience = Publisher.audience
        var sequence = 1
        var issued = Publisher.now - 3_600
        var expires = Publisher.now + 86_400
        var keySet = 1
        var policy = "pins.json"
        var files = ["pins.json": Publisher.policy()]
        var more = ""

        var text: String {
            let files = files.sorted { $0.key < $1.key }
                .map { "\"\($0.key)\": \"\(Data($0.value.utf8).base64EncodedString())\"" }
            return """
                {"version": 1, "audience": "\(audience)", "sequence": \(sequence), \
                "issued": "\(issued.ISO8601Format())", "expires": "\(expires.ISO8601Format())", "keySet": \(keySet), \
                "policy": "\(policy)", "files": {\(files.joined(separator: ", "))}\(more)}
                """
        }
    }

    static let bundleType = "application/vnd.pinctl.policy-bundle.v1+json"
    static let keySetType = "application/vnd.pinctl.key-set.v1+json"

    /// Returns an envelope's members, signed with the keys at these positions over DSSE's encoding.
    func envelope(
        _ payload: String, _ type: String = bundleType, signers: [Int], signingType: String? = nil
    ) throws -> String {
        let signed = signingType ?? type
        let message = "DSSEv1 \(signed.utf8.count) \(signed) \(payload.utf8.count) \(payload)"
        let signatures = try signers.map { index in
            let signature = try keys[index].key.sign(Array(message.utf8))
            return "{\"keyid\": \"\(keys[index].name)\", \"sig\": \"\(Data(signature).base64EncodedString())\"}"
        }
        return """
            "payloadType": "\(type)", "payload": "\(Data(payload.utf8).base64EncodedString())", \
            "signatures": [\(signatures.joined(separator: ", "))]
            """
    }

    /// Returns a bundle that is signed by the keys at these positions.
    func bundle(
        _ contents: Contents = Contents(), signers: [Int] = [0, 1], keySets: [String] = []
    ) throws -> String {
        let sets = keySets.map { "{\($0)}" }.joined(separator: ", ")
        return "{\(try envelope(contents.text, signers: signers)), \"keySets\": [\(sets)]}"
    }

    /// Returns a bundle with this sequence number, and a policy that shows it.
    func bundle(sequence: Int, signers: [Int] = [0, 1]) throws -> String {
        try bundle(
            Contents(sequence: sequence, files: ["pins.json": Self.policy("host\(sequence).example")]), signers: signers
        )
    }

    /// Returns a signed key set.
    func signedKeySet(_ text: String, signers: [Int]) throws -> String {
        try envelope(text, Self.keySetType, signers: signers)
    }
}
