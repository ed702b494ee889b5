import CertificateTrust
import HTTPMessages
import TLSTransport

// How a transfer logs its connections in, by NTLM and Negotiate.

extension Transfer {
    /// What goes with a request for the sake of its connection's login.
    enum LoginMessage: Sendable {
        case none
        /// And the login that it belongs to, which is the connection's from then on.
        case field(HTTPField, ConnectionLogin)
        /// The login cannot go on, and another way was found, or none.
        case impossible
    }

    /// Whether the connection is logged in already, so that the request needs to say nothing. Negotiate says something
    /// with each request: servers that take it once for the connection take it again.
    func ridesAlong(_ way: Login, on connection: PooledConnection) -> Bool {
        guard let (known, token) = self[keyPath: way]?.sentLogin, token == nil, let login = connection.login else {
            return false
        }
        return known.prepared.connectionMechanism == .ntlm && login.progress.hasProvenUser && connection.holds(known)
    }

    /// The next message of a login on a connection. `begun` is the one under way there: a login goes on only where it was
    /// begun, and begins anew on another connection. `certificate` is that of the connection's TLS, for the binding.
    func message(
        of way: Login, begun: ConnectionLogin?, certificate: X509Certificate?
    ) async throws -> LoginMessage {
        guard let (known, token) = self[keyPath: way]?.sentLogin,
            let mechanism = known.prepared.connectionMechanism
        else { return .none }
        let begun = token == nil ? nil : begun
        task.limit.progress(to: .login)
        let result: Result<(ConnectionLogin, [UInt8]?), ConnectionLoginError>? = await BlockingWork.run {
            // A key distribution centre that is gone takes its client a minute to give up.
            do throws(ConnectionLoginError) {
                if let begun { return .success((begun, try begun.message(after: token))) }
                let new = try ConnectionLogin(
                    mechanism, known.credential, for: known.space, serverEndPoint: certificate?.serverEndPoint)
                return .success((new, try new.message(after: nil)))
            } catch {
                // Here, since whoever reads the log may be slow.
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
            return .field(HTTPField(name: known.place.credentialField, value: value), current)
        case .failure:
            await lookUp(way, false)
            _ = try await proceed(way, self[keyPath: way]?.cannotLogIn())
            return .impossible
        }
    }

    /// Looks at what a server says by Negotiate when it has taken a login: it proves who it is (RFC 4559, section 5).
    func check(_ login: ConnectionLogin, _ request: AuthenticationRequest, _ head: HTTPResponseHead) async throws {
        guard login.mechanism == .negotiate, login.progress.takesToken else { return }
        let values = head.fields.filter { $0.isNamed(request.place.challengeField) }.map(\.bytes)
        let challenge = HTTPChallenge.parse(values).first { $0.scheme == login.mechanism.scheme }
        // A server that says nothing has proven itself by TLS alone.
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
