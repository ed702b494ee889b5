import CertificateTrust
import HTTPMessages
import TLSTransport

// Logins of a transfer's connections by NTLM and Negotiate.

extension Transfer {
    /// The field to send with a request for its connection's login.
    enum LoginMessage: Sendable {
        case none
        /// A field, and the login it belongs to, which the connection keeps.
        case field(HTTPField, ConnectionLogin)
        /// The login failed. Another way was found, or there is none.
        case impossible
    }

    /// Returns whether the connection is already logged in, so that the request needs no field. This applies only to
    /// NTLM. Negotiate sends a field with each request, and servers that authenticate whole connections accept that.
    func ridesAlong(_ way: Login, on connection: PooledConnection) -> Bool {
        guard let (known, token) = self[keyPath: way]?.sentLogin, token == nil, let login = connection.login else {
            return false
        }
        return known.prepared.connectionMechanism == .ntlm && login.progress.hasProvenUser && connection.matches(known)
    }

    /// Returns the next message of a login on a connection. `begun` is the login in progress there. A login continues
    /// only on the connection where it began, and starts again on another. `certificate` is that of the connection's
    /// TLS server, for channel binding.
    func message(
        of way: Login, begun: ConnectionLogin?, certificate: X509Certificate?
    ) async throws -> LoginMessage {
        guard let (known, token) = self[keyPath: way]?.sentLogin,
            let mechanism = known.prepared.connectionMechanism
        else { return .none }
        let begun = token == nil ? nil : begun
        task.limit.progress(to: .login)
        let result: Result<(ConnectionLogin, [UInt8]?), ConnectionLoginError>? = await BlockingWork.run {
            // If a key distribution center doesn't respond, its client takes a minute to give up.
            do throws(ConnectionLoginError) {
                if let begun { return .success((begun, try begun.message(after: token))) }
                let new = try ConnectionLogin(
                    mechanism, known.credential, for: known.space, serverEndPoint: certificate?.serverEndPoint)
                return .success((new, try new.message(after: nil)))
            } catch {
                // Log on this thread, since writing to the log can be slow.
                let (method, host) = (known.space.authenticationMethod, known.space.host)
                NSLog("%@", "PinnedNetworking: no login by \(method) at \(host): \(error)")
                return .failure(error)
            }
        }
        switch result {
        case nil: throw CancellationError()
        case .success((let current, let message)):
            task.limit.progress(to: .sending)
            guard let message else { return .none }
            let value = mechanism.rawValue + " " + Base64.encode(message.span)
            return .field(HTTPField(name: known.party.credentialField, value: value), current)
        case .failure:
            await lookUp(way, false)
            _ = try await proceed(way, self[keyPath: way]?.cannotLogIn())
            return .impossible
        }
    }

    /// Checks the Negotiate token with which a server that accepted a login authenticates itself (RFC 4559, section 5).
    func check(_ login: ConnectionLogin, _ request: AuthenticationRequest, _ head: HTTPResponseHead) async throws {
        guard login.mechanism == .negotiate, login.progress.takesToken else { return }
        let values = head.fields.filter { $0.isNamed(request.party.challengeField) }.map(\.bytes)
        let challenge = HTTPChallenge.parse(values).first { $0.scheme == login.mechanism.scheme }
        // A server that sends no token has authenticated only by TLS.
        guard let token = challenge?.token68 else { return }
        guard let bytes = Base64.decodeCanonical(Array(token.utf8)) else {
            throw AuthenticationError.unprovenServer(login.space)
        }
        let wasCancelled: Bool
        do throws(ConnectionLoginError) {
            let answer: Void? = try await BlockingWork.run { () throws(ConnectionLoginError) in
                _ = try login.message(after: bytes)
            }
            wasCancelled = answer == nil
        } catch {
            throw AuthenticationError.unprovenServer(login.space)
        }
        if wasCancelled { throw CancellationError() }
        guard !login.progress.takesToken else { throw AuthenticationError.unprovenServer(login.space) }
    }
}
