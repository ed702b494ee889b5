import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages

/// The authentication of one task at one server or proxy: the credentials to send, the questions for delegates, and the
/// end of the exchange. A pure state machine.
///
/// Call ``field(for:)`` for every request, and ``received(statusCode:fields:)`` when the head of its response arrives.
/// The latter returns the next step. Pass the answer to a question to ``answered(_:)``. A request to another server or
/// proxy starts from scratch, so a redirect carries no credential with it.
struct AuthenticationExchange: Sendable {
    enum Step: Sendable {
        /// Deliver the response with its body to the task.
        case deliver(AuthenticationOutcome)
        /// Read the stored credentials: set ``AuthenticationExchange/stored`` and call
        /// ``AuthenticationExchange/lookedUp()``.
        case lookUp
        /// Ask the delegates.
        case ask(AuthenticationQuestion)
        /// Send the same request again with the new result of ``AuthenticationExchange/field(for:)``.
        case retry
        /// End the task with this error.
        case refused(AuthenticationError)
    }

    /// The maximum number of answers to one scheme before the response is delivered as it is (HA7).
    static let answerLimit = 4
    /// The maximum number of new nonces before a request for another one counts as a refusal. Concurrent requests can
    /// make each other's nonces stale: Apache with `AuthDigestNonceLifetime 0` accepts only the latest one.
    static let renewalLimit = 20
    /// The maximum number of messages of connection logins. NTLM requires two, and Negotiate seldom more.
    static let messageLimit = 20
    /// The maximum number of times a login starts again because its connection was closed in the middle. A single close
    /// can be a timeout, but some servers close every connection.
    static let restartLimit = 1

    /// A credential that is sent with requests until their response arrives.
    private struct Answer {
        var known: KnownAuthentication
        /// Whether the credential is sent in advance, before a challenge in this task.
        var isAhead = false
        /// Whether a delegate provided the credential.
        var isFromDelegate = false
        /// The server's last message in a login of the connection.
        var token: [UInt8]?
    }

    private let cache: AuthenticationCache
    typealias Lookup = @Sendable (URLProtectionSpace, _ user: String?) -> URLCredential?

    /// A function that looks up the stored credential of a user, or the default one, for a space. `nil` until the
    /// stored credentials have been read, which can wait for a disk. Most responses don't need them.
    var stored: Lookup?

    private var request: AuthenticationRequest?
    private var answer: Answer?
    /// The answer that was sent with the current request.
    private var sent: (answer: Answer, proof: DigestProof?)?
    /// The remaining offers of the last response. The first one is being asked about.
    private var offers: [AuthenticationOffer] = []
    /// The spaces in which the task continues without a credential.
    private var skippedSpaces: Set<URLProtectionSpace> = []
    private var refused: [(realm: String?, credential: URLCredential)] = []
    private var failureCount = 0
    private var answerCounts: [String: Int] = [:]
    private var renewedNonces: Set<[UInt8]> = []
    private var messageCount = 0
    private var restartCount = 0
    /// A credential that a space accepted and that is for this task only.
    private var own: KnownAuthentication?

    /// Whether a credential was refused.
    var hasFailed: Bool { failureCount > 0 }

    /// The credential that was sent with the request whose response arrived last.
    var accepted: URLCredential? { sent?.answer.known.credential }

    /// Creates an exchange. If there is a `request`, it was already sent without a credential.
    init(
        cache: AuthenticationCache, after request: AuthenticationRequest? = nil,
        stored: Lookup? = nil
    ) {
        self.cache = cache
        self.stored = stored
        self.request = request
    }

