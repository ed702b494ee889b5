import CertificateTrust
import PinctlBasics
import PinctlGSSAPI
import PinctlHTTPMessages

/// A login of a connection by Negotiate, with Kerberos. Requests on a connection that is logged in send a field again,
/// which servers that authenticate whole connections accept.
final class NegotiateLogin: ConnectionLogin {
    let authentication: KnownAuthentication
    let coversLaterRequests = false
    private let context: SecurityContext
    private let current = Locked(ConnectionLoginProgress.started)

    /// Starts a login. Blocks while it requests a ticket from a key distribution center. `serverEndPoint` is that of
    /// the connection's TLS server, or `nil` without TLS.
    init(_ authentication: KnownAuthentication, serverEndPoint: [UInt8]?) throws(ConnectionLoginError) {
        self.authentication = authentication
        let credential = authentication.credential
        do throws(GSSError) {
            context = try SecurityContext(
                host: authentication.space.host,
                credential: credential.standsForTickets
                    ? .tickets : .password(user: credential.user ?? "", password: credential.password ?? ""),
                serverEndPoint: serverEndPoint)
        } catch {
            throw .negotiate(error)
        }
    }

    var progress: ConnectionLoginProgress { current.withLock { $0 } }

    func message(after token: [UInt8]?) throws(ConnectionLoginError) -> [UInt8]? {
        do throws(GSSError) {
            let (message, isDone) = try context.next(token)
            current.withLock { $0 = isDone ? .complete : .proven }
            return message
        } catch {
            throw .negotiate(error)
        }
    }

    /// Checks the token with which the server authenticates itself (RFC 4559, section 5).
    func verifyServer(_ head: HTTPResponseHead) async throws {
        guard progress != .complete else { return }
        let values = head.fields.filter { $0.isNamed(authentication.party.challengeField) }.map(\.bytes)
        let scheme = ConnectionLoginMechanism.negotiate.scheme
        // A server that sends no token has authenticated only by TLS.
        guard let token = HTTPChallenge.parse(values).first(where: { $0.scheme == scheme })?.token68 else { return }
        guard let bytes = Base64.decodeCanonical(Array(token.utf8)) else {
            throw AuthenticationError.unprovenServer(authentication.space)
        }
        let isAnswered: Bool
        do throws(ConnectionLoginError) {
            isAnswered =
                try await BlockingWork.run { () throws(ConnectionLoginError) in
                    _ = try self.message(after: bytes)
                    return true
                } ?? false
        } catch {
            throw AuthenticationError.unprovenServer(authentication.space)
        }
        guard isAnswered else { throw CancellationError() }
        guard progress == .complete else { throw AuthenticationError.unprovenServer(authentication.space) }
    }
}
