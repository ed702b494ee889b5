import TLSTransport

extension SessionSettings {
    /// What a connection is approved under: the policy, the anchors, and whether the path or a delegate decided.
    func approval(by verdict: ServerTrustVerdict, store: TrustStore) -> ApprovalDigest {
        let decider: UInt8 = if case .verified = verdict { 0 } else { 1 }
        let policy = pinning?.digest ?? [UInt8](repeating: 0, count: 32)
        let digest = sha256Digest((policy + store.digest + [decider]).span)
        return ApprovalDigest(bytes: [32 of UInt8] { digest[$0] })
    }
}
