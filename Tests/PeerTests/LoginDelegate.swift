import CertificateTrust
import PinctlBasics
import PinnedNetworking

/// Returns its answers in order. Uses default handling after the last answer, and for server trust.
final class LoginDelegate: URLSessionTaskDelegate {
    typealias Answer = (URLSession.AuthChallengeDisposition, URLCredential?)

    private let state: Locked<(answers: [Answer], seen: [URLAuthenticationChallenge])>

    init(_ answers: Answer...) { state = Locked((answers, [])) }

    init(_ answers: [Answer]) { state = Locked((answers, [])) }

    /// Every challenge, including server trust.
    var challenges: [URLAuthenticationChallenge] { state.withLock(\.seen) }

    /// The requested logins, such as `HTTPBasic pinned.test:443 basic realm after 0`.
    var logins: [String] {
        challenges.filter { $0.protectionSpace.serverTrust == nil }.map(\.text)
    }

    // An answer at session level, to server trust and client certificate challenges, applies to the session's
    // connections.
    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        answer(challenge)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        answer(challenge)
    }

    private func answer(_ challenge: URLAuthenticationChallenge) -> Answer {
        state.withLock { state in
            state.seen.append(challenge)
            guard challenge.protectionSpace.serverTrust == nil, !state.answers.isEmpty else {
                return (.performDefaultHandling, nil)
            }
            return state.answers.removeFirst()
        }
    }
}

extension LoginDelegate {
    static let login: Answer = password(PeerSite.password)
    static let wrongLogin: Answer = password("open sesame")

    private static func password(_ password: String) -> Answer {
        (.useCredential, URLCredential(user: PeerSite.user, password: password, persistence: .forSession))
    }

    static func identity(_ identity: SecIdentity) -> Answer {
        (.useCredential, URLCredential(identity: identity, certificates: nil, persistence: .forSession))
    }
}

extension URLAuthenticationChallenge {
    /// The method, the host or proxy, the realm, and the number of failed answers.
    var text: String {
        let space = protectionSpace
        let method = space.authenticationMethod.dropFirst("NSURLAuthenticationMethod".count)
        let asker = (space.isProxy() ? "proxy " : "") + "\(space.host):\(space.port)"
        return "\(method) \(asker)" + (space.realm.map { " \($0)" } ?? "") + " after \(previousFailureCount)"
    }
}
