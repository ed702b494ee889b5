import CertificateTrust
import SystemGSSAPI

/// A login by NTLM or Negotiate on one connection: the server takes the connection for the user's from then on, or until
/// the next message.
///
/// A connection that has one serves requests that would log in the same way, and no others (HA11).
final class ConnectionLogin: Sendable {
    /// How one logs in.
    enum Mechanism: String, Sendable {
        /// MS-NLMP, version 2.
        case ntlm = "NTLM"
        /// SPNEGO (RFC 4559).
        case negotiate = "Negotiate"

        /// The scheme, in small letters, of challenges.
        var scheme: String { self == .ntlm ? "ntlm" : "negotiate" }
    }

    /// Where a login stands behind a message of the client's.
    struct Progress: Sendable, Hashable {
        /// The server has what it needs to know the user.
        var hasProvenUser = false
        /// Another token of the server's is expected, or can be.
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

    /// Blocks while a key distribution centre is asked for a ticket. `serverEndPoint` is that of the connection's TLS
    /// server; nil without TLS.
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

    /// The next message, after the server's, which is nil at first; nil when there is none. Blocks like the initialiser.
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

    /// Now, in units of 100 ns since 1601 (MS-DTYP, section 2.3.3).
    private static func windowsTime() -> UInt64 {
        UInt64(max(0, Date().timeIntervalSince1970 + 11_644_473_600) * 10_000_000)
    }
}

extension URLCredential {
    /// An empty user and password stand for the Kerberos tickets that the user of the program has.
    var standsForTickets: Bool { user == "" && password == "" }
}

/// Why a login by NTLM or Negotiate does not go on. The next scheme that the server offers is tried then.
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
