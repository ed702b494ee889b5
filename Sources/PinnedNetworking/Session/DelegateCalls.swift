import CertificateTrust

// The calls to delegates about a task. They run on the session's queue. The task's own delegate comes before the
// session's, and default implementations are skipped.

extension URLSession {
    /// Asks the delegates to which `question` applies, until one implements the method. Returns `nil` if none does.
    func ask<Delegate: Sendable, Value: Sendable>(
        about task: URLSessionTask, _ cast: @Sendable (any URLSessionDelegate) -> Delegate?,
        _ question: @Sendable (Delegate) async throws -> Value?
    ) async throws -> Value? {
        for delegate in delegates(of: task) {
            guard let delegate = cast(delegate) else { continue }
            if let value = try await question(delegate) { return value }
        }
        return nil
    }

    /// Asks one method of one delegate in its variants, each with its own box for the answer. Returns `nil` if the
    /// delegate implements none. Throws `CancellationError` if the task ends first. The call to the delegate is
    /// abandoned then.
    func ask<Value: Sendable>(
        _ method: DelegateMethod, of delegate: any URLSessionDelegate, in spellings: [DelegateCall.Spelling],
        completion: @escaping @Sendable (OnceOnlyAnswer<Value>) -> Void,
        async: @escaping @Sendable (OnceOnlyAnswer<Value>) async -> Void
    ) async throws -> Value? {
        guard spellings.count == 1 else {
            return try await askEach(method, of: delegate, in: spellings, completion: completion, async: async)
        }
        return try await ForwardedCalls.wait(for: method, of: delegate) {
            try await askEach(method, of: delegate, in: spellings, completion: completion, async: async)
        }
    }

    private func askEach<Value: Sendable>(
        _ method: DelegateMethod, of delegate: any URLSessionDelegate, in spellings: [DelegateCall.Spelling],
        completion: @escaping @Sendable (OnceOnlyAnswer<Value>) -> Void,
        async: @escaping @Sendable (OnceOnlyAnswer<Value>) async -> Void
    ) async throws -> Value? {
        for spelling in spellings {
            let call = DelegateCall(of: method, spelling, on: delegate)
            if call.isUnimplemented { continue }
            let answer = OnceOnlyAnswer<Value>()
            var asking: Task<Void, Never>?
            switch spelling {
            case .handler: delegateQueue.addOperation { call.run { completion(answer) } }
            case .async: asking = Task { await call.runAsync { await async(answer) } }
            }
            guard let value = await answer.value else {
                asking?.cancel()
                throw CancellationError()
            }
            if !call.isUnimplemented { return value }
        }
        return nil
    }

    /// Calls a method without an answer, and returns after it.
    func report<Delegate: Sendable>(
        _ method: DelegateMethod, about task: URLSessionTask, _ cast: @Sendable (any URLSessionDelegate) -> Delegate?,
        _ body: @escaping @Sendable (Delegate) -> Void
    ) async {
        for delegate in delegates(of: task) {
            guard let typed = cast(delegate) else { continue }
            let call = DelegateCall(of: method, on: delegate)
            if call.isUnimplemented { continue }
            await onDelegateQueue { call.run { body(typed) } }
            if !call.isUnimplemented { return }
        }
    }

    /// Runs `body` on the delegates' queue, and returns after it.
    func onDelegateQueue(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            delegateQueue.addOperation {
                body()
                continuation.resume()
            }
        }
    }

    private func delegates(of task: URLSessionTask) -> [any URLSessionDelegate] {
        [task.delegate, delegate].compactMap(\.self)
    }
}

// MARK: Questions

extension URLSession {
    /// Asks a delegate about a redirect. An inner `nil` refuses the redirect.
    func redirection(
        of task: URLSessionTask, _ response: HTTPURLResponse, to request: URLRequest,
        by delegate: any URLSessionTaskDelegate, in spellings: [DelegateCall.Spelling] = .all
    ) async throws -> URLRequest?? {
        try await ask(.redirection, of: delegate, in: spellings) { (answer: OnceOnlyAnswer<URLRequest?>) in
            delegate.urlSession(self, task: task, willPerformHTTPRedirection: response, newRequest: request) {
                answer.answer($0)
            }
        } async: { answer in
            answer.answer(
                await delegate.urlSession(
                    self, task: task, willPerformHTTPRedirection: response, newRequest: request))
        }
    }

    /// Asks a delegate for the body of a task. An inner `nil` means that it provides none.
    func newBodyStream(
        of task: URLSessionTask, by delegate: any URLSessionTaskDelegate, in spellings: [DelegateCall.Spelling] = .all
    ) async throws -> BodyStream?? {
        try await ask(.newBodyStream, of: delegate, in: spellings) { (answer: OnceOnlyAnswer<BodyStream?>) in
            delegate.urlSession(self, task: task) { answer.answer($0.map { BodyStream($0) }) }
        } async: { answer in
            let stream = await delegate.urlSession(self, needNewBodyStreamForTask: task)
            answer.answer(stream.map { BodyStream($0) })
        }
    }

    /// Asks a delegate how to continue after a response.
    func disposition(
        of task: URLSessionDataTask, _ response: URLResponse, by delegate: any URLSessionDataDelegate,
        in spellings: [DelegateCall.Spelling] = .all
    ) async throws -> ResponseDisposition? {
        try await ask(.response, of: delegate, in: spellings) { (answer: OnceOnlyAnswer<ResponseDisposition>) in
            delegate.urlSession(self, dataTask: task, didReceive: response) { answer.answer($0) }
        } async: { answer in
            answer.answer(await delegate.urlSession(self, dataTask: task, didReceive: response))
        }
    }
}
