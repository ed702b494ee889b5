import CertificateTrust

/// The keys of the file that a pin is said to come from.
package struct LintEvidence: Sendable {
    /// The file, as it was named.
    package let file: String
    /// Its keys, in order; of a file with any number, the first ones.
    package let keys: [KeyHolder]
    /// Why there are none.
    package let failure: String?

    private static let limit = 64

    /// Reads a file.
    package init(file: String) {
        var keys: [KeyHolder] = []
        var failure: String?
        do throws(InputFileError) {
            let input = try InputFile(path: file)
            do throws(KeyFile.Failure) {
                try KeyFile.read(input) { item in
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
        self.failure = keys.isEmpty ? failure ?? "holds no key: name a certificate, a request or a public key" : nil
    }
}

extension KeyHolder {
    /// What a file holds; nil when its certificate is malformed.
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
