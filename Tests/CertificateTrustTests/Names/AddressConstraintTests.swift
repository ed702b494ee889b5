import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("Name constraints on addresses")
struct AddressConstraintTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The requested address, which is also the leaf's.
        let host: String
        let address: [UInt8]
        let isExcluded: Bool
        /// The address and the mask.
        let subtree: [UInt8]
        /// The beginning of the reason. `nil` when the path is accepted.
        let reason: String?

        init(
            _ description: String, _ host: String, _ address: [UInt8], excluding: [UInt8], _ reason: String? = nil
        ) {
            self.init(description, host, address, true, excluding, reason)
        }

        init(
            _ description: String, _ host: String, _ address: [UInt8], permitting: [UInt8], _ reason: String? = nil
        ) {
            self.init(description, host, address, false, permitting, reason)
        }

        private init(
            _ description: String, _ host: String, _ address: [UInt8], _ isExcluded: Bool, _ subtree: [UInt8],
            _ reason: String?
        ) {
            testDescription = description
            self.host = host
            self.address = address
            self.isExcluded = isExcluded
            self.subtree = subtree
            self.reason = reason
        }
    }

    /// 2001:db8:0:0:0:0:0:`last`
    private static func ipv6(_ last: UInt8) -> [UInt8] {
        [0x20, 0x01, 0x0D, 0xB8] + [UInt8](repeating: 0, count: 11) + [last]
    }

    private static func mask(_ bits: Int, of count: Int = 16) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: 0xFF00 >> min(max(bits - $0 * 8, 0), 8)) }
    }

    private static let other = [0x20, 0x01, 0x0D, 0xB9] + [UInt8](repeating: 0, count: 12)
    private static let hole = "its nameConstraints has a malformed name: reissue it"
    private static let excluded = "2001:db8::1 is excluded by the name constraints of "
    private static let notPermitted = "2001:db8::1 is not permitted by the name constraints of "

    static let rows: [Row] = [
        .init("an excluded IPv6 network", "2001:db8::1", ipv6(1), excluding: ipv6(0) + mask(32), excluded),
        .init("an excluded IPv6 address", "2001:db8::1", ipv6(1), excluding: ipv6(1) + mask(128), excluded),
        .init("every IPv6 address", "2001:db8::1", ipv6(1), excluding: [UInt8](repeating: 0, count: 32), excluded),
        .init("bits of the base beyond the mask", "2001:db8::1", ipv6(1), excluding: ipv6(0xFF) + mask(120), excluded),
        .init("a network of 127 bits", "2001:db8::1", ipv6(1), excluding: ipv6(0) + mask(127), excluded),
        .init("the other half of the network", "2001:db8::1", ipv6(1), excluding: ipv6(2) + mask(127)),
        .init("another IPv6 network", "2001:db8::1", ipv6(1), excluding: other + mask(32)),
        .init("every IPv4 address", "2001:db8::1", ipv6(1), excluding: [UInt8](repeating: 0, count: 8)),
        .init("a permitted IPv6 network", "2001:db8::1", ipv6(1), permitting: ipv6(0) + mask(32)),
        .init("another permitted network", "2001:db8::1", ipv6(1), permitting: other + mask(32), notPermitted),
        .init(
            "a permitted IPv4 network", "2001:db8::1", ipv6(1), permitting: [UInt8](repeating: 0, count: 8),
            notPermitted),
        .init("an IPv6 mask of 17 octets", "2001:db8::1", ipv6(1), excluding: other + mask(16) + [0], hole),
        .init(
            "an IPv6 mask with a hole between octets", "2001:db8::1", ipv6(1),
            excluding: other + [0xFF, 0, 0xFF] + [UInt8](repeating: 0, count: 13), hole),
        .init(
            "an IPv6 mask with a hole in an octet", "2001:db8::1", ipv6(1),
            excluding: other + [0xFF, 0xF7] + [UInt8](repeating: 0, count: 14), hole),
        .init(
            "an IPv6 mask that begins with a hole", "2001:db8::1", ipv6(1),
            permitting: ipv6(0) + [0x7F] + [UInt8](repeating: 0xFF, count: 15), hole),
        .init(
            "a permitted IPv6 mask with a hole, which the address is in", "2001:db8::1", ipv6(1),
            permitting: ipv6(1) + [UInt8](repeating: 0xFF, count: 14) + [0, 0xFF], hole),
        .init(
            "an IPv4 mask with a hole", "192.0.2.1", [192, 0, 2, 1], excluding: [10, 0, 0, 0, 255, 0, 255, 0], hole),
        .init(
            "an IPv4 mask with a hole in an octet", "192.0.2.1", [192, 0, 2, 1],
            permitting: [192, 0, 2, 0, 255, 255, 253, 0], hole),
        .init("an IPv4 network", "192.0.2.1", [192, 0, 2, 1], permitting: [192, 0, 2, 0] + mask(24, of: 4)),
    ]

    @Test("IP address constraints apply to IPv6 as to IPv4, and masks with holes are rejected", arguments: rows)
    func constraint(_ row: Row) throws {
        let root = try TestCertificate.root("Root")
        let issuer = try root.intermediate("Intermediate") {
            if row.isExcluded {
                $0.excludedSubtrees = [.ip(row.subtree)]
            } else {
                $0.permittedSubtrees = [.ip(row.subtree)]
            }
        }
        let leaf = try issuer.leaf("api.example.test") { $0.alternativeNames = [.ip(row.address)] }
        for policy in [TrustPolicy.default, .strict] {
            let claim = Claim(leaf: leaf, presented: [issuer], anchors: [root], name: row.host, policy: policy)
            let finding = try claim.finding()
            #expect((finding == nil) == (row.reason == nil))
            if let reason = row.reason {
                #expect(finding?.rule == .nameConstraints)
                #expect(finding?.detail.hasPrefix(reason) == true, "\(finding?.detail ?? "")")
            }
        }
    }
}
