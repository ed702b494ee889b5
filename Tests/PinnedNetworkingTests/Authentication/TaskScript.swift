import CertificateTrust
import PinctlHTTPMessages

@testable import PinnedNetworking

/// A session and one of its tasks without a network: requests go to one closure, challenges to another.
struct TaskScript {
    enum End: Equatable {
        case delivered(Int)
        case refused(AuthenticationError)
    }

    let cache: AuthenticationCache
    let storage: URLCredentialStorage
    private(set) var exchange: AuthenticationExchange
    private(set) var questions: [AuthenticationQuestion] = []
    /// The credential fields of all requests, nil if there is none.
    private(set) var sent: [String?] = []
    private(set) var outcome = AuthenticationOutcome.plain

    init(cache: AuthenticationCache = AuthenticationCache(), storage: URLCredentialStorage = URLCredentialStorage()) {
        self.cache = cache
        self.storage = storage
        exchange = AuthenticationExchange(cache: cache) { space, user in
            StoredCredentials(storages: [storage.currentSnapshot()]).credential(for: space, user: user)
        }
    }

    /// Another task of the same session.
    func next() -> TaskScript { TaskScript(cache: cache, storage: storage) }

    /// Runs one request to its end, at most 100 rounds.
    mutating func run(
        _ request: AuthenticationRequest, server: (String?) -> Reply,
        delegate: (AuthenticationQuestion) -> ChallengeAnswer = { _ in .byDefault }
    ) -> End? {
        for _ in 0..<100 {
            let field = exchange.field(for: request)
            sent.append(field?.value)
            let reply = server(field?.value)
            var step = exchange.received(statusCode: reply.status, fields: reply.fields)
            while case .ask(let question) = step {
                questions.append(question)
                step = exchange.answered(delegate(question))
            }
            switch step {
            case .deliver(let outcome):
                self.outcome = outcome
                return .delivered(reply.status)
            case .refused(let error): return .refused(error)
            case .retry, .ask, .lookUp: continue
            }
        }
        return nil
    }

    struct Reply {
        var status = 200
        var fields: [HTTPField] = []

        static let ok = Reply()

        static func asks(_ challenges: String...) -> Reply {
            Reply(status: 401, fields: challenges.map { HTTPField(name: "WWW-Authenticate", value: $0) })
        }
    }
}

extension AuthenticationRequest {
    static func get(
        _ target: String, host: String = "example.org", scheme: String = NSURLProtectionSpaceHTTPS, user: String? = nil,
        password: String? = nil
    ) throws -> AuthenticationRequest {
        AuthenticationRequest(
            party: .origin(
                try ServerName(host), port: scheme == NSURLProtectionSpaceHTTP ? 80 : 443, protocol: scheme),
            method: "GET", target: target, user: user, password: password)
    }

    static func connect() throws -> AuthenticationRequest {
        AuthenticationRequest(
            party: .proxy(try ServerName("proxy.example"), port: 3128, type: NSURLProtectionSpaceHTTPProxy),
            method: "CONNECT", target: "example.org:443")
    }

    /// The space of a realm at the request's origin or proxy.
    func space(_ realm: String?, _ method: String = NSURLAuthenticationMethodHTTPBasic) -> URLProtectionSpace {
        party.space(realm: realm, method: method)
    }
}

extension ChallengeAnswer {
    static func use(_ credential: URLCredential?) -> ChallengeAnswer {
        ChallengeAnswer(disposition: .useCredential, credential: credential)
    }

    static let reject = ChallengeAnswer(disposition: .rejectProtectionSpace, credential: nil)
    static let cancel = ChallengeAnswer(disposition: .cancelAuthenticationChallenge, credential: nil)
}

/// A user with the password "p".
func credential(
    _ user: String, password: String = "p", _ persistence: URLCredential.Persistence = .forSession
) -> URLCredential {
    URLCredential(user: user, password: password, persistence: persistence)
}

func basic(_ user: String, password: String = "p") throws -> String {
    try BasicAuthorization.value(user: user, password: password)
}

extension HTTPChallenge {
    /// A challenge with these parameters, whose values are UTF-8.
    init(scheme: String, parameters: [String: String]) {
        self.init(scheme: scheme, values: parameters.mapValues { Array($0.utf8) })
    }

    /// The challenges of fields whose values are UTF-8.
    static func parse(_ values: [String]) -> [HTTPChallenge] { parse(values.map { Array($0.utf8) }) }

    /// The parameters of fields that contain nothing else and are UTF-8.
    static func parameters(of values: [String]) -> [String: String]? {
        information(in: values.map { Array($0.utf8) })?.parameters
    }
}

extension DigestAlgorithm {
    func hex(_ parts: String...) -> String? { hex(parts.joined(separator: ":").utf8) }
}

extension AuthenticationCache {
    func nextCount(of nonce: String, at party: AuthenticationParty) -> UInt32 {
        nextCount(of: Array(nonce.utf8), at: party)
    }
}
