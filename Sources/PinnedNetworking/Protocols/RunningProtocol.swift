import Foundation
import PinctlBasics
import Synchronization

/// An object of a protocol class while it handles a request.
final class RunningProtocol: Sendable {
    let client = ProtocolClient()
    private let type: URLProtocol.Type
    /// The object, which is used on the queue only. So nothing waits for this lock while the object's methods run.
    private let object = Mutex<URLProtocol?>(nil)
    private let isStopped = Atomic(false)

    /// The queue of all objects. As on Apple's platforms there is only one, since stubs in tests often share variables
    /// without a lock. They may also block, so this isn't the event loop.
    static let queue = DispatchQueue(label: "PinnedNetworking.URLProtocol")

    init(_ type: URLProtocol.Type) { self.type = type }

    /// Creates the object and starts it, unless it was stopped before.
    func start(_ task: URLSessionTask) {
        Self.queue.async {
            guard !self.isStopped.load(ordering: .acquiring) else { return }
            self.object.withLock { object in
                let new = self.type.init(task: task, cachedResponse: nil, client: self.client)
                new.startLoading()
                object = new
            }
        }
    }

    /// Stops the object, once. Its further calls are ignored.
    func stop() {
        client.stop()
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Self.queue.async {
            self.object.withLock { object in
                object?.stopLoading()
                object = nil
            }
        }
    }

    /// Passes an answer to the sender of a challenge, which belongs to the object.
    func pass(_ answer: ChallengeAnswer, to challenge: URLAuthenticationChallenge) {
        Self.queue.async {
            guard !self.isStopped.load(ordering: .acquiring), let sender = challenge.sender else { return }
            switch answer.disposition {
            case .useCredential:
                if let credential = answer.credential {
                    sender.use(credential, for: challenge)
                } else {
                    sender.continueWithoutCredential(for: challenge)
                }
            case .performDefaultHandling: sender.performDefaultHandling(for: challenge)
            case .cancelAuthenticationChallenge: sender.cancel(challenge)
            case .rejectProtectionSpace: sender.rejectProtectionSpaceAndContinue(with: challenge)
            }
        }
    }
}

/// The client of an object of a protocol class. It keeps the accepted calls until the transfer takes them.
final class ProtocolClient: NSObject, URLProtocolClient {
    private let load = Locked(ProtocolLoad())
    private let events: AsyncStream<ProtocolLoad.Event>
    private let source: AsyncStream<ProtocolLoad.Event>.Continuation

    override init() { (events, source) = AsyncStream.makeStream() }

    /// The next event, or `nil` after the last one or if the task is cancelled. Waits for it.
    var next: ProtocolLoad.Event? {
        get async {
            for await event in events { return event }
            return nil
        }
    }

    /// Ignores all further calls.
    func stop() {
        load.withLock { $0.stop() }
        source.finish()
    }

    func receive(_ events: ProtocolLoad.Event...) {
        load.withLock { load in
            for event in events.compactMap({ load.accept($0) }) { source.yield(event) }
            if load.isOver { source.finish() }
        }
    }

    func urlProtocol(_ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse) {
        receive(.redirect(request, redirectResponse))
    }

    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse) {
        receive(.response(cachedResponse.response), .data(cachedResponse.data), .end)
    }

    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy
    ) {
        receive(.response(response))
    }

    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data) { receive(.data(data)) }

    func urlProtocolDidFinishLoading(_ protocol: URLProtocol) { receive(.end) }

    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error) {
        receive(.failure(ProtocolClassFailure(error: error)))
    }

    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge) {
        receive(.challenge(challenge))
    }

    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge) {
        receive(.challengeWithdrawn)
    }
}
