import CertificatePinning
import CertificateTrust
import PinctlBasics

/// JSON Web Keys (RFC 7517), a single one or a set. Private parts are ignored.
enum WebKeys {
    static func objects(in document: JSONCReader.Document) throws(InputProblem) -> [InputObject] {
        guard let root = document.root, document.problems.isEmpty else {
            let problem = document.problems.first
            let place = problem.map { "line \($0.position.line): \($0.message)" } ?? "it is empty"
            throw InputProblem(reason: "isn't valid JSON: \(place)", kind: .irrelevant("text"))
        }
        let keys = root["keys"]?.elements ?? root.elements ?? [root]
        guard !keys.isEmpty, keys.allSatisfy({ $0["kty"]?.string != nil }) else {
            throw InputProblem(
                reason: root["domains"] != nil
                    ? "is a policy, which contains pins but no keys: use pinctl lint or pinctl export"
                    : "is JSON, but not a JSON Web Key: give an object with \"kty\", or a set with \"keys\"",
                kind: .irrelevant(root["domains"] != nil ? "file of pins" : "JSON file"))
        }
        return keys.enumerated().map { index, key in
            InputObject(
                index: index, line: Int(key.position.line), content: content(of: key), isPrivateKey: key["d"] != nil)
        }
    }

    private static func content(of key: JSONValue) -> Result<InputObject.Content, InputProblem> {
        guard let kind = key["kty"]?.string, let info = subjectPublicKeyInfo(of: key, kind),
            let material = try? KeyMaterial(der: info.span)
        else {
            return .failure(
                InputProblem(reason: "isn't a valid JSON Web Key of type RSA, EC or OKP: give its certificate"))
        }
        return .success(.key(material))
    }

    private static func subjectPublicKeyInfo(of key: JSONValue, _ kind: String) -> [UInt8]? {
        switch kind {
        case "RSA":
            guard let modulus = bytes(key["n"]), let exponent = bytes(key["e"]) else { return nil }
            return KeyEncoding.rsa(modulus: modulus, exponent: exponent)
        case "EC":
            let curves: [String: KeyEncoding.Curve] = ["P-256": .p256, "P-384": .p384, "P-521": .p521]
            // Each coordinate has the full length of the curve (RFC 7518, section 6.2.1.2).
            guard let curve = key["crv"]?.string.flatMap({ curves[$0] }), let x = bytes(key["x"]),
                let y = bytes(key["y"]), x.count == curve.size, y.count == curve.size
            else { return nil }
            return KeyEncoding.elliptic(curve, point: [4] + x + y)
        case "OKP":
            let curves: [String: KeyEncoding.Edwards] = ["Ed25519": .ed25519, "Ed448": .ed448]
            guard let curve = key["crv"]?.string.flatMap({ curves[$0] }), let x = bytes(key["x"]) else { return nil }
            return KeyEncoding.edwards(curve, x)
        default: return nil
        }
    }

    /// Decodes base64url without padding (RFC 7515, section 2).
    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string, !text.isEmpty, !text.contains(where: { "+/=".contains($0) }) else { return nil }
        let standard = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
        return Base64.decodeCanonical(Array((standard + padding).utf8))
    }
}
