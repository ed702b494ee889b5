import Foundation
import PinctlBasics
import PinctlTestPKI

@testable import PinnedNetworking

typealias ChallengeReceiver = @Sendable (URLAuthenticationChallenge) -> Void

/// The events that a delegate received from its connection or download.
final class Heard: Sendable {
    let events = Collected<String>()
    let challenges = Collected<URLAuthenticationChallenge>()
    private let text = Locked("")
    private let ending = OnceOnlyAnswer<String>()

    /// Status and body, or the error's code; read once.
    var end: String {
        get async { await ending.value ?? "nothing" }
    }

    /// Short names of the challenges' methods.
    var methods: [String] { challenges.values.map(\.protectionSpace.shortMethod) }

    func add(_ piece: String) { text.withLock { $0 += piece } }

    func end(_ error: (any Error)?) {
        let outcome = error.map { "error \(($0 as? URLError)?.code.rawValue ?? 0)" } ?? text.withLock { $0 }
        events.append(outcome)
        ending.answer(outcome)
    }
}

extension URLProtectionSpace {
    var shortMethod: String { String(authenticationMethod.dropFirst("NSURLAuthenticationMethod".count)) }
}

/// A delegate that records the response and the end. Each class decides which challenge methods it implements.
protocol RecordingDelegate: NSURLConnectionDataDelegate {
    var heard: Heard { get }
}

extension RecordingDelegate {
    func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {
        heard.add("\((response as? HTTPURLResponse)?.statusCode ?? 0) ")
    }

    func connection(_ connection: NSURLConnection, didReceive data: Data) {
        heard.add(String(decoding: data, as: UTF8.self))
    }

    func connectionDidFinishLoading(_ connection: NSURLConnection) { heard.end(nil) }

    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) { heard.end(error) }

    func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge) {
        heard.events.append("cancelled \(challenge.protectionSpace.shortMethod)")
    }
}

/// Implements no challenge method.
final class SilentConnectionDelegate: RecordingDelegate {
    let heard = Heard()
}

/// Implements only `didReceive`.
final class ReceivingDelegate: RecordingDelegate {
    let heard = Heard()
    private let receive: ChallengeReceiver

    init(_ receive: @escaping ChallengeReceiver) { self.receive = receive }

    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        heard.challenges.append(challenge)
        receive(challenge)
    }
}

/// Implements both older methods.
final class ChoosingDelegate: RecordingDelegate {
    let heard = Heard()
    private let answers: Bool
    private let receive: ChallengeReceiver

    init(answers: Bool, _ receive: @escaping ChallengeReceiver) {
        self.answers = answers
        self.receive = receive
    }

    func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        heard.events.append("asked \(protectionSpace.shortMethod)")
        return answers
    }

    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        heard.challenges.append(challenge)
        receive(challenge)
    }
}

/// Implements the later method and the older ones, which the later one replaces.
final class LaterDelegate: RecordingDelegate {
    let heard = Heard()
    private let receive: ChallengeReceiver

    init(_ receive: @escaping ChallengeReceiver) { self.receive = receive }

    func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge) {
        heard.challenges.append(challenge)
        receive(challenge)
    }

    func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        heard.events.append("older")
        return true
    }

    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        heard.events.append("older")
    }
}

/// Declines the credential storage.
final class StoragelessDelegate: RecordingDelegate {
    let heard = Heard()
    private let receive: ChallengeReceiver

    init(_ receive: @escaping ChallengeReceiver) { self.receive = receive }

    func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool { false }

    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        heard.challenges.append(challenge)
        receive(challenge)
    }
}

/// Changes redirects.
final class RedirectedDelegate: RecordingDelegate {
    let heard = Heard()
    private let change: @Sendable (URLRequest) -> URLRequest?

    init(_ change: @escaping @Sendable (URLRequest) -> URLRequest?) { self.change = change }

    func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest? {
        heard.events.append("redirect \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        return change(request)
    }
}
