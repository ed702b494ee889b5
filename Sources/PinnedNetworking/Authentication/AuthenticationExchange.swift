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
        /// The delegates are to be asked.
        case ask(AuthenticationQuestion)
        /// The same request goes out again, with what ``AuthenticationExchange/field(for:)`` now says.
        case retry
        /// The task ends.
        case refused(AuthenticationError)
    }

    /// How often one scheme is answered before the response is delivered as it is (HA7). Also how often a nonce may be
    /// too old, and that without an answer in between.
    static let answerLimit = 4

    /// A credential that goes with requests until their response is there.
    private struct Answer {
        var known: KnownAuthentication
        /// Nobody asked for it yet in this task.
        var isAhead = false
        /// A delegate gave it, or the storage.
        var isGiven = false
    }

    private let cache: AuthenticationCache
    private let stored: @Sendable (URLProtectionSpace, _ user: String?) -> URLCredential?

    private var request: AuthenticationRequest?
    private var answer: Answer?
    private var proof: DigestProof?
    /// What went with the request that is under way.
    private var sent: Answer?
    /// What the last response offers and is still open. The first is being asked about.
    private var offers: [AuthenticationOffer] = []
    /// Spaces in which the task goes on without.
    private var passed: Set<URLProtectionSpace> = []
    private var refused: [(realm: String?, credential: URLCredential)] = []
    private var failureCount = 0
    private var answerCounts: [String: Int] = [:]
    private var renewals = 0
    /// What a space accepted that is for this task alone.
    private var own: KnownAuthentication?

    /// The credential that went with the request whose response came last.
    var accepted: URLCredential? { sent?.known.credential }

    /// `stored` looks up the credential of a user, or the default one, that is kept for a space.
    init(
        cache: AuthenticationCache,
        stored: @escaping @Sendable (URLProtectionSpace, _ user: String?) -> URLCredential?
    ) {
        self.cache = cache
        self.stored = stored
    }

    /// The field to send with a request: the answer to its last response, or what is known of its space.
    mutating func field(for request: AuthenticationRequest) -> HTTPField? {
        if let before = self.request, before.place != request.place || before.user != request.user {
            self = AuthenticationExchange(cache: cache, stored: stored)
        }
        self.request = request
        sent = nil
        proof = nil
        guard !request.hasOwnField else { return nil }
        if answer == nil, let known = ownAuthentication(ahead: request) ?? cache.authentication(ahead: request) {
            answer = Answer(known: known, isAhead: true)
        }
        guard let answer else { return nil }
        let value: String
        switch answer.known.prepared {
        case .basic(let basic): value = basic
        case .digest(let session):
            let count = cache.nextCount(of: session.nonce, at: request.place)
            guard
                let authorization = session.authorization(
                    method: request.method, target: request.target, body: request.body, count: count)
            else { return nil }
            value = authorization.value
            proof = authorization.proof
        }
        sent = answer
        return HTTPField(name: request.place.credentialField, value: value)
    }

    /// Takes the head of the response to the last request.
    mutating func received(statusCode: Int, fields: [HTTPField]) -> Step {
        offers = []
        guard let request, !request.hasOwnField else { return .deliver(AuthenticationOutcome()) }
        guard statusCode == request.place.statusCode else {
            // The other side's question says nothing about what was sent to this one.
            if statusCode == 401 || statusCode == 407 { return .deliver(AuthenticationOutcome()) }
            return accepted(request, fields)
        }
        answer = nil
        offers = AuthenticationOffer.offers(in: fields, for: request)
        if let sent, renews(sent, request) { return .retry }
        return advance()
    }

    /// Takes what the delegates answered to the last question.
    mutating func answered(_ answer: ChallengeAnswer) -> Step {
        guard let request, let offer = offers.first else { return .deliver(AuthenticationOutcome()) }
        switch answer.disposition {
        case .cancelAuthenticationChallenge:
            return .refused(.cancelled(offer.space))
        case .rejectProtectionSpace:
            break
        case .performDefaultHandling:
            if let credential = stored(offer.space, request.user), !isRefused(credential),
                (try? use(credential, for: offer, request)) == true
            {
                return .retry
            }
        case .useCredential:
            guard let credential = answer.credential, case .password(_, _?) = credential.kind else {
                return .deliver(AuthenticationOutcome())
            }
            do throws(CredentialProblem) {
                if try use(credential, for: offer, request) { return .retry }
            } catch {
                return .refused(.unusableCredential(error))
            }
            NSLog(
                "%@", "PinnedNetworking: \(offer.space.authenticationMethod) is not spoken; the next challenge is taken"
            )
        }
        passed.insert(offer.space)
        offers.removeFirst()
        return advance()
    }
}

