import PinnedNetworking

typealias Answer = (URLSession.AuthChallengeDisposition, URLCredential?)
typealias Responder = @Sendable (URLAuthenticationChallenge) -> Answer

/// Accepts the server, whatever its chain.
@Sendable func acceptServer(_ challenge: URLAuthenticationChallenge) -> Answer {
    (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
}

/// The four methods that a delegate can implement, one in each class.
final class SessionHandlerDelegate: NSObject, URLSessionTaskDelegate {
    private let respond: Responder
    init(_ respond: @escaping Responder) { self.respond = respond }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential) = respond(challenge)
        completionHandler(disposition, credential)
    }
}

final class SessionAsyncDelegate: NSObject, URLSessionTaskDelegate {
    private let respond: Responder
    init(_ respond: @escaping Responder) { self.respond = respond }

    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        respond(challenge)
    }
}

final class TaskHandlerDelegate: NSObject, URLSessionTaskDelegate {
    private let respond: Responder
    init(_ respond: @escaping Responder) { self.respond = respond }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential) = respond(challenge)
        completionHandler(disposition, credential)
    }
}

final class TaskAsyncDelegate: NSObject, URLSessionTaskDelegate {
    private let respond: Responder
    init(_ respond: @escaping Responder) { self.respond = respond }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        respond(challenge)
    }
}

/// Replaces the session's pins when it is asked about a server.
final class SessionReplacingDelegate: URLSessionDelegate {
    private let pinning: PinningPolicy
    init(_ pinning: PinningPolicy) { self.pinning = pinning }

    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        session.pinning = pinning
        return (.performDefaultHandling, nil)
    }
}

/// Implements a method at session level and one at task level.
final class BothDelegate: URLSessionTaskDelegate {
    private let session: Responder
    private let task: Responder

    init(session: @escaping Responder, task: @escaping Responder) {
        self.session = session
        self.task = task
    }

    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        self.session(challenge)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let (disposition, credential) = self.task(challenge)
        completionHandler(disposition, credential)
    }
}

/// Implements no method.
final class SilentDelegate: URLSessionTaskDelegate {}

/// Passes the completion handler and the task to a closure, which may call the handler late, twice or never.
final class DeferringDelegate: URLSessionTaskDelegate {
    typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    private let body: @Sendable (URLSessionTask, URLAuthenticationChallenge, @escaping Handler) -> Void

    init(_ body: @escaping @Sendable (URLSessionTask, URLAuthenticationChallenge, @escaping Handler) -> Void) {
        self.body = body
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Handler
    ) {
        body(task, challenge, completionHandler)
    }
}

/// Bound to the main actor with its state, as a view model is.
@MainActor
final class MainActorDelegate: URLSessionTaskDelegate {
    private(set) var hosts: [String] = []

    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        MainActor.assertIsolated()
        hosts.append(challenge.protectionSpace.host)
        return acceptServer(challenge)
    }
}
