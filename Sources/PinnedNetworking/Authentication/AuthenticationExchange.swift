import CertificateTrust
import HTTPMessages

/// The authentication of one task at one place: what is sent, who is asked, and when it ends. A pure state machine.
///
/// For every request: ``field(for:)``, and when its response's head is there ``received(statusCode:fields:)``. That says
/// what to do next; what it asks is answered with ``answered(_:)``. A request to another place starts from nothing, so
/// that a redirect carries no credential with it.
struct AuthenticationExchange: Sendable {
    enum Step: Sendable {
        /// The response is the task's, with its body.
        case deliver(AuthenticationOutcome)
        /// What is stored has to be known: set ``AuthenticationExchange/stored`` and call
        /// ``AuthenticationExchange/lookedUp()``.
        case lookUp
        /// The delegates are to be asked.
        case ask(AuthenticationQuestion)
        /// The same request goes out again, with what ``AuthenticationExchange/field(for:)`` now says.
        case retry
        /// The task ends.
        case refused(AuthenticationError)
    }

    /// How often one scheme is answered before the response is delivered as it is (HA7).
    static let answerLimit = 4
    /// How often the server may want another nonce before it counts as a refusal.
    static let renewalLimit = 4
    /// Messages of logins of connections; NTLM takes two, and Negotiate hardly more.
    static let messageLimit = 20
    /// How often a login goes on that was begun anew, its connection having been closed in the middle: one can run into
    /// its time, but some servers close them all.
    static let restartLimit = 1

    /// A credential that goes with requests until their response is there.
    private struct Answer {
        var known: KnownAuthentication
        /// Nobody asked for it yet in this task.
        var isAhead = false
        /// A delegate gave it.
        var isGiven = false
        /// What the server said last in a login of the connection.
        var token: [UInt8]?
    }

    private let cache: AuthenticationCache
    typealias Lookup = @Sendable (URLProtectionSpace, _ user: String?) -> URLCredential?

    /// Looks up the credential of a user, or the default one, that is kept for a space; nil while nobody has read what is
    /// kept, which can wait for a disk. Most responses do without.
    var stored: Lookup?

    private var request: AuthenticationRequest?
    private var answer: Answer?
    /// What went with the request that is under way.
    private var sent: (answer: Answer, proof: DigestProof?)?
    /// What the last response offers and is still open. The first is being asked about.
    private var offers: [AuthenticationOffer] = []
    /// Spaces in which the task goes on without.
    private var passed: Set<URLProtectionSpace> = []
    private var refused: [(realm: String?, credential: URLCredential)] = []
    private var failureCount = 0
    private var answerCounts: [String: Int] = [:]
    private var renewedNonces: Set<[UInt8]> = []
    private var messageCount = 0
    private var restartCount = 0
    /// What a space accepted that is for this task alone.
    private var own: KnownAuthentication?

    /// Whether a credential was refused.
    var hasFailed: Bool { failureCount > 0 }

    /// The credential that went with the request whose response came last.
    var accepted: URLCredential? { sent?.answer.known.credential }

    /// `request` went out already, without a credential.
    init(
        cache: AuthenticationCache, after request: AuthenticationRequest? = nil,
        stored: Lookup? = nil
    ) {
        self.cache = cache
        self.stored = stored
        self.request = request
    }

    /// The field to send with a request: the answer to its last response, or what is known of its space.
    mutating func field(for request: AuthenticationRequest) -> HTTPField? {
        prepareAnswer(for: request)
        sent = nil
        guard let answer else { return nil }
        switch answer.known.prepared {
        case .basic(let value):
            sent = (answer, nil)
            return HTTPField(name: request.place.credentialField, value: value)
        case .digest(let session):
            let count = cache.nextCount(of: session.nonce, at: request.place)
            guard
                let authorization = session.authorization(
                    method: request.method, target: request.target, body: request.body, count: count)
            else { return nil }
            sent = (answer, authorization.proof)
            return HTTPField(name: request.place.credentialField, bytes: authorization.value[...])
        case .connection:
            sent = (answer, nil)
            return nil
        }
    }

