import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The keys of certificates that are pinned as a whole, as far as the certificates are known.
struct KnownCertificates {
    private let keys: [PinFingerprint: PinFingerprint]
    private let holders: [PinFingerprint: [PinFingerprint]]

    init(_ certificates: [X509Certificate]) {
        let keys: [PinFingerprint: PinFingerprint] = Dictionary(
            certificates.map { (.certificate($0.fingerprint), .publicKey($0.spkiFingerprint)) },
            uniquingKeysWith: { first, _ in first })
        self.keys = keys
        holders = Dictionary(grouping: keys.keys) { keys[$0] ?? $0 }
    }

    /// The certificates in the bundles, the anchors of their policies, and the certificates in the files that pins come
    /// from (`from`), which aren't in a bundle but may be located beside `path`.
    init(of policies: [PinningPolicy], in bundles: [PolicyBundle], besides path: String) {
        let rules = policies.flatMap(\.rules)
        let files = Set((rules.flatMap(\.pins) + policies.flatMap(\.deny)).compactMap(\.from))
        let maximumSize = 8 << 20
        let found = files.flatMap { file in
            let bytes = try? InputFile.contents(ofFile: resolvedPath(file, besides: path), limit: maximumSize)
            return bytes.flatMap { try? CertificateFile.read($0, name: file) } ?? []
        }
        self.init(bundles.flatMap(\.certificates) + rules.compactMap(\.anchors?.certificates).joined() + found)
    }

    /// Returns the key of a pinned certificate, or `nil` if the pin is a key or the certificate isn't known.
    func key(of pin: PinFingerprint) -> PinFingerprint? { keys[pin] }

    /// Returns the positions in which pins cover everything that another pin does: the same pin, or the key of a pinned
    /// certificate.
    func roles(of pin: PinFingerprint, in pins: [PinFingerprint: Set<PinRole>]) -> Set<PinRole> {
        // mutant sign-certificate-key: nil for `key(of: pin)` by PolicyLockoutTests/kinds
        pins[pin, default: []].union(key(of: pin).flatMap { pins[$0] } ?? [])
    }

    /// Returns the pins that some certificate with a pin has too: the same pin, the key of a pinned certificate, and
    /// the certificates of a pinned key.
    func related(to pin: PinFingerprint) -> [PinFingerprint] {
        // mutant sign-key-certificate: [] for `(holders[pin] ?? [])` by PolicyLockoutTests/kinds
        [pin] + (key(of: pin).map { [$0] } ?? []) + (holders[pin] ?? [])
    }

    /// Returns what isn't known about pins before and now, if a certificate is pinned instead of a key or the reverse,
    /// as the end of a sentence with the remedy.
    func unknown(
        among before: some Sequence<PinFingerprint>, and now: some Sequence<PinFingerprint>
    ) -> String? {
        func split(_ pins: some Sequence<PinFingerprint>) -> (keys: [PinFingerprint], certificates: [PinFingerprint]) {
            let sorted = pins.sorted { "\($0)" < "\($1)" }
            return (
                sorted.filter { if case .publicKey = $0 { true } else { false } },
                sorted.filter { if case .certificate = $0 { key(of: $0) == nil } else { false } }
            )
        }
        let (old, new) = (split(before), split(now))
        let (certificates, keys) = new.keys.isEmpty ? (new.certificates, old.keys) : (old.certificates, new.keys)
        guard !certificates.isEmpty, !keys.isEmpty else { return nil }
        func list(_ pins: [PinFingerprint]) -> String { pins.map(\.description).joined(separator: " or ") }
        return ", and whether \(list(keys)) is the key of \(list(certificates)) isn't known: name the file of the "
            + "certificate as \"from\" of its pin or the key's, or check the servers with \(Flag.servers.dashed)"
    }
}
