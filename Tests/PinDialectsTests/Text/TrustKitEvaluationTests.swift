import CertificatePinning
import CertificateTrust
import FoundationEssentials
import Testing

/// TrustKit's own chains, evaluated as TrustKit's validator does.
@Suite("TrustKit's validator", .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
struct TrustKitEvaluationTests {
    private func certificate(_ name: String) throws -> X509Certificate {
        let cases = try #require(PeerCases.all)
        let pem = try #require(cases.certs[name].pem.string)
        let base64 = pem.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }.joined()
        let der = try #require(Data(base64Encoded: base64))
        return try X509Certificate(derBytes: [UInt8](der))
    }

    @Test("Chains are allowed and blocked as in TrustKit, also for a host without a rule")
    func decisions() throws {
        let rows = try #require(PeerCases.all).evaluation.trustkit_ios.elements
        try #require(rows.count == 9)
        let unknown = try Pin("sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        for row in rows {
            let hostText = try #require(row.host.string)
            let host = try ServerName(hostText)
            let names = row.chain.elements.isEmpty ? ["tk-good-leaf"] : row.chain.elements.compactMap(\.string)
            let roots = row.anchors.elements.isEmpty ? ["tk-good-root"] : row.anchors.elements.compactMap(\.string)
            let chain = try names.map { try certificate($0) }
            let trust = ServerTrust(
                presented: PresentedChain(leaf: chain[0], intermediates: Array(chain.dropFirst())), name: host,
                store: TrustStore(certificates: try roots.map { try certificate($0) }))
            let pins = try row.pins.elements.map { Pin(.publicKey(try certificate($0.string ?? "").spkiFingerprint)) }
            let isPinned = row.decision.string != "DomainNotPinned"
            let rule = PinningRule(
                host: isPinned ? host : try ServerName("www.good.com"), pins: pins.isEmpty ? [unknown] : pins,
                mode: row.enforce.bool == false ? .report : .enforce)
            let policy = try PinningPolicy(rules: [rule])
            if !isPinned {
                #expect(policy.rule(for: host, port: 443) == nil)
                continue
            }
            let accepted = try? policy.evaluate(trust, port: 443, at: chain[0].notBefore + 86_400)
            #expect((accepted != nil) == (row.decision.string == "Allow"), "\(row.source.string ?? "")")
        }
    }
}
