public import CertificateTrust
import PinctlBasics

// Pins made from keys, either in a certificate or on their own.

extension Pin {
    /// Creates a pin for the key of a certificate.
    public init(
        keyOf certificate: X509Certificate, role: PinRole = .any, isBackup: Bool = false, name: String? = nil,
        note: String? = nil
    ) {
        self.init(
            .publicKey(certificate.spkiFingerprint), role: role, isBackup: isBackup, name: name, note: note)
    }

    /// Creates a pin for the only key in the bytes: a certificate, a certificate request or a public key, as DER or
    /// PEM.
    public init(
        keyIn bytes: [UInt8], role: PinRole = .any, isBackup: Bool = false, name: String? = nil, note: String? = nil
    ) throws(PinnedKeyError) {
        let fingerprint = try PinFingerprint(keyIn: bytes)
        self.init(fingerprint, role: role, isBackup: isBackup, name: name, note: note)
    }

    /// Creates a pin for the only key in a text: PEM, or the base64 of DER with nothing around it.
    public init(
        keyIn text: String, role: PinRole = .any, isBackup: Bool = false, name: String? = nil, note: String? = nil
    ) throws(PinnedKeyError) {
        let characters = text.utf8.filter { $0 > UInt8(ascii: " ") }
        let bytes = Base64.decodeCanonical(characters) ?? Array(text.utf8)
        try self.init(keyIn: bytes, role: role, isBackup: isBackup, name: name, note: note)
    }
}

/// The error for a file, or for bytes, that don't contain exactly one key to pin.
public struct PinnedKeyError: Error, Hashable, Sendable {
    /// The reason why there is no key to pin.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// The input can't be read, or contains nothing that has a key. The text has the cause and the remedy.
        case unreadable(String)
        /// The input has no key.
        case noKey
        /// The input has more than one object.
        case several
        /// The input is a private key. People who have the policy must not have the key.
        case privateKey
    }

    /// The reason why there is no key to pin.
    public let reason: Reason

    init(_ reason: Reason) { self.reason = reason }
}

extension PinnedKeyError: CustomStringConvertible {
    /// The reason. The caller puts the file name in front of it.
    public var description: String {
        switch reason {
        case .unreadable(let text): text
        case .noKey: "contains no key: use a certificate, a certificate request or a public key"
        case .several: "contains more than one object: use a file that contains only the one to pin"
        case .privateKey:
            "is a private key, which isn't read: use its public key, which openssl pkey -in KEY -pubout prints, and "
                + "keep the private key out of the policy's directory"
        }
    }
}

extension PinFingerprint {
    init(keyInFile path: String, of directory: PolicyDirectory) throws(PinnedKeyError) {
        let bytes: [UInt8]
        do throws(InputFileError) {
            bytes = try directory.contents(path, 8 << 20)
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
