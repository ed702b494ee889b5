import PinctlBasics

/// The roots of public CAs that this version of the library knows.
package enum PublicRoots {
    /// The keys of the roots in `pins/public-roots.jsonc`, read on first use.
    ///
    /// A key identifies a CA in all of its certificates: the root itself and those by which other roots cross-sign it.
    static let known = Set(names.keys)

    /// The name of each key in that file, such as `isrg-root-x1`.
    package static let names: [SPKIFingerprint: String] = {
        let document = JSONCReader.read(PackageResources.public_roots_jsonc, dialect: .jsonc)
        var names: [SPKIFingerprint: String] = [:]
        for pin in document.root?["pins"]?.members ?? [] {
            if let key = pin.value["pin"]?.string.flatMap({ SPKIFingerprint($0) }) { names[key] = pin.key }
        }
        return names
    }()
}
