import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics

/// The certificates in a configuration profile of Apple's systems (.mobileconfig).
enum ProfileKeys {
    /// The prefix of the payload types that have a certificate: root, intermediate, PEM and PKCS #12.
    private static let payloadTypes = "com.apple.security."

    /// Returns the objects of a profile, or `nil` if the text isn't one.
    static func objects(in text: [UInt8], _ password: KeyPassword) throws(InputProblem) -> [InputObject]? {
        guard String(decoding: text, as: UTF8.self).contains("PayloadContent") else { return nil }
        let list: PropertyList
        do throws(PolicyFileError) {
            list = try PropertyList.read(text, path: "profile")
        } catch {
            throw InputProblem(
                reason: "is a configuration profile that cannot be read: \(error.firstProblem ?? "it is empty")",
                kind: .unknown)
        }
        var objects: [InputObject] = []
        for (index, payload) in (list["PayloadContent"]?.elements ?? []).enumerated() {
            guard payload["PayloadType"]?.string?.hasPrefix(payloadTypes) == true,
                case .data(let bytes)? = payload["PayloadContent"]?.kind
            else { continue }
            let part = "PayloadContent[\(index)]"
            do throws(KeyFile.Failure) {
                try KeyFile.read(Array(bytes), password: password) { item in
                    var object = InputObject(item)
                    (object.index, object.part) = (objects.count, part)
                    object.line = Int(payload.position.line)
                    objects.append(object)
                }
            } catch {
                let problem = InputProblem(
                    reason: "the payload \(part) \(error): add its certificate again", kind: .unknown)
                objects.append(InputObject(index: objects.count, content: .failure(problem), part: part))
            }
        }
        guard !objects.isEmpty else {
            throw InputProblem(
                reason: "is a configuration profile without certificates: give one with a payload of type "
                    + payloadTypes + "root", kind: .irrelevant("configuration profile without certificates"))
        }
        return objects
    }
}
