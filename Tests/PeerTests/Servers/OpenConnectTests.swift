import CertificateTrust
import PinDialects
import PinctlTestPKI
import Testing

@Suite("openconnect", PeerProgram.openconnect.isNeeded, .timeLimit(.minutes(10)))
struct OpenConnectTests {
    @Test("openconnect talks to a server exactly if the written pin is that of its key")
    func pins() async throws {
        let site = try PeerSite()
        let leaf = try X509Certificate(derBytes: site.origin.leaf.derBytes).spkiFingerprint
        let issuer = try X509Certificate(derBytes: site.origin.intermediate.derBytes).spkiFingerprint
        // kubeadm's form is also openconnect's form for hexadecimal digits.
        for spelling in [PinSpelling.openconnect, .kubeadm] {
            for (pin, accepts) in [(leaf, true), (issuer, false)] {
                try await LoopbackServer(chain: site.origin.chain).run { server in
                    let result = try TestCommand.run([
                        "timeout", "60", PeerProgram.openconnect.path, "--authenticate", "--non-inter", "--servercert",
                        spelling.text(pin), "https://localhost:\(server.port)/",
                    ])
                    // The server isn't a VPN, so no run succeeds.
                    #expect(result.status != 0)
                    let isAsked = server.records.contains { !$0.applicationBytes.isEmpty }
                    #expect(isAsked == accepts, "\(spelling.text(pin)): \(result.text)")
                }
            }
        }
    }
}
