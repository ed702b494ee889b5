import PinctlTestPKI
import Testing

@testable import PinnedNetworking

@Suite struct CredentialTests {
    @Test(
        "A password credential returns its parts", arguments: [URLCredential.Persistence.none, .forSession, .permanent])
    func password(persistence: URLCredential.Persistence) {
        let credential = URLCredential(user: "me", password: "secret", persistence: persistence)
        #expect(credential.user == "me" && credential.password == "secret" && credential.hasPassword)
        #expect(credential.persistence == persistence)
        #expect(credential.identity == nil && credential.certificates.isEmpty)
        #expect(URLCredential(user: "", password: "", persistence: .none).hasPassword)
    }

    @Test("A user name alone has no password")
    func userOnly() {
        let credential = URLCredential(kind: .password(user: "me", password: nil), persistence: .none)
        #expect(credential.user == "me" && credential.password == nil && !credential.hasPassword)
    }

    @Test("An identity and a server trust have no user")
    func others() throws {
        let site = try TestSite.pinned()
        let certificates: [SecCertificate] = [try X509Certificate(derBytes: site.intermediate.derBytes)]
        let identity: SecIdentity = try site.identity
        let credential = URLCredential(identity: identity, certificates: certificates, persistence: .permanent)
        #expect(credential.identity == identity && credential.certificates == certificates)
        #expect(credential.user == nil && !credential.hasPassword)
        let bare = URLCredential(identity: identity, certificates: nil, persistence: .forSession)
        #expect(bare.identity == identity && bare.certificates.isEmpty)
        #expect(try bare.shownIdentity() === identity)
        let root = try X509Certificate(derBytes: site.root.derBytes)
        let other = URLCredential(identity: identity, certificates: [root], persistence: .forSession)
        #expect(try other.shownIdentity()?.certificates == [identity.certificates[0], root])
        let trust = URLCredential(trust: try site.trust)
        #expect(trust.user == nil && !trust.hasPassword && trust.identity == nil && trust.persistence == .forSession)
    }

    // The construction tests of swift-corelibs-foundation's TestURLCredential are above. Its copying and archiving
    // tests are omitted: an immutable object needs no copy, and an archive would put the password into a file.
    @Test("CS2: A credential can't be archived")
    func archive() throws {
        for credential in [
            URLCredential(user: "me", password: "secret", persistence: .forSession),
            URLCredential(trust: try TestSite.pinned().trust),
        ] as [Any] {
            #expect(!(credential is any NSCoding) && !(credential is any Encodable))
        }
    }

    @Test("The persistences have the raw values of Apple's platforms")
    func persistences() {
        let persistences: [URLCredential.Persistence] = [.none, .forSession, .permanent, .synchronizable]
        #expect(persistences.map(\.rawValue) == [0, 1, 2, 3])
    }

    @Test("Credentials are equal if kind, contents and persistence are equal")
    func equality() throws {
        let site = try TestSite.pinned()
        let other = try TestSite.pinned().identity
        let (identity, trust) = (try site.identity, try site.trust)
        let certificates = try identity.certificates + [X509Certificate(derBytes: site.root.derBytes)]
        func credentials() throws -> [URLCredential] {
            [
                URLCredential(user: "me", password: "secret", persistence: .forSession),
                URLCredential(user: "me", password: "secret", persistence: .none),
                URLCredential(user: "me", password: "Secret", persistence: .forSession),
                URLCredential(user: "you", password: "secret", persistence: .forSession),
                URLCredential(kind: .password(user: "me", password: nil), persistence: .forSession),
                URLCredential(identity: try site.identity, certificates: nil, persistence: .forSession),
                URLCredential(identity: identity, certificates: certificates, persistence: .forSession),
                URLCredential(identity: other, certificates: nil, persistence: .forSession),
                URLCredential(trust: trust),
            ]
        }
        let (left, right) = (try credentials(), try credentials())
        for (index, credential) in left.enumerated() {
            #expect(right.firstIndex(of: credential) == index)
            #expect(credential.hashValue == right[index].hashValue)
        }
        // A trust of another server, or another one of this server, isn't the one that was accepted.
        let again = ServerTrust(presented: trust.presented, name: trust.name, store: trust.store)
        #expect(URLCredential(trust: trust) != URLCredential(trust: again))
    }

    @Test("CS2: No text made from a credential contains its user, its password or its key")
    func descriptions() throws {
        let site = try TestSite.pinned()
        let key = try site.leaf.key.privateKeyPEM.split(separator: "\n")[1]
        let credentials = [
            URLCredential(user: "canary-user", password: "canary-password", persistence: .permanent),
            URLCredential(kind: .password(user: "canary-user", password: nil), persistence: .none),
            URLCredential(identity: try site.identity, certificates: nil, persistence: .forSession),
            URLCredential(trust: try site.trust),
        ]
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            host: "a.test", port: 443, protocol: "https", realm: nil, authenticationMethod: nil)
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: credentials[0], previousFailureCount: 1,
            failureResponse: nil, error: nil, sender: ChallengeAnswerSender { _ in })
        storage.set(credentials[0], for: space)
        for value in credentials + [storage, challenge] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            let reflected = Mirror(reflecting: value).children.map { "\($0)" }.joined()
            let text = "\(value) \(String(reflecting: value)) \(dumped) \(reflected)"
            #expect(!text.contains("canary") && !text.contains(key))
        }
        #expect(credentials[2].description.contains(try site.identity.certificates[0].fingerprint.description))
    }
}
