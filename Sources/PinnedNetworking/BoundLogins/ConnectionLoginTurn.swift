import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages

/// The client's turn in a connection's login: the authentication that a request is sent with, and the server's last
/// message.
struct ConnectionLoginTurn: Sendable {
    /// The result of a turn.
    enum Step: Sendable {
        /// The request isn't part of a login.
        case none
        /// The connection is already logged in, so the request needs no field.
        case loggedIn(any ConnectionLogin)
        /// The field to send, and its login, which the connection keeps.
        case field(HTTPField, any ConnectionLogin)
        /// The login has no message for this request.
        case noMessage
        /// The login failed.
        case failed
    }

    let authentication: KnownAuthentication
    /// The server's last message, or `nil` for a login that starts.
    let token: [UInt8]?

    /// Returns whether a login has already completed, so that the request needs no message.
    func isCovered(by login: any ConnectionLogin) -> Bool {
        token == nil && login.coversLaterRequests && login.matches(authentication)
    }

    /// Computes the next message, off the event loop. A login continues only on the connection where it began, and
    /// starts again on another: `current` is that of the connection. `certificate` is that of the connection's TLS
    /// server, for channel binding.
    func message(
        continuing current: (any ConnectionLogin)?, certificate: X509Certificate?
    ) async throws(CancellationError) -> Step {
        guard let mechanism = authentication.prepared.connectionMechanism else { return .none }
        let begun = token == nil ? nil : current
        let step: Step? = await BlockingWork.run {
            // If a key distribution center doesn't respond, its client takes a minute to give up.
            do throws(ConnectionLoginError) {
                let login: any ConnectionLogin
                let message: [UInt8]?
                if let begun {
                    login = begun
                    message = try begun.message(after: token)
                } else {
                    login = try mechanism.start(authentication, serverEndPoint: certificate?.serverEndPoint)
                    message = try login.message(after: nil)
                }
                guard let message else { return .noMessage }
                let value = mechanism.rawValue + " " + Base64.encode(message.span)
                return .field(HTTPField(name: authentication.party.credentialField, value: value), login)
            } catch {
                // Log on this thread, since writing to the log can be slow.
                let (method, host) = (authentication.space.authenticationMethod, authentication.space.host)
                NSLog("%@", "PinnedNetworking: no login by \(method) at \(host): \(error)")
                return .failed
            }
        }
        guard let step else { throw CancellationError() }
        return step
    }
}
