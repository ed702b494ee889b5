import CertificateTrust
import Testing

@Suite("The operating system's trust store")
struct SystemStoreTests {
    @Test("The system store contains ISRG Root X1, which has its published pin")
    func opens() throws {
        let store = try TrustStore.system()
        let roots = try CertificateFile.read("/etc/ssl/certs/ISRG_Root_X1.pem")
        #expect(roots.count == 1)
        #expect(store.contains(try #require(roots.first)))
        #expect(roots.first?.spkiFingerprint.description == "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=")
        #expect(roots.first?.subject.description == "CN=ISRG Root X1,O=Internet Security Research Group,C=US")
    }
}