    /// Returns the field to send with a request: the answer to the last response, or a credential that its space
    /// accepted before.
    mutating func field(for request: AuthenticationRequest) -> HTTPField? {
        prepareAnswer(for: request)
        sent = nil
        guard let answer else { return nil }
        switch answer.known.prepared {
        case .basic(let value):
            sent = (answer, nil)
            return HTTPField(name: request.party.credentialField, value: value)
        case .digest(let session):
            let count = cache.nextCount(of: session.nonce, at: request.party)
            guard
                let authorization = session.authorization(
                    method: request.method, target: request.target, body: request.body, count: count)
            else { return nil }
            sent = (answer, authorization.proof)
            return HTTPField(name: request.party.credentialField, bytes: authorization.value[...])
        case .connection:
            sent = (answer, nil)
            return nil
        }
    }

    /// Returns the login that a request requires of its connection, so that a matching connection can be chosen, or
    /// `nil`.
    mutating func connectionLogin(for request: AuthenticationRequest) -> KnownAuthentication? {
        prepareAnswer(for: request)
        guard let known = answer?.known, known.prepared.connectionMechanism != nil else { return nil }
        return known
    }

    /// The turn in the connection's login that the request is sent with, or `nil`.
    var loginTurn: ConnectionLoginTurn? {
        guard let sent = sent?.answer, sent.known.prepared.connectionMechanism != nil else { return nil }
        return ConnectionLoginTurn(authentication: sent.known, token: sent.token)
    }

    private mutating func prepareAnswer(for request: AuthenticationRequest) {
        // mutant redirect-state: false for 2 by AuthenticationExchangeTests
        if let before = self.request, before.party != request.party || before.user != request.user {
            self = AuthenticationExchange(cache: cache, stored: stored)
        }
        self.request = request
        guard !request.hasOwnField else {
            answer = nil
            return
        }
        guard answer == nil, let known = ownAuthentication(ahead: request) ?? cache.authentication(ahead: request)
        else { return }
        if known.prepared.connectionMechanism != nil, request.connectionLogins == .refused { return }
        answer = Answer(known: known, isAhead: true)
    }

    /// Processes the head of the response to the last request. `login` is the progress of the connection's login, if
    /// the request was part of one. For a request with ``ConnectionLogins/stored``, ``stored`` must be set.
    mutating func received(
        statusCode: Int, fields: [HTTPField], login: ConnectionLoginProgress? = nil
    ) -> Step {
        offers = []
        guard let request, !request.hasOwnField else { return .deliver(.plain) }
        // mutant challenge-party: statusCode == 401 || statusCode == 407 by AuthenticationExchangeTests LoginTests
        //   ProxyTests
        guard statusCode == request.party.statusCode else {
            // A challenge from the other side (server or proxy) says nothing about the credential for this one. But a
            // proxy that forwards it has accepted the connection's login, so the last message of the login isn't sent
            // again.
            if statusCode == 401 || statusCode == 407 {
                if request.party.isProxy, let login, login != .started { answer?.token = nil }
                return .deliver(.plain)
            }
            // The login isn't complete, and the request didn't require it.
            if login == .started { return .deliver(.plain) }
            return accepted(request, fields)
        }
        answer = nil
        offers = AuthenticationOffer.offers(in: fields, for: request).filter { permits($0, request) }
        if let sent = sent?.answer, continueLogin(sent, login) || renewNonce(sent) { return .retry }
        return advance()
    }

    /// Continues after ``Step/lookUp``.
    mutating func lookedUp() -> Step { advance() }

    /// Processes the delegates' answer to the last question. Default handling uses the ``stored`` credential.
    mutating func answered(_ answer: ChallengeAnswer) -> Step {
        guard let request, let offer = offers.first else { return .deliver(.plain) }
        switch answer.disposition {
        case .cancelAuthenticationChallenge:
            return .refused(.cancelled(offer.space))
        case .rejectProtectionSpace:
            break
        case .performDefaultHandling:
            if let credential = stored?(offer.space, request.user), useWithoutAsking(credential, for: offer, request) {
                return .retry
            }
        case .useCredential:
            guard let credential = answer.credential, case .password(_, _?) = credential.kind else {
                return .deliver(.plain)
            }
            do throws(CredentialProblem) {
                if try use(credential, for: offer, request, isFromDelegate: true) { return .retry }
            } catch {
                return .refused(.unusableCredential(error))
            }
        }
        skippedSpaces.insert(offer.space)
        offers.removeFirst()
        return advance()
    }
}

