/// The positions in a verified path where a pin counts. The first certificate is the leaf and the last one the root,
/// whatever their contents are.
///
/// The only certificate of a path of one is a leaf and nothing else: the key of a self-signed server certificate isn't
/// a CA key.
@nonexhaustive
public enum PinRole: String, Sendable, Hashable, CaseIterable {
    /// The server's own certificate, index 0.
    case leaf
    /// A certificate between leaf and root.
    case intermediate
    /// The trust anchor, the last of two or more.
    case root
    /// Any issuer, intermediate or root.
    case ca
    /// Any position.
    case any
}

extension PinRole {
    /// Whether the certificate at `index` (0 is the leaf) of a path of `count` is in this role.
    public func covers(index: Int, of count: Int) -> Bool {
        guard (0..<count).contains(index) else { return false }
        return switch self {
        // mutant pin-leaf-position: true by PinDecisionTests/roles DecisionSpecificationTests/pins
        case .leaf: index == 0
        // mutant pin-intermediate-position: index > 0 by PinDecisionTests DecisionSpecificationTests/pins
        case .intermediate: index > 0 && index < count - 1
        // mutant pin-root-position: index == count - 1 by PinDecisionTests DecisionSpecificationTests/pins
        case .root: index > 0 && index == count - 1
        // mutant pin-ca-position: true by PinDecisionTests DecisionSpecificationTests/pins
        case .ca: index > 0
        case .any: true
        }
    }

    /// Creates the role of a certificate at this position: leaf, intermediate or root.
    package init(index: Int, of count: Int) {
        self = index == 0 ? .leaf : index == count - 1 ? .root : .intermediate
    }

    /// Whether some position has both roles.
    package func overlaps(_ other: PinRole) -> Bool {
        (0..<3).contains { covers(index: $0, of: 3) && other.covers(index: $0, of: 3) }
    }
}
