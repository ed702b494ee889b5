import CertificateTrust
import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

/// A login that computes nothing.
final class FakeLogin: ConnectionLogin {
    let authentication: KnownAuthentication
    let progress: ConnectionLoginProgress
    let coversLaterRequests: Bool

    init(
        _ progress: ConnectionLoginProgress, user: String = "u", realmOf target: AuthenticationRequest? = nil,
        mechanism: ConnectionLoginMechanism = .ntlm
    ) throws {
        authentication = try Self.authentication(user: user, at: target, mechanism: mechanism)
        self.progress = progress
        coversLaterRequests = mechanism == .ntlm
    }

    static func authentication(
        user: String = "u", at target: AuthenticationRequest? = nil, mechanism: ConnectionLoginMechanism = .ntlm
    ) throws -> KnownAuthentication {
        let request = try target ?? .get("/")
        return KnownAuthentication(
            credential(user), .connection(mechanism), in: request.space(nil, NSURLAuthenticationMethodNTLM),
            for: request)
    }

    func message(after token: [UInt8]?) throws(ConnectionLoginError) -> [UInt8]? { nil }
}

/// The decisions about a connection with a login.
@Suite struct ConnectionLoginDecisionTests {
    private static let all: [ConnectionLoginProgress] = [.started, .proven, .complete]

    private static func head(_ code: Int) -> HTTPResponseHead? {
        var parser = HTTPResponseParser(requestMethod: "GET")
        parser.receive(Array("HTTP/1.1 \(code) X\r\nContent-Length: 0\r\n\r\n".utf8))
        if case .head(let head)? = try? parser.next() { return head }
        return nil
    }

    @Test(
        "A connection is held during a login, kept after it, and closed if the login failed or wasn't required",
        arguments: [
            (401, [.hold, .hold, .close]), (407, [.close, .keep, .keep]), (200, [.close, .keep, .keep]),
            (500, [.close, .keep, .keep]),
        ] as [(Int, [ConnectionDisposition])])
    func dispositions(row: (code: Int, expected: [ConnectionDisposition])) throws {
        let head = try #require(Self.head(row.code))
        #expect(try Self.all.map { try FakeLogin($0).disposition(after: head) } == row.expected)
    }

    @Test("At a proxy, 407 is the refusal")
    func proxyDispositions() throws {
        let request = try AuthenticationRequest.connect()
        let refusal = try #require(Self.head(407))
        let other = try #require(Self.head(401))
        #expect(try FakeLogin(.started, realmOf: request).disposition(after: refusal) == .hold)
        #expect(try FakeLogin(.proven, realmOf: request).disposition(after: other) == .keep)
    }

    @Test("HA11: A connection with a login matches only requests that would log in the same way")
    func matching() throws {
        for progress in Self.all {
            let login = try FakeLogin(progress)
            #expect(login.matches(try FakeLogin.authentication()) == (progress != .started))
            #expect(!login.matches(nil))
            #expect(!login.matches(try FakeLogin.authentication(user: "v")))
            #expect(!login.matches(try FakeLogin.authentication(mechanism: .negotiate)))
            #expect(!login.matches(try FakeLogin.authentication(at: .get("/", host: "other.test"))))
        }
    }

    @Test("Only NTLM covers later requests, and only without a message from the server")
    func covering() throws {
        for mechanism in [ConnectionLoginMechanism.ntlm, .negotiate] {
            for progress in Self.all {
                let login = try FakeLogin(progress, mechanism: mechanism)
                let known = login.authentication
                let isCovered = mechanism == .ntlm && progress != .started
                #expect(ConnectionLoginTurn(authentication: known, token: nil).isCovered(by: login) == isCovered)
                #expect(!ConnectionLoginTurn(authentication: known, token: [1]).isCovered(by: login))
            }
        }
    }

    @Test("A long body waits only for the first message")
    func deferral() throws {
        #expect(try Self.all.map { try FakeLogin($0).defersLongBody } == [true, false, false])
    }

    @Test("NTLM starts with its first message, and can't continue after a malformed challenge")
    func ntlm() throws {
        let login = NTLMLogin(try FakeLogin.authentication(), serverEndPoint: nil)
        #expect(try login.message(after: nil) == NTLMMessage.negotiate)
        #expect(login.progress == .started)
        #expect(throws: ConnectionLoginError.self) { try login.message(after: [0]) }
        #expect(login.progress == .started)
    }
}
