/// One check of a certificate on its own: what it says must allow its place in a path.
///
/// The table is complete: what OpenSSL is not asked to judge, or judges otherwise, stands here. Each entry can be
/// switched off, and has a test that fails when it is.
struct CertificateRule: Sendable {
    /// Where a certificate stands in a path. A path of one is a leaf.
    struct Place: OptionSet, Sendable {
        let rawValue: UInt8
        static let leaf = Place(rawValue: 1 << 0)
        static let intermediate = Place(rawValue: 1 << 1)
        static let anchor = Place(rawValue: 1 << 2)
        static let issuer: Place = [.intermediate, .anchor]
        /// All but the anchor, which is trusted by configuration, in whatever form it is.
        static let belowAnchor: Place = [.leaf, .intermediate]
        static let everywhere: Place = [.leaf, .intermediate, .anchor]
    }

    /// A set of rules of the table, a bit each.
    struct Selection: OptionSet, Hashable, Sendable {
        let rawValue: UInt64
    }

    /// What a rule judges by beside the certificate.
    struct Context: Sendable {
        let policy: TrustPolicy
        /// Seconds since 1970.
        let time: Int64
        /// The name asked for; nil for a chain without one.
        let name: ServerName?
        let place: Place
    }

    let rule: TrustRule
    let places: Place
    /// The document that asks for it.
    let source: String
    /// Whether ``TrustPolicy/default`` checks it too.
    let isBase: Bool
    /// What the certificate says that the rule does not allow, and what to do; nil when it is in order.
    let violation: @Sendable (X509Certificate, Context) -> String?

    /// Every rule, in the order in which they are checked: first what explains most.
    static let table: [CertificateRule] = baseRules + authorityRules + leafRules + encodingRules

    static let all = Selection(rawValue: (1 << UInt64(table.count)) - 1)
    static let base = selection { $0.isBase }
    private static let ofLeaves = selection { $0.places.contains(.leaf) }
    private static let ofIntermediates = selection { $0.places.contains(.intermediate) }
    private static let ofAnchors = selection { $0.places.contains(.anchor) }

    /// The entries of the table that check a rule; empty for a rule that is none of the table's.
    static func selection(of rule: TrustRule) -> Selection { selection { $0.rule == rule } }

    private static func selection(_ isSelected: (CertificateRule) -> Bool) -> Selection {
        var bits: UInt64 = 0
        for (index, entry) in table.enumerated() where isSelected(entry) { bits |= 1 << UInt64(index) }
        return Selection(rawValue: bits)
    }

    /// The first rule of the policy that a certificate breaks in its place.
    static func finding(_ certificate: X509Certificate, depth: Int, _ context: Context) -> TrustFinding? {
        let here =
            switch context.place {
            case .leaf: ofLeaves
            case .intermediate: ofIntermediates
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
