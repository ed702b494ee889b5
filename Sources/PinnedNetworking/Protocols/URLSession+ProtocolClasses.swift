import Foundation
import PinctlBasics
import PinctlTLSTransport
import Synchronization

// The choice of the protocol class that handles a request.

extension URLSession {
    /// The queue on which classes are asked whether they handle a request. It isn't the queue on which they load,
    /// because a class may send a request of its own there and wait for the response.
    private static let choosing = DispatchQueue(label: "PinnedNetworking.URLProtocol.canInit")

    /// The classes to ask about a request, in this order.
    ///
    /// Registered classes are left out while there are pins. Only the author of the configuration can exempt requests
    /// from the pins, by naming a class there.
    var protocolClasses: [URLProtocol.Type] {
        let own = settings.protocolClasses ?? []
        // mutant protocol-classes: true for 2 by URLProtocolTests ProtocolAttackTests ProtocolFlowTests
        guard settings.usesRegisteredProtocolClasses, !trust.isPinned else { return own }
        return own + URLProtocol.registeredClasses
    }

    /// Creates the transfer of a task's current request by the first of the classes that handles it, otherwise over the
    /// network.
    func makeTransfer(_ task: URLSessionTask, asking classes: [URLProtocol.Type]) async throws -> any TaskTransfer {
        guard let request = task.currentRequest, !classes.isEmpty else { return try makeNetworkTransfer(task) }
        let shown = task.request(adding: settings.additionalFields).withBodyStream
        task.status.withLock { $0.currentRequest = shown }
        task.limit.progress(to: .protocolClass)
        let choice = await BlockingWork.run(on: Self.choosing) { () -> (URLProtocol.Type, URLRequest)? in
            classes.first { $0.canInit(with: task) }.map { ($0, $0.canonicalRequest(for: shown)) }
        }
        guard let choice else { throw CancellationError() }
        // Pins may have been set in the meantime, and registered classes don't apply beside them.
        guard let (type, canonical) = choice, protocolClasses.contains(where: { $0 == type }) else {
            task.status.withLock { $0.currentRequest = request }
            return try makeNetworkTransfer(task)
        }
        if trust.isPinned, !hasLoggedProtocolClasses.exchange(true, ordering: .relaxed) {
            let reason = "pins don't apply to requests that \(type) handles: use protocolClasses in tests only"
            NSLog("%@", "PinnedNetworking: \(reason)")
        }
        // A new stream, since the class may have read the one that it was asked about.
        task.status.withLock { $0.currentRequest = canonical.withBodyStream }
        return ProtocolTransfer(type, task, of: self)
    }
}
