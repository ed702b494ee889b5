import CertificateTrust

/// Which of the objects of a file are meant.
enum KeySelection: Equatable {
    case all
    case leaf
    case authority
    case root
    case index(Int)

    /// `--leaf`, `--ca`, `--root` or `--index`, of which one may be given.
    init(_ arguments: Arguments) throws(UsageError) {
        let given = [Flag.leaf, .authority, .root, .index].filter(arguments.has)
        guard given.count < 2 else {
            throw .unusable([
                "\(given.map(\.dashed).joined(separator: " and ")) exclude each other: give one of them"
            ])
        }
        switch given.first {
        case Flag.leaf?: self = .leaf
        case Flag.authority?: self = .authority
        case Flag.root?: self = .root
        case Flag.index?:
            let text = arguments[.index] ?? ""
            guard let number = Int(text), number >= 0 else {
                throw .invalidValue(.index, reason: "\"\(text)\" is no place: give a number from 0")
            }
            self = .index(number)
        default: self = .all
        }
    }

    /// Whether an object is meant. What cannot be read is told, unless another object was asked for.
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
            guard let certificate = key.parsedCertificate else { return false }
            let isAuthority = certificate.isCertificateAuthority
            return self == .leaf ? !isAuthority : isAuthority && (self == .authority || certificate.isSelfIssued)
        }
    }

    /// What a file lacks.
    var missing: String {
        switch self {
        case .all: "holds parameters and no key: give the key they belong to"
        case .leaf: "holds no certificate of a server: leave \(Flag.leaf.dashed) out to see what it holds"
        case .authority: "holds no authority's certificate: leave \(Flag.authority.dashed) out to see what it holds"
        case .root: "holds no root certificate: leave \(Flag.root.dashed) out to see what it holds"
        case .index(let index): "has no object at place \(index): leave \(Flag.index.dashed) out to see what it holds"
        }
    }
}
