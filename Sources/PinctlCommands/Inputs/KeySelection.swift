import CertificateTrust

/// A selection of the objects in a file.
enum KeySelection: Equatable {
    case all
    case leaf
    case authority
    case root
    case index(Int)

    /// Creates the selection of `--leaf`, `--ca`, `--root` or `--index`. Only one of them may be given.
    init(_ arguments: Arguments) throws(UsageError) {
        let given = [Flag.leaf, .authority, .root, .index].filter(arguments.has)
        guard given.count < 2 else {
            throw .unusable([
                "\(given.map(\.dashed).joined(separator: " and ")) cannot be used together: give one of them"
            ])
        }
        switch given.first {
        case Flag.leaf?: self = .leaf
        case Flag.authority?: self = .authority
        case Flag.root?: self = .root
        case Flag.index?:
            let text = arguments[.index] ?? ""
            guard let number = Int(text), number >= 0 else {
                throw .invalidValue(.index, reason: "\"\(text)\" isn't a position: give a number from 0")
            }
            self = .index(number)
        default: self = .all
        }
    }

    /// Returns whether an object is selected. An unreadable object is included, so that it is reported, unless another
    /// index was selected.
    func includes(_ object: InputObject) -> Bool {
        switch self {
        case .all: return true
        case .index(let index): return object.index == index
        case .leaf, .authority, .root: break
        }
        switch object.content {
        case .failure: return true
        case .success(.pin): return false
        case .success(.key(let key)):
            // A malformed certificate can't be classified, so it is reported.
            if isUnsure(of: key) { return true }
            guard let certificate = key.parsedCertificate else { return false }
            let isAuthority = certificate.isCertificateAuthority
            return self == .leaf ? !isAuthority : isAuthority && (self == .authority || certificate.isSelfIssued)
        }
    }

    /// Returns whether a key is that of a malformed certificate, and the selection depends on the rest of it.
    func isUnsure(of key: KeyMaterial) -> Bool {
        switch self {
        case .all, .index: false
        case .leaf, .authority, .root: if case .failure? = key.certificate { true } else { false }
        }
    }

    /// A message for a file without the selected object.
    var missing: String {
        switch self {
        case .all: "contains parameters but no key: give the key that they belong to"
        case .leaf: "contains no end-entity certificate: omit \(Flag.leaf.dashed) to see its contents"
        case .authority: "contains no CA certificate: omit \(Flag.authority.dashed) to see its contents"
        case .root: "contains no root certificate: omit \(Flag.root.dashed) to see its contents"
        case .index(let index): "has no object at position \(index): omit \(Flag.index.dashed) to see its contents"
        }
    }
}
