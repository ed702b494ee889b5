import Foundation
import PinctlBasics
import PinctlHTTPMessages
import Synchronization

// The running of tasks: from their creation over the transfer to the result or the calls to the delegates.

extension URLSession {
    /// The maximum size in bytes of a body that is collected in memory, since the server decides how much it sends.
    static let collectedBodyLimit = 1 << 30

    /// Creates a task. A collected task must be passed to ``collect(_:)`` at once, which runs it to its end.
    ///
    /// A task that continues another one has its limit, and is created even if the session is invalidated.
    func makeTask<Made: URLSessionTask>(
        _ create: (URLSessionTask.Parts) -> Made, _ request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil,
        isCollected: Bool = false, continuing other: URLSessionTask? = nil,
        start: (@Sendable (URLSessionTask) -> Void)? = nil
    ) -> Made {
        let limit =
            other?.limit
            ?? WorkLimit(
                requestTimeout: request.ownTimeoutInterval ?? settings.requestTimeout,
                resourceTimeout: settings.resourceTimeout)
        let task = create(
            URLSessionTask.Parts(
                taskIdentifier: taskCount.add(1, ordering: .relaxed).newValue, originalRequest: request,
                delegate: delegate, isMeasured: delegate != nil || self.delegate != nil, limit: limit, start: start))
        let isInvalid = registry.withLock { tasks in
            let isRefused = tasks.isInvalid && other == nil
            if !isRefused { tasks.add(task, isHeld: isCollected || other != nil) }
            return isRefused
        }
        if isInvalid { task.status.withLock { $0.refusal = URLError(InvalidSessionError(), url: request.url) } }
        return task
    }

    /// Sends the request, and returns when the header of the response has arrived. The caller must end the task.
    func begin(_ task: URLSessionTask) async throws -> (any TaskTransfer, URLResponse) {
        if let refusal = task.status.withLock({ $0.refusal }) { throw refusal }
        let transfer = try await makeTransfer(task)
        let response = try await transfer.begin()
        task.limit.progress(to: .reader)
        return (transfer, response)
    }

    /// Returns the next part of the body, or `nil` at the end. Waits while the task is suspended.
    func nextPart(of transfer: any TaskTransfer, _ task: URLSessionTask) async throws -> ArraySlice<UInt8>? {
        if task.isPaused { try await task.limit.run { try await task.whileSuspended() } }
        let part = try await transfer.nextPart()
        task.limit.progress(to: .reader)
        return part
    }

    func collect(_ task: URLSessionTask) async throws -> (Data, URLResponse) {
        let result: Result<(Data, URLResponse), any Error>
        do {
            if let refusal = task.status.withLock({ $0.refusal }) { throw refusal }
            let transfer = try await makeTransfer(task)
            let collected = try await transfer.collect(limit: Self.collectedBodyLimit)
            task.complete(with: nil)
            result = .success(collected)
        } catch {
            result = .failure(fail(task, error))
        }
        await ended(task)
        return try result.get()
    }

    func collect(
        _ task: URLSessionTask, _ handler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) {
        Task {
            do {
                let (data, response) = try await self.collect(task)
                delegateQueue.addOperation { handler(data, response, nil) }
            } catch {
                delegateQueue.addOperation { handler(nil, task.response, error) }
            }
        }
    }

    /// Runs a task whose response is passed to the delegates.
    func deliver(_ task: URLSessionTask) {
        Task {
            var failure: (any Error)?
            do {
                let (transfer, response) = try await begin(task)
                if try await deliver(response, of: transfer, task) == .becomeDownload {
                    return await deliverFile(of: transfer, response, insteadOf: task)
                }
                task.complete(with: nil)
            } catch {
                failure = fail(task, error)
            }
            await reportEnd(of: task, failure)
        }
    }

    static let asDataDelegate: @Sendable (any URLSessionDelegate) -> (any URLSessionDataDelegate)? = {
        $0 as? any URLSessionDataDelegate
    }

    /// Passes a response and its body to the delegates. Returns the answer to the response.
    private func deliver(
        _ response: URLResponse, of transfer: any TaskTransfer, _ task: URLSessionTask
    ) async throws -> ResponseDisposition {
        guard let task = task as? URLSessionDataTask else { return .cancel }
        task.limit.progress(to: .disposition)
        let disposition = try await task.limit.run {
            try await self.ask(about: task, Self.asDataDelegate) { delegate in
                try await self.disposition(of: task, response, by: delegate)
            }
        }
        task.limit.progress(to: .reader)
        switch disposition ?? .allow {
        case .becomeDownload: return .becomeDownload
        case .allow: break
        default: throw WorkLimit.End.cancelled
        }
        while let part = try await nextPart(of: transfer, task) {
            let data = Data(part)
            await report(.data, about: task, Self.asDataDelegate) { delegate in
                delegate.urlSession(self, dataTask: task, didReceive: data)
            }
        }
        return .allow
    }

    /// Logs the header fields of a request that are left out because the client writes them itself, each name once for
    /// the session.
    func logIgnoredFields(of request: URLRequest) {
        for field in request.fields where HTTPRequestHead.ignores(field) {
            guard ignoredNames.withLock({ $0.insert(HTTPField.foldedName(field.name)).inserted }) else { continue }
            NSLog("%@", "PinnedNetworking ignores the header field \(field.name): the client writes it itself")
        }
    }

    /// Ends a task and returns its error: a `URLError`, or the error of the protocol class that handled the request.
    func fail(_ task: URLSessionTask, _ reason: any Error) -> any Error {
        let request = task.currentRequest ?? task.originalRequest
        let error: any Error =
            (reason as? ProtocolClassFailure)?.error ?? (reason as? URLError) ?? URLError(reason, url: request?.url)
        task.complete(with: error)
        return error
    }
}
