import Foundation

/// The progress of a request that a protocol class handles, as a state machine. It decides which calls of the class
/// count.
///
/// | state | accepts |
/// |---|---|
/// | `waiting` | a response, a redirect, the end, a failure, challenges |
/// | `receiving` | data, the end, a failure, challenges |
/// | `over` | nothing |
struct ProtocolLoad: Sendable {
    /// A call of a protocol class to its client.
    enum Event: Sendable {
        case response(URLResponse)
        case data(Data)
        case end
        case failure(any Error)
        case redirect(URLRequest, URLResponse)
        case challenge(URLAuthenticationChallenge)
        case challengeWithdrawn
    }

    private enum State {
        case waiting, receiving, over
    }

    private var state = State.waiting

    /// Whether no further event is accepted.
    var isOver: Bool { state == .over }

    /// Ignores everything from now on.
    mutating func stop() { state = .over }

    /// Returns the event that a call leads to, or `nil` if the call is ignored.
    mutating func accept(_ event: Event) -> Event? {
        switch (state, event) {
        case (.waiting, .response):
            state = .receiving
        case (.waiting, .end):
            state = .over
            return .failure(ProtocolLoadError.noResponse)
        case (.waiting, .redirect), (.waiting, .failure), (.receiving, .failure), (.receiving, .end):
            state = .over
        case (.receiving, .data), (.waiting, .challenge), (.receiving, .challenge), (.waiting, .challengeWithdrawn),
            (.receiving, .challengeWithdrawn):
            break
        case (.over, _), (.waiting, .data), (.receiving, .response), (.receiving, .redirect):
            return nil
        }
        return event
    }
}

/// The error of a protocol class, which the task fails with unchanged.
struct ProtocolClassFailure: Error {
    let error: any Error
}

/// The reason why a protocol class didn't load a request.
enum ProtocolLoadError: Error, Hashable {
    /// The end came before a response.
    case noResponse
    /// The class with this name doesn't override `startLoading()`.
    case notOverridden(String)

    var code: URLError.Code {
        switch self {
        case .noResponse: .badServerResponse
        case .notOverridden: .unsupportedURL
        }
    }
}

extension ProtocolLoadError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noResponse:
            "the protocol class finished without a response: "
                + "call urlProtocol(_:didReceive:cacheStoragePolicy:) before urlProtocolDidFinishLoading(_:)"
        case .notOverridden(let name): "the protocol class \(name) loads nothing: override startLoading()"
        }
    }
}
