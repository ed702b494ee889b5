package import CertificateTrust
import PinctlBasics
package import PinctlFoundation

extension PolicyBundle {
    /// Creates an unsigned bundle from a policy file and the files that it names.
    ///
    /// `keySet` has to sign it. If there is a previous bundle, the new one contains its key sets, and `keySet` is the
    /// last of them, or the next one, which has to be signed too.
    package init(
        policyAt path: String, sequence: Int, issued: Date, expires: Date, rollout: PolicyRollout? = nil,
        keySet: PolicyKeySet, after previous: PolicyBundle? = nil
    ) throws(PolicyBundleError) {
        var keySets = previous?.keySets ?? []
        if let previous, keySet.number == previous.keySetNumber + 1 {
            keySets.append(SignedDocument(type: PolicyKeySet.type, payload: keySet.json))
            // mutant key-set-adjacent: false for 2 by PolicyBundleTests/otherKeySet
        } else if let last = previous?.keySetNumber, last != keySet.number {
            throw .malformed(
                "the bundle before it is signed by key set \(last), not by \(keySet.number) or the one before")
        }
        let (files, name) = try Self.files(ofPolicyAt: path)
        let members: [(String, JSON)] =
            [
                ("version", 1), ("audience", .string(keySet.audience)), ("sequence", .integer(sequence)),
                ("issued", .string(issued.rfc3339)), ("expires", .string(expires.rfc3339)),
                ("keySet", .integer(keySet.number)),
            ] + (rollout.map { [("rollout", $0.json)] } ?? []) + [
                ("policy", .string(name)),
                (
                    "files",
                    .object(files.sorted { $0.key < $1.key }.map { ($0.key, .string(Base64.encode($0.value.span))) })
                ),
            ]
        let payload = JSON.object(members)
        try self.init(
            SignedDocument(type: Self.type, payload: Array((payload.lines() + "\n").utf8)), keySets: keySets)
        // mutant bundle-created-size: true by PolicyBundleTests/createdSize
        guard json.count <= Self.maximumSize else { throw .tooLarge(limit: Self.maximumSize) }
        do throws(PolicyFileError) { _ = try policyFile() } catch { throw .policy(error) }
    }

    /// Returns a policy and the files that it names. Their paths are relative to the policy's directory.
    private static func files(ofPolicyAt path: String) throws(PolicyBundleError) -> ([String: [UInt8]], String) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let directory = slash.map { String(path[...$0]) } ?? ""
        let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        var files: [String: [UInt8]] = [:]
        do throws(PolicyFileError) {
            files[name] = try PolicyFile.contents(ofFile: path)
            _ = try PolicyFile(
                bytes: files[name] ?? [], path: name,
                in: PolicyDirectory(kept: { file, limit throws(InputFileError) in
                    let bytes = try InputFile.contents(
                        ofFile: file.hasPrefix("/") ? file : directory + file, limit: limit)
                    files[PolicyDirectory.resolvingDots(in: file) ?? file] = bytes
                    return bytes
                }))
        } catch {
            throw .policy(error)
        }
        // A file of roots may also have a server's key, and a bundle is public.
        // mutant bundle-secret: false by PolicyBundleTests
        for (path, bytes) in files where bytes.firstRange(of: "PRIVATE KEY-----") != nil {
            throw .policy(
                PolicyFileError(problems: [
                    PolicyProblem(
                        location: PolicyLocation(path: path),
                        message: "a bundle is public, but this file contains a private key: name a file without it")
                ]))
        }
        return (files, name)
    }

    /// Returns the bytes that a key has to sign, one or two: those of a key set that lacks the signatures of its own
    /// keys or of the keys before it, and those of the bundle.
    package func unsigned(by key: SubjectPublicKeyInfo) -> [[UInt8]] {
        documents(for: key).map { self[keyPath: $0].signedBytes }
    }

    /// Returns the keys among `keys` that have signed the bundle, in their order.
    package func signers(among keys: [SubjectPublicKeyInfo]) -> [SPKIFingerprint] {
        Self.signers(of: document, among: keys)
    }

    /// Returns the keys among `keys` that have signed the last key set in the bundle, in their order.
    package func keySetSigners(among keys: [SubjectPublicKeyInfo]) -> [SPKIFingerprint] {
        keySets.last.map { Self.signers(of: $0, among: keys) } ?? []
    }

    private static func signers(of document: SignedDocument, among keys: [SubjectPublicKeyInfo]) -> [SPKIFingerprint] {
        var signers = document.signers(among: keys)
        return keys.map(\.fingerprint).filter { signers.remove($0) != nil }
    }

    /// Returns the key of a signature of the bundle, or of the last key set in it, that isn't valid or isn't of one of
    /// these keys.
    package func invalidSigner(among keys: [SubjectPublicKeyInfo]) -> SPKIFingerprint? {
        // mutant key-set-invalid-signer: [] for `keySets.suffix(1)` by PolicyBundleTests/invalidSigner
        for signed in keySets.suffix(1) + [document] {
            // mutant bundle-invalid-signer: Set(keys.map(\.fingerprint)) by PolicyBundleTests/invalidSigner
            let signers = signed.signers(among: keys)
            if let bad = signed.signatures.first(where: { !signers.contains($0.key) }) { return bad.key }
        }
        return nil
    }

    /// Adds the signatures of a key.
    package mutating func sign(with key: MessageSigningKey) throws(ClientIdentityError) {
        for document in documents(for: key.publicKey) {
            let signature = try key.sign(self[keyPath: document].signedBytes)
            self[keyPath: document].signatures.append(
                SignedDocument.Signature(key: key.publicKey.fingerprint, bytes: signature))
        }
    }

    /// Adds a signature that was made elsewhere over one of the bytes of ``unsigned(by:)``. Returns false if it isn't
    /// a signature of the key.
    package mutating func add(_ signature: [UInt8], by key: SubjectPublicKeyInfo) -> Bool {
        for document in documents(for: key) where key.verifies(signature, over: self[keyPath: document].signedBytes) {
            self[keyPath: document].signatures.append(
                SignedDocument.Signature(key: key.fingerprint, bytes: signature))
            return true
        }
        return false
    }

    /// Returns the documents that a key still has to sign. A key that isn't in the current key set can only sign that
    /// set, as one of the set before.
    private func documents(for key: SubjectPublicKeyInfo) -> [WritableKeyPath<PolicyBundle, SignedDocument>] {
        var documents: [WritableKeyPath<PolicyBundle, SignedDocument>] = []
        let last = keySets.indices.last
        let current = last.flatMap { try? PolicyKeySet(json: keySets[$0].payload) }
        let isCurrent = current?.keys.contains(key) ?? true
        if let last, let current {
            let signers = keySets[last].signers(among: current.keys)
            let hasSigned = keySets[last].signatures.contains { $0.key == key.fingerprint }
            if !hasSigned, !isCurrent || signers.count < current.threshold { documents.append(\.keySets[last]) }
        }
        if isCurrent, !document.signatures.contains(where: { $0.key == key.fingerprint }) {
            documents.append(\.document)
        }
        return documents
    }
}
