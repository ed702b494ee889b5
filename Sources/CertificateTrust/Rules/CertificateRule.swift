/// One check of a single certificate: whether its contents allow its position in a path.
///
/// The table contains every check that OpenSSL isn't asked to make or makes differently. Each entry can be switched
/// off, and has a test that fails when it is.
struct CertificateRule: Sendable {
    /// The positions of a certificate in a path. The only certificate of a path of one is a leaf.
    struct Place: OptionSet, Sendable {
        let rawValue: UInt8
        static let leaf = Place(rawValue: 1 << 0)
        static let intermediate = Place(rawValue: 1 << 1)
        static let anchor = Place(rawValue: 1 << 2)
        /// The leaf of a path with the key of a public root, checked as soon as the path is known.
        static let publicLeaf = Place(rawValue: 1 << 3)
        static let issuer: Place = [.intermediate, .anchor]
        /// Every position except the anchor, which is trusted by configuration whatever its contents.
        static let belowAnchor: Place = [.leaf, .intermediate]
        static let everywhere: Place = [.leaf, .intermediate, .anchor]
    }

    /// A set of rules from the table, with one bit for each.
    struct Selection: OptionSet, Hashable, Sendable {
        let rawValue: UInt64
    }

    /// The input of a rule besides the certificate.
    struct Context: Sendable {
        let policy: TrustPolicy
        /// Seconds since 1970.
        let time: Int64
        /// The requested server name. `nil` when a chain is evaluated without one.
        let name: ServerName?
        let place: Place
    }

    let rule: TrustRule
    let places: Place
    /// The document that requires the check.
    let source: String
    /// Whether ``TrustPolicy/default`` checks it too.
    let isBase: Bool
    /// A function that returns a description of the violation and its remedy, or `nil` if the certificate passes.
    let violation: @Sendable (X509Certificate, Context) -> String?

    /// Every rule, in the order of the checks: the rules that explain a failure best come first.
    static let table: [CertificateRule] = baseRules + authorityRules + leafRules + encodingRules

    static let all = Selection(rawValue: (1 << UInt64(table.count)) - 1)
    static let base = selection { $0.isBase }
    private static let ofLeaves = selection { $0.places.contains(.leaf) }
    private static let ofIntermediates = selection { $0.places.contains(.intermediate) }
    private static let ofAnchors = selection { $0.places.contains(.anchor) }
    static let ofPublicLeaves = selection { $0.places.contains(.publicLeaf) }

    /// Returns the table entries that check `rule`. The result is empty for a rule that isn't in the table.
    static func selection(of rule: TrustRule) -> Selection { selection { $0.rule == rule } }

    private static func selection(_ isSelected: (CertificateRule) -> Bool) -> Selection {
        var bits: UInt64 = 0
        for (index, entry) in table.enumerated() where isSelected(entry) { bits |= 1 << UInt64(index) }
        return Selection(rawValue: bits)
    }

    /// Returns the first active rule that a certificate violates at its position.
    static func finding(_ certificate: X509Certificate, depth: Int, _ context: Context) -> TrustFinding? {
        let here =
            switch context.place {
            case .leaf: ofLeaves
            case .intermediate: ofIntermediates
            case .publicLeaf: ofPublicLeaves
            default: ofAnchors
            }
        var rules = context.policy.activeRules.intersection(here).rawValue
        while rules != 0 {
            let index = rules.trailingZeroBitCount
            rules &= rules - 1
            guard let detail = table[index].violation(certificate, context) else { continue }
            return TrustFinding(
                rule: table[index].rule, depth: depth, certificate: certificate,
                detail: "\(detail) (\(table[index].source))")
        }
        return nil
    }
}
