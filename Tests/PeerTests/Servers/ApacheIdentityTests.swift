import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// apache2 ends the handshake where nginx answers with an error page.
@Suite(PeerProgram.apache.isNeeded, .timeLimit(.minutes(10)))
struct ApacheIdentityTests {
    @Test(
        "A handshake that fails without the right client certificate has an error code that says so",
        arguments: ["TLSv1.2", "TLSv1.3"])
    func outcomes(version: String) async throws {
        let site = try PeerSite()
        let apache = try await Apache(site, version: version)
        let unrelated = try TestCertificate.root("Unrelated") { $0.makeValidNow() }
        let right = try site.origin.root.client.identity
        let wrong = try unrelated.client.identity
        let rows: [(answer: LoginDelegate.Answer, code: URLError.Code?)] = [
            (LoginDelegate.identity(right), nil),
            (LoginDelegate.identity(wrong), .clientCertificateRejected),
            ((.performDefaultHandling, nil), .clientCertificateRequired),
            ((.cancelAuthenticationChallenge, nil), .cancelled),
        ]
        for row in rows {
            let delegate = LoginDelegate(row.answer)
            let session = try site.session(to: apache.ports.clients, delegate: delegate)
            if let code = row.code {
                let error = try await session.failure("https://pinned.test/")
                #expect(error.code == code, "\(error)")
            } else {
                #expect(try await session.get("https://pinned.test/") == ("- GET ", 200))
            }
            let challenge = try #require(delegate.challenges.last)
            #expect(challenge.text == "ClientCertificate pinned.test:443 after 0")
            #expect(challenge.protectionSpace.distinguishedNames == [Data(site.origin.root.subject.derBytes)])
        }
        apache.stop()
        #expect(apache.log.lines == ["GET / 200 - -"])
    }
}
