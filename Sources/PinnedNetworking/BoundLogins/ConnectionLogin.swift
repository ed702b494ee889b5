import PinctlGSSAPI
import PinctlHTTPMessages

/// A login that a server binds to one connection, by NTLM or Negotiate. The server associates the connection with the
/// user from then on, or until the next message.
///
/// A connection with a login serves only requests that would log in the same way (HA11). A transfer passes the login
/// on and asks only for its decisions: whether the connection matches a request, whether a long body waits, and whether
/// the connection is kept.
protocol ConnectionLogin: AnyObject, Sendable {
    /// The credential, the protection space and the mechanism of the login.
    var authentication: KnownAuthentication { get }
    var progress: ConnectionLoginProgress { get }
    /// Whether requests on a connection that is logged in are sent without a field of their own.
    var coversLaterRequests: Bool { get }

    /// Returns the client's next message, or `nil` if there is none. `token` is the server's message, `nil` at first.
    /// Can block while it requests a ticket from a key distribution center.
    func message(after token: [UInt8]?) throws(ConnectionLoginError) -> [UInt8]?

    /// Checks the server's last message, in the response that accepts the login. Throws if it doesn't authenticate the
    /// server.
    func verifyServer(_ head: HTTPResponseHead) async throws
}

/// The progress of a login after the client's last message.
enum ConnectionLoginProgress: Sendable, Hashable {
    /// The server doesn't have what it needs to authenticate the user.
    case started
    /// The server can authenticate the user. Another message from the server is possible.
    case proven
    /// The server can authenticate the user and has no further messages.
    case complete
}

/// The use of a connection after a response.
enum ConnectionDisposition: Sendable, Hashable {
    /// Any matching request can use it.
    case keep
    /// Only the next message of its login can use it.
    case hold
    case close
}

extension ConnectionLogin {
    func verifyServer(_ head: HTTPResponseHead) async throws {}

    /// Whether a request with this authentication, or without one, can use the login's connection. It can't if the
    /// login is another user's (CVE-2014-0015, CVE-2015-3143), or if the request doesn't need a login (CVE-2015-3148).
    func matches(_ upcoming: KnownAuthentication?) -> Bool {
        // mutant login-unasked: true for `false` by NTLMLoginTests/withoutLogin
        guard let upcoming, progress != .started else { return false }
        return authentication.prepared.connectionMechanism == upcoming.prepared.connectionMechanism
            // mutant login-connection: true for `authentication.credential == upcoming.credential` by
            //   ConnectionLoginDecisionTests NTLMLoginTests NTLMFlowTests
            && authentication.credential == upcoming.credential && authentication.space == upcoming.space
    }

    /// Whether the server will refuse the request whatever its body is, so that a long body can be sent later.
    var defersLongBody: Bool { progress == .started }

    /// Returns the use of the connection after the response to a request that was sent with this login.
    func disposition(after head: HTTPResponseHead) -> ConnectionDisposition {
        switch (head.statusCode == authentication.party.statusCode, progress) {
        case (true, .started), (true, .proven): .hold
        // The login failed, or was started but not required. The state of the connection at the server is unknown.
        // mutant login-unfinished: .keep by ConnectionLoginDecisionTests NTLMFlowTests
        case (true, .complete), (false, .started): .close
        case (false, .proven), (false, .complete): .keep
        }
    }
}

/// A mechanism that logs in connections.
enum ConnectionLoginMechanism: String, Sendable {
    /// NTLM (MS-NLMP) version 2.
    case ntlm = "NTLM"
    /// SPNEGO (RFC 4559).
    case negotiate = "Negotiate"

    /// The scheme of challenges, in lower case.
    var scheme: String { self == .ntlm ? "ntlm" : "negotiate" }

    /// Starts a login. Blocks while it requests a ticket from a key distribution center. `serverEndPoint` is that of
    /// the connection's TLS server, or `nil` without TLS.
    func start(
        _ authentication: KnownAuthentication, serverEndPoint: [UInt8]?
    ) throws(ConnectionLoginError) -> any ConnectionLogin {
        switch self {
        case .ntlm: NTLMLogin(authentication, serverEndPoint: serverEndPoint)
        case .negotiate: try NegotiateLogin(authentication, serverEndPoint: serverEndPoint)
        }
    }
}

extension URLCredential {
    /// Whether the user and password are empty, which stands for the user's own Kerberos tickets.
    var standsForTickets: Bool { user == "" && password == "" }
}

/// An error in a login by NTLM or Negotiate. The client then tries the next scheme that the server offers.
enum ConnectionLoginError: Error, Hashable {
    case ntlm(NTLMError)
    case negotiate(GSSError)
}

extension ConnectionLoginError: CustomStringConvertible {
    var description: String {
        switch self {
        case .ntlm(let error): error.description
        case .negotiate(let error): error.description
        }
    }
}