// MARK: Connection logins

extension AuthenticationExchange {
    /// Continues with the server's next scheme after a connection login failed.
    mutating func cannotLogIn() -> Step {
        guard let (sent, _) = sent else { return .deliver(.plain) }
        let space = sent.known.space
        cache.forget(sent.known)
        if own?.space == space { own = nil }
        answer = nil
        self.sent = nil
        skippedSpaces.insert(space)
        return advance()
    }

    private func permits(_ offer: AuthenticationOffer, _ request: AuthenticationRequest) -> Bool {
        guard offer.scheme.connectionMechanism != nil else { return true }
        return switch request.connectionLogins {
        case .permitted: true
        // mutant ticket-default: true by ConnectionLoginExchangeTests AuthenticationExchangeTests
        case .stored: stored?(offer.space, nil) != nil
        case .refused: false
        }
    }

    /// Continues a login if the refusal is the server's next message in it, or restarts a login from an earlier
    /// request. Otherwise returns false.
    private mutating func continueLogin(_ sent: Answer, _ login: ConnectionLoginProgress?) -> Bool {
        guard let login, messageCount < Self.messageLimit,
            let offer = offers.first(where: { $0.space == sent.known.space })
        else { return false }
        messageCount += 1
        if sent.token != nil, login == .started {
            restartCount += 1
            guard restartCount <= Self.restartLimit else { return false }
        }
        if login != .complete, let token = offer.token {
            guard let bytes = Base64.decodeCanonical(Array(token.utf8)) else { return false }
            answer = sent
            answer?.token = bytes
        } else if login == .complete, sent.isAhead {
            // The earlier login may have expired, so it starts again.
            answer = sent
            answer?.token = nil
        } else {
            return false
        }
        answer?.isAhead = false
        return true
    }
}

// MARK: Results of a response

extension AuthenticationExchange {
    private mutating func accepted(_ request: AuthenticationRequest, _ fields: [HTTPField]) -> Step {
        answer = nil
        renewedNonces = []
        guard let (sent, proof) = sent else { return .deliver(.plain) }
        var outcome = AuthenticationOutcome.plain
        var known = sent.known
        var isNewer = !sent.isAhead
        let values = fields.filter { $0.isNamed(request.party.informationField) }.map(\.bytes)
        if let proof, let information = HTTPChallenge.information(in: values) {
            switch proof.verdict(on: information.parameters) {
            case .forged: return .refused(.forgedResponse(known.space))
            case .needsBody:
                outcome.bodyProof = AuthenticationOutcome.BodyProof(proof, information.parameters, known.space)
            case .valid, nil: break
            }
            if let next = information.values["nextnonce"], case .digest(var session) = known.prepared,
                next.count <= DigestChallenge.nonceLimit
            {
                session.nonce = next
                known.prepared = .digest(session)
                isNewer = true
            }
        }
        known.learn(request.path)
        if known.credential.persistence == .none {
            own = known
        } else {
            cache.note(known, isNewer: isNewer)
        }
        if sent.isFromDelegate { outcome.accepted = (known.credential, known.space) }
        return .deliver(outcome)
    }

    /// Retries the same credential if the server wants a new nonce. Otherwise records it as refused and returns false.
    private mutating func renewNonce(_ sent: Answer) -> Bool {
        let offer = offers.first { $0.space == sent.known.space }
        if let offer, case .digest(let challenge) = offer.scheme, case .digest(let session) = sent.known.prepared,
            challenge.isStale || sent.isAhead, challenge.nonce != session.nonce,
            renewedNonces.count < Self.renewalLimit, renewedNonces.insert(challenge.nonce).inserted,
            let prepared = try? PreparedCredential(sent.known.credential, for: offer.scheme)
        {
            answer = sent
            answer?.known.prepared = prepared
            answer?.isAhead = false
            return true
        }
        // A credential sent in advance may have reached another realm, which isn't a refusal.
        guard offer != nil || !sent.isAhead else { return false }
        failureCount += 1
        refused.append((sent.known.space.realm, sent.known.credential))
        cache.forget(sent.known)
        if own?.space == sent.known.space { own = nil }
        return false
    }
}

