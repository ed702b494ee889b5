import CertificateTrust
import PinctlBasics

/// The keys in the file that a pin claims to come from.
package struct LintEvidence: Sendable {
    /// The path of the file as written in the policy.
    package let file: String
    /// The keys in the file, in order, up to a limit of 64.
    package let keys: [KeyHolder]
    /// The reason why there are no keys, if there are none.
    package let failure: String?

    private static let limit = 64

    private static let maximumSize = 8 << 20

    /// Reads the keys in a file.
    init(file: String, in directory: PolicyDirectory) {
        var keys: [KeyHolder] = []
        var failure: String?
        do throws(InputFileError) {
            let bytes = try directory.contents(file, Self.maximumSize)
            do throws(KeyFile.Failure) {
                try KeyFile.read(bytes) { item in
                    guard keys.count < Self.limit else { return }
                    switch item.content {
                    case .success(let material):
                        if let holder = KeyHolder(material) { keys.append(holder) }
                    case .failure(let error): failure = failure ?? error.description
                    }
                }
            } catch {
                failure = error.description
            }
        } catch {
            failure = error.description
        }
        self.file = file
        self.keys = keys
        self.failure = keys.isEmpty ? failure ?? "has no key: name a certificate, a request or a public key" : nil
    }
}

extension KeyHolder {
    /// Creates a key holder from the content of a file. Returns nil if its certificate is malformed.
    init?(_ material: KeyMaterial) {
        switch material.certificate {
        case .success(let certificate): self.init(certificate)
        case .failure: return nil
        case nil:
            guard let key = try? SubjectPublicKeyInfo(derBytes: material.subjectPublicKeyInfo) else { return nil }
            self.init(key)
        }
    }
}
