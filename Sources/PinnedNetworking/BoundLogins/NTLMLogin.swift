import PinctlBasics

/// A login of a connection by NTLM. It takes two messages from the client and one from the server.
final class NTLMLogin: ConnectionLogin {
    let authentication: KnownAuthentication
    let coversLaterRequests = true
    private let messages: NTLMAuthentication
    private let current = Locked(ConnectionLoginProgress.started)

    /// Starts a login. `serverEndPoint` is that of the connection's TLS server, or `nil` without TLS.
    init(_ authentication: KnownAuthentication, serverEndPoint: [UInt8]?) {
        self.authentication = authentication
        messages = NTLMAuthentication(
            user: NTLMUser(authentication.credential.user ?? ""), password: authentication.credential.password ?? "",
            targetName: "HTTP/" + authentication.space.host, serverEndPoint: serverEndPoint)
    }

    var progress: ConnectionLoginProgress { current.withLock { $0 } }

    func message(after token: [UInt8]?) throws(ConnectionLoginError) -> [UInt8]? {
        guard let token else { return NTLMMessage.negotiate }
        do throws(NTLMError) {
            let message = try messages.message(
                answering: try NTLMChallenge(token), clientChallenge: Self.randomBytes(8), time: Self.windowsTime())
            current.withLock { $0 = .complete }
            return message
        } catch {
            throw .ntlm(error)
        }
    }

    private static func randomBytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

    /// Returns the current time in units of 100 ns since 1601 (MS-DTYP, section 2.3.3).
    private static func windowsTime() -> UInt64 {
        UInt64(max(0, Date().timeIntervalSince1970 + 11_644_473_600) * 10_000_000)
    }
}
