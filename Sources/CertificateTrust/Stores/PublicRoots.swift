import PinctlBasics

/// The roots of public CAs that this version of the library knows.
enum PublicRoots {
    /// The keys of the roots in `pins/public-roots.jsonc`, read on first use.
    ///
    /// A key identifies a CA in all of its certificates: the root itself and those by which other roots cross-sign it.
    static let known: Set<SPKIFingerprint> = {
        let document = JSONCReader.read(PackageResources.public_roots_jsonc, dialect: .jsonc)
        let pins = document.root?["pins"]?.members ?? []
        return Set(pins.compactMap { pin in pin.value["pin"]?.string.flatMap { SPKIFingerprint($0) } })
    }()
}
