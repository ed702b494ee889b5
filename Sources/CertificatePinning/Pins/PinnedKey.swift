public import CertificateTrust

// Pins of keys that are at hand, in a certificate or alone.

extension Pin {
    /// Pins the key of a certificate.
    public init(
        keyOf certificate: X509Certificate, role: PinRole = .any, isBackup: Bool = false, name: String? = nil,
        note: String? = nil
    ) {
        self.init(
            .publicKey(certificate.spkiFingerprint), role: role, isBackup: isBackup, name: name, note: note)
    }

    /// Pins the one key in some bytes: a certificate, a certificate request or a public key, DER or PEM.
    public init(
        keyIn bytes: [UInt8], role: PinRole = .any, isBackup: Bool = false, name: String? = nil, note: String? = nil
    ) throws(PinnedKeyError) {
        let object = try PinnedObject(keyIn: bytes)
        self.init(object, role: role, isBackup: isBackup, name: name, note: note)
    }

    /// Pins the one key in a text: PEM, or the base64 of DER without anything around it.
    public init(
        keyIn text: String, role: PinRole = .any, isBackup: Bool = false, name: String? = nil, note: String? = nil
    ) throws(PinnedKeyError) {
        let characters = text.utf8.filter { $0 > UInt8(ascii: " ") }
        let bytes = Base64.decodeCanonical(characters) ?? Array(text.utf8)
        try self.init(keyIn: bytes, role: role, isBackup: isBackup, name: name, note: note)
    }
}

/// Why there is no one key to pin in a file, or in some bytes.
public struct PinnedKeyError: Error, Hashable, Sendable {
    /// What was found instead.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// It cannot be read, or holds nothing that has a key; the text says why and what to do.
        case unreadable(String)
        /// No key.
        case noKey
        /// More than one object.
        case several
        /// A private key: who has the policy must not have it.
        case privateKey
    }

    /// What was found instead.
    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }
}

extension PinnedKeyError: CustomStringConvertible {
    /// The reason without the name of the file, which stands in front.
    public var description: String {
        switch reason {
        case .unreadable(let text): text
        case .noKey: "holds no key: name a certificate, a request or a public key"
        case .several: "holds more than one object: name a file with the one to pin"
        case .privateKey: "is a private key, which belongs in no policy's folder: name its certificate or public key"
        }
    }
}

extension PinnedObject {
    init(keyInFile path: String, of folder: PolicyFolder) throws(PinnedKeyError) {
        let bytes: [UInt8]
        do throws(InputFileError) {
            bytes = try folder.contents(path, 8 << 20)
        } catch {
            throw PinnedKeyError(.unreadable(error.description))
        }
        try self.init(keyIn: bytes)
    }

    fileprivate init(keyIn bytes: [UInt8]) throws(PinnedKeyError) {
        var items: [KeyFile.Item] = []
        do throws(KeyFile.Failure) {
            try KeyFile.read(bytes) { if items.count < 2 { items.append($0) } }
        } catch {
            throw PinnedKeyError(.unreadable(error.description))
        }
        try self.init(onlyKeyOf: items)
    }

    private init(onlyKeyOf items: [KeyFile.Item]) throws(PinnedKeyError) {
        guard let item = items.first else { throw PinnedKeyError(.noKey) }
        guard items.count == 1 else { throw PinnedKeyError(.several) }
        switch item.content {
        case .failure(let error): throw PinnedKeyError(.unreadable(error.description))
        case .success(let material):
            guard material.kind != .privateKey else { throw PinnedKeyError(.privateKey) }
            self = .publicKey(material.fingerprint)
        }
    }
}
