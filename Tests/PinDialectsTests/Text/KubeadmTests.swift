import CertificateTrust
import PinDialects
import PinctlTestPKI
import Testing

@Suite("kubeadm")
struct KubeadmTests {
    @Test("The hash of a CA's key is the one that the commands in Kubernetes' documentation print")
    func documented() throws {
        let directory = try TestDirectory()
        for key in [TestKey.Kind.rsa2048, .p256] {
            let authority = try TestCertificate.root("kubernetes", key: .shared(key))
            let file = try directory.add(authority.pemText)
            let result = try TestCommand.run([
                "bash", "-c",
                "openssl x509 -pubkey -in \(file) | openssl pkey -pubin -outform der | openssl dgst -sha256 -hex | sed "
                    + "'s/^.* //'",
            ])
            let pin = try X509Certificate(derBytes: authority.derBytes).spkiFingerprint
            #expect(result.status == 0)
            #expect("sha256:" + String(decoding: result.output, as: UTF8.self) == PinSpelling.kubeadm.text(pin) + "\n")
        }
    }
}