// MARK: What a response says of what was sent

extension AuthenticationExchange {
    private mutating func accepted(_ request: AuthenticationRequest, _ fields: [HTTPField]) -> Step {
        answer = nil
        renewals = 0
        guard let sent else { return .deliver(AuthenticationOutcome()) }
        var outcome = AuthenticationOutcome()
        var known = sent.known
        var isNewer = !sent.isAhead
        let values = fields.filter { $0.isNamed(request.place.informationField) }.map(\.value)
        if let proof, let information = HTTPChallenge.parameters(of: values) {
            switch proof.verdict(on: information) {
            case .forged: return .refused(.forgedResponse(known.space))
            case .needsBody: outcome.bodyProof = AuthenticationOutcome.BodyProof(proof, information, known.space)
            case .valid, nil: break
            }
            if let next = information["nextnonce"], case .digest(var session) = known.prepared,
                next.utf8.count <= DigestChallenge.nonceLimit
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
    private mutating func renews(_ sent: Answer, _ request: AuthenticationRequest) -> Bool {
        let offer = offers.first { $0.space == sent.known.space }
        if let offer, case .digest(let challenge) = offer.scheme, case .digest(let session) = sent.known.prepared,
            challenge.isStale || sent.isAhead, challenge.nonce != session.nonce, renewals < Self.answerLimit,
            let prepared = try? PreparedCredential(sent.known.credential, for: offer.scheme)
        {
            renewals += 1
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
        guard let request else { return .deliver(AuthenticationOutcome()) }
        offers.removeAll { passed.contains($0.space) }
        guard let offer = offers.first, answerCounts[offer.scheme.method, default: 0] < Self.answerLimit else {
            return .deliver(AuthenticationOutcome())
        }
        for credential in unaskedCredentials(for: offer, request) where !isRefused(credential) {
            if (try? use(credential, for: offer, request, isGiven: false)) == true { return .retry }
        }
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
        if let own, own.isFor(request), own.space == offer.space { credentials.append(own.credential) }
        if let known = cache.authentication(for: request, in: offer.space) { credentials.append(known.credential) }
        if let user = request.user, let password = request.password {
            credentials.append(URLCredential(user: user, password: password, persistence: .forSession))
        }
        return credentials
    }

    private func proposal(for offer: AuthenticationOffer, _ request: AuthenticationRequest) -> URLCredential? {
        if let last = refused.last(where: { $0.realm == offer.space.realm }) { return last.credential }
        if let credential = stored(offer.space, request.user) { return credential }
        return request.user.map {
            URLCredential(kind: .password(user: $0, password: nil), persistence: .none)
        }
    }

    private mutating func use(
        _ credential: URLCredential, for offer: AuthenticationOffer, _ request: AuthenticationRequest,
        isGiven: Bool = true
    ) throws(CredentialProblem) -> Bool {
        guard let prepared = try PreparedCredential(credential, for: offer.scheme) else { return false }
        answerCounts[offer.scheme.method, default: 0] += 1
        answer = Answer(
            known: KnownAuthentication(credential, prepared, in: offer.space, for: request), isGiven: isGiven)
        return true
    }

    private func isRefused(_ credential: URLCredential) -> Bool {
        refused.contains { $0.credential == credential }
    }

    private func ownAuthentication(ahead request: AuthenticationRequest) -> KnownAuthentication? {
        guard let own, own.isFor(request), own.coverage(of: request.path) != nil else { return nil }
        return own
    }
}
