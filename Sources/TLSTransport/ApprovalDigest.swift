/// What a connection was approved under: a SHA-256 over policy, trust roots, client identity and who decided.
///
/// 32 bytes, computed by whoever approves. A request may only use a connection whose digest equals its own.
package struct ApprovalDigest: Sendable {
    /// The digest, 32 bytes.
    package let bytes: [32 of UInt8]

    package init(bytes: [32 of UInt8]) {
        self.bytes = bytes
    }
}

extension ApprovalDigest: Hashable {
    package static func == (left: ApprovalDigest, right: ApprovalDigest) -> Bool {
        left.bytes.indices.allSatisfy { left.bytes[$0] == right.bytes[$0] }
    }

    package func hash(into hasher: inout Hasher) {
        for index in bytes.indices { hasher.combine(bytes[index]) }
    }
}