// MARK: Selection of the next credential

extension AuthenticationExchange {
    private mutating func advance() -> Step {
        guard let request else { return .deliver(.plain) }
        offers.removeAll { skippedSpaces.contains($0.space) }
        // mutant login-count: true for 2 by AuthenticationExchangeTests
        guard let offer = offers.first, answerCounts[offer.scheme.method, default: 0] < Self.answerLimit else {
            return .deliver(.plain)
        }
        if knownCredentials(for: offer, request).contains(where: { useWithoutAsking($0, for: offer, request) }) {
            return .retry
        }
        guard stored != nil else { return .lookUp }
        return .ask(
            AuthenticationQuestion(
                space: offer.space, proposedCredential: proposal(for: offer, request),
                previousFailureCount: failureCount))
    }

    /// Returns the credentials to try before asking: those that this space accepted before, and the one in the URL.
    private func knownCredentials(
        for offer: AuthenticationOffer, _ request: AuthenticationRequest
    ) -> [URLCredential] {
        var credentials: [URLCredential] = []
        if let own, own.space == offer.space { credentials.append(own.credential) }
        if let known = cache.authentication(for: request, in: offer.space) { credentials.append(known.credential) }
        if let user = request.user, let password = request.password {
            credentials.append(URLCredential(user: user, password: password, persistence: .forSession))
        }
        return credentials
    }

    private func proposal(for offer: AuthenticationOffer, _ request: AuthenticationRequest) -> URLCredential? {
        if let last = refused.last(where: { $0.realm == offer.space.realm }) { return last.credential }
        if let credential = stored?(offer.space, request.user) { return credential }
        return request.user.map {
            URLCredential(kind: .password(user: $0, password: nil), persistence: .none)
        }
    }

    /// Prepares the answer to an offer. Returns false if the credential isn't of a suitable kind.
    private mutating func use(
        _ credential: URLCredential, for offer: AuthenticationOffer, _ request: AuthenticationRequest,
        isFromDelegate: Bool
    ) throws(CredentialProblem) -> Bool {
        guard let prepared = try PreparedCredential(credential, for: offer.scheme) else { return false }
        answerCounts[offer.scheme.method, default: 0] += 1
        answer = Answer(
            known: KnownAuthentication(credential, prepared, in: offer.space, for: request),
            isFromDelegate: isFromDelegate)
        return true
    }

    /// Prepares the answer with a credential that no delegate provided, unless this realm already refused it.
    private mutating func useWithoutAsking(
        _ credential: URLCredential, for offer: AuthenticationOffer, _ request: AuthenticationRequest
    ) -> Bool {
        let isRefused = refused.contains {
            $0.realm == offer.space.realm && $0.credential.kind == credential.kind
        }
        return !isRefused && (try? use(credential, for: offer, request, isFromDelegate: false)) == true
    }

    private func ownAuthentication(ahead request: AuthenticationRequest) -> KnownAuthentication? {
        guard let own, own.coverage(of: request.path) != nil else { return nil }
        return own
    }
}

/// A question for a delegate. The task turns it into a ``URLAuthenticationChallenge``.
struct AuthenticationQuestion: Sendable, Hashable {
    let space: URLProtectionSpace
    /// The credential that this realm refused last, otherwise the stored one, otherwise the user in the URL.
    let proposedCredential: URLCredential?
    /// The number of refused answers of the task, with any method.
    let previousFailureCount: Int
}
