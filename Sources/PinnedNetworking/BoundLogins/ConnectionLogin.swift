import Basics
import CertificateTrust
import SystemGSSAPI

/// A login by NTLM or Negotiate on one connection. The server associates the connection with the user from then on, or
/// until the next message.
///
/// A connection with a login serves only requests that would log in the same way (HA11).
final class ConnectionLogin: Sendable {
    /// The authentication mechanism.
    enum Mechanism: String, Sendable {
        /// NTLM (MS-NLMP) version 2.
        case ntlm = "NTLM"
        /// SPNEGO (RFC 4559).
        case negotiate = "Negotiate"

        /// The scheme of challenges, in lower case.
        var scheme: String { self == .ntlm ? "ntlm" : "negotiate" }
    }

    /// The state of a login after a message from the client.
    struct Progress: Sendable, Hashable {
        /// Whether the server has what it needs to authenticate the user.
        var hasProvenUser = false
        /// Whether another token from the server is expected or possible.
        var takesToken = true
    }

    private enum State: Sendable {
        case ntlm(NTLMAuthentication)
        case negotiate(SecurityContext)
    }

    let mechanism: Mechanism
    let credential: URLCredential
    let space: URLProtectionSpace
    private let state: State
    private let current = Locked(Progress())

    /// Starts a login. Blocks while it requests a ticket from a key distribution center. `serverEndPoint` is that of
    /// the connection's TLS server, or nil without TLS.
    init(
        _ mechanism: Mechanism, _ credential: URLCredential, for space: URLProtectionSpace, serverEndPoint: [UInt8]?
    ) throws(ConnectionLoginError) {
        self.mechanism = mechanism
        self.credential = credential
        self.space = space
        let user = credential.user ?? ""
        let password = credential.password ?? ""
        switch mechanism {
        case .ntlm:
            state = .ntlm(
                NTLMAuthentication(
                    user: NTLMUser(user), password: password, targetName: "HTTP/" + space.host,
                    serverEndPoint: serverEndPoint))
        case .negotiate:
            do throws(GSSError) {
                state = .negotiate(
                    try SecurityContext(
                        host: space.host,
                        credential: credential.standsForTickets ? .tickets : .password(user: user, password: password),
                        serverEndPoint: serverEndPoint))
            } catch {
                throw .negotiate(error)
            }
        }
    }

    var progress: Progress { current.withLock { $0 } }

    /// Returns the client's next message, or nil if there is none. `token` is the server's message, nil at first. Can
    /// block like the initializer.
    func message(after token: [UInt8]?) throws(ConnectionLoginError) -> [UInt8]? {
        switch state {
        case .negotiate(let context):
            do throws(GSSError) {
                let (message, isDone) = try context.next(token)
                current.withLock { $0 = Progress(hasProvenUser: true, takesToken: !isDone) }
                return message
            } catch {
                throw .negotiate(error)
            }
        case .ntlm(let authentication):
            guard let token else { return NTLMMessage.negotiate }
            do throws(NTLMError) {
                let message = try authentication.message(
                    answering: try NTLMChallenge(token), clientChallenge: Self.randomBytes(8), time: Self.windowsTime())
                current.withLock { $0 = Progress(hasProvenUser: true, takesToken: false) }
                return message
            } catch {
                throw .ntlm(error)
            }
        }
    }

    private static func randomBytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

    /// Returns the current time in units of 100 ns since 1601 (MS-DTYP, section 2.3.3).
    private static func windowsTime() -> UInt64 {
        UInt64(max(0, Date().timeIntervalSince1970 + 11_644_473_600) * 10_000_000)
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