    /// What a request will log its connection in with, so that one can be chosen; nil for none.
    mutating func connectionLogin(for request: AuthenticationRequest) -> KnownAuthentication? {
        prepareAnswer(for: request)
        guard let known = answer?.known, known.prepared.connectionMechanism != nil else { return nil }
        return known
    }

    /// The login of the connection that goes with the request, and the server's last word in it; nil for none.
    var sentLogin: (known: KnownAuthentication, token: [UInt8]?)? {
        guard let sent = sent?.answer, sent.known.prepared.connectionMechanism != nil else { return nil }
        return (sent.known, sent.token)
    }

    private mutating func prepareAnswer(for request: AuthenticationRequest) {
        if let before = self.request, before.place != request.place || before.user != request.user {
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

    /// Takes the head of the response to the last request. `login` says where the login of its connection stood, when
    /// one went with the request. A request with ``ConnectionLogins/stored`` needs what is ``stored``.
    mutating func received(
        statusCode: Int, fields: [HTTPField], login: ConnectionLogin.Progress? = nil
    ) -> Step {
        offers = []
        guard let request, !request.hasOwnField else { return .deliver(.plain) }
        guard statusCode == request.place.statusCode else {
            // The other side's question says nothing about what was sent to this one, but that a proxy which passes it
            // on has taken its connection's login: the last word of that is not said again.
            if statusCode == 401 || statusCode == 407 {
                if request.place.isProxy, login?.hasProvenUser == true { answer?.token = nil }
                return .deliver(.plain)
            }
            // Nobody was logged in yet, and nobody had to be.
            if let login, !login.hasProvenUser { return .deliver(.plain) }
            return accepted(request, fields)
        }
        answer = nil
        offers = AuthenticationOffer.offers(in: fields, for: request).filter { permits($0, request) }
        if let sent = sent?.answer, goesOn(sent, login) || renews(sent) { return .retry }
        return advance()
    }

    /// Goes on where ``Step/lookUp`` left off.
    mutating func lookedUp() -> Step { advance() }

    /// Takes what the delegates answered to the last question. Default handling takes what is ``stored``.
    mutating func answered(_ answer: ChallengeAnswer) -> Step {
        guard let request, let offer = offers.first else { return .deliver(.plain) }
        switch answer.disposition {
        case .cancelAuthenticationChallenge:
            return .refused(.cancelled(offer.space))
        case .rejectProtectionSpace:
            break
        case .performDefaultHandling:
            if let credential = stored?(offer.space, request.user), uses(credential, unaskedFor: offer, request) {
                return .retry
            }
        case .useCredential:
            guard let credential = answer.credential, case .password(_, _?) = credential.kind else {
                return .deliver(.plain)
            }
            do throws(CredentialProblem) {
                if try use(credential, for: offer, request, isGiven: true) { return .retry }
            } catch {
                return .refused(.unusableCredential(error))
            }
        }
        passed.insert(offer.space)
        offers.removeFirst()
        return advance()
    }
}

// MARK: Logins of connections

extension AuthenticationExchange {
    /// Goes on after a login of the connection could not: with the next scheme that the server offers.
    mutating func cannotLogIn() -> Step {
        guard let (sent, _) = sent else { return .deliver(.plain) }
        let space = sent.known.space
        cache.forget(sent.known)
        if own?.space == space { own = nil }
        answer = nil
        self.sent = nil
        passed.insert(space)
        return advance()
    }

    private func permits(_ offer: AuthenticationOffer, _ request: AuthenticationRequest) -> Bool {
        guard offer.scheme.connectionMechanism != nil else { return true }
        return switch request.connectionLogins {
        case .permitted: true
        case .stored: stored?(offer.space, nil) != nil
        case .refused: false
        }
    }

    /// Whether the server's refusal is its next word in a login, or the end of one that an earlier request began.
    private mutating func goesOn(_ sent: Answer, _ login: ConnectionLogin.Progress?) -> Bool {
        guard let login, messageCount < Self.messageLimit,
            let offer = offers.first(where: { $0.space == sent.known.space })
        else { return false }
        messageCount += 1
        if sent.token != nil, !login.hasProvenUser {
            restartCount += 1
            guard restartCount <= Self.restartLimit else { return false }
        }
        if login.takesToken, let token = offer.token {
            guard let bytes = Base64.decodeCanonical(Array(token.utf8)) else { return false }
            answer = sent
            answer?.token = bytes
        } else if !login.takesToken, sent.isAhead {
            // What was known before may be too old: once more from the start.
            answer = sent
            answer?.token = nil
        } else {
            return false
        }
        answer?.isAhead = false
        return true
    }
}

// MARK: What a response says of what was sent

extension AuthenticationExchange {
    private mutating func accepted(_ request: AuthenticationRequest, _ fields: [HTTPField]) -> Step {
        answer = nil
        renewedNonces = []
        guard let (sent, proof) = sent else { return .deliver(.plain) }
        var outcome = AuthenticationOutcome.plain
        var known = sent.known
        var isNewer = !sent.isAhead
        let values = fields.filter { $0.isNamed(request.place.informationField) }.map(\.bytes)
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
        if sent.isGiven { outcome.accepted = (known.credential, known.space) }
        return .deliver(outcome)
    }

    /// Whether the same credential is to be tried with another nonce; else it was refused.
    private mutating func renews(_ sent: Answer) -> Bool {
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
        // What was sent unasked may have met another realm; that refuses nothing.
        guard offer != nil || !sent.isAhead else { return false }
        failureCount += 1
        refused.append((sent.known.space.realm, sent.known.credential))
        cache.forget(sent.known)
        if own?.space == sent.known.space { own = nil }
        return false
    }
}

// MARK: What to try next

extension AuthenticationExchange {
    private mutating func advance() -> Step {
        guard let request else { return .deliver(.plain) }
        offers.removeAll { passed.contains($0.space) }
        guard let offer = offers.first, answerCounts[offer.scheme.method, default: 0] < Self.answerLimit else {
            return .deliver(.plain)
        }
        if unaskedCredentials(for: offer, request).contains(where: { uses($0, unaskedFor: offer, request) }) {
            return .retry
        }
        guard stored != nil else { return .lookUp }
        return .ask(
            AuthenticationQuestion(
                space: offer.space, proposedCredential: proposal(for: offer, request),
                previousFailureCount: failureCount))
    }

    /// What is tried without asking: what this space accepted before, and what the URL says.
    private func unaskedCredentials(
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

    /// Answers an offer; false when it cannot be answered with such a credential.
    private mutating func use(
        _ credential: URLCredential, for offer: AuthenticationOffer, _ request: AuthenticationRequest, isGiven: Bool
    ) throws(CredentialProblem) -> Bool {
        guard let prepared = try PreparedCredential(credential, for: offer.scheme) else { return false }
        answerCounts[offer.scheme.method, default: 0] += 1
        answer = Answer(
            known: KnownAuthentication(credential, prepared, in: offer.space, for: request), isGiven: isGiven)
        return true
    }

    /// The same with what no delegate gave, unless this realm refused it already.
    private mutating func uses(
        _ credential: URLCredential, unaskedFor offer: AuthenticationOffer, _ request: AuthenticationRequest
    ) -> Bool {
        let isRefused = refused.contains {
            $0.realm == offer.space.realm && $0.credential.kind == credential.kind
        }
        return !isRefused && (try? use(credential, for: offer, request, isGiven: false)) == true
    }

    private func ownAuthentication(ahead request: AuthenticationRequest) -> KnownAuthentication? {
        guard let own, own.coverage(of: request.path) != nil else { return nil }
        return own
    }
}
