import PinnedNetworking

// Kinds of delegates, each in both spellings where its kind allows; all trust the server and have a login.

typealias Answer = (URLSession.AuthChallengeDisposition, URLCredential?)
typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

func answer(_ challenge: URLAuthenticationChallenge) -> Answer {
    if let trust = challenge.protectionSpace.serverTrust { return (.useCredential, URLCredential(trust: trust)) }
    return (.useCredential, URLCredential(user: "me", password: "secret", persistence: .forSession))
}

final class ObjectHandler: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Handler
    ) {
        let (disposition, credential) = answer(challenge)
        completionHandler(disposition, credential)
    }
}

final class ObjectAsync: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        answer(challenge)
    }
}

@MainActor
final class MainActorHandler: NSObject, URLSessionTaskDelegate {
    var count = 0

    nonisolated func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Handler
    ) {
        // The session's delegate queue is the main one.
        MainActor.assumeIsolated {
            count += 1
            let (disposition, credential) = answer(challenge)
            completionHandler(disposition, credential)
        }
    }
}

@MainActor
final class MainActorCheckedHandler: NSObject, @preconcurrency URLSessionTaskDelegate {
    var count = 0

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Handler
    ) {
        count += 1
        let (disposition, credential) = answer(challenge)
        completionHandler(disposition, credential)
    }
}

@MainActor
final class MainActorAsync: NSObject, URLSessionTaskDelegate {
    var count = 0

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        MainActor.assertIsolated()
        count += 1
        return answer(challenge)
    }
}

actor Vault {
    var count = 0

    func open(for challenge: URLAuthenticationChallenge) -> Answer {
        count += 1
        return answer(challenge)
    }
}

final class ForwardingHandler: URLSessionTaskDelegate {
    let vault = Vault()

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Handler
    ) {
        Task {
            let (disposition, credential) = await vault.open(for: challenge)
            completionHandler(disposition, credential)
        }
    }
}

final class ForwardingAsync: URLSessionTaskDelegate {
    let vault = Vault()

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        await vault.open(for: challenge)
    }
}

actor ActorHandler: URLSessionTaskDelegate {
    var count = 0

    nonisolated func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Handler
    ) {
        Task { await respond(to: challenge, completionHandler) }
    }

    private func respond(to challenge: URLAuthenticationChallenge, _ completionHandler: Handler) {
        count += 1
        let (disposition, credential) = answer(challenge)
        completionHandler(disposition, credential)
    }
}

actor ActorAsync: URLSessionTaskDelegate {
    var count = 0

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        count += 1
        return answer(challenge)
    }
}
