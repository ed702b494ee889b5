package import PinctlBasics

/// The roots of public CAs that this version of the library knows.
package enum PublicRoots {
    /// The contents of `pins/public-roots.jsonc`, read on first use.
    package static let file = JSONCReader.read(PackageResources.public_roots_jsonc, dialect: .jsonc).root

    /// The keys of the roots in that file.
    ///
    /// A key identifies a CA in all of its certificates: the root itself and those by which other roots cross-sign it.
    static let known = Set(names.keys)

    /// The name of each key in that file, such as `isrg-root-x1`.
    package static let names: [SPKIFingerprint: String] = {
        var names: [SPKIFingerprint: String] = [:]
        for pin in file?["pins"]?.members ?? [] {
            if let key = pin.value["pin"]?.string.flatMap({ SPKIFingerprint($0) }) { names[key] = pin.key }
        }
        return names
    }()
}
