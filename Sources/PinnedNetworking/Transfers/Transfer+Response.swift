import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport

// The stages of a response, from its header to its body.

extension Transfer {
    /// Goes through the stages of a response whose header has arrived, up to the last one. Returns what has to be
    /// waited for before the next one.
    func respond() throws -> Wait? {
        guard let head = state.head, let outgoing else { throw HTTPResponseError.truncated }
        if stage == .answered {
            stage = .stored
            task.note { $0.headerBytesReceived = Int64(head.size) }
            if session.settings.cookieStorage != nil, let connection = outgoing.connection {
                return .work { await self.storeCookies(of: head, from: connection) }
            }
        }
        if stage == .stored {
            stage = .unrefused
            // mutant direct-expectation: false by SessionTaskTests
            if current.withdrawsExpectation(after: head.statusCode, to: outgoing.form) { return sendAgain() }
            // mutant direct-login: false by LoginTests
            if mayLogIn(after: head) {
                let (response, login) = (response(head, isDecoded: decoder(after: head) != nil), outgoing.login)
                return .work { if try await self.logIn(head, response, login) { self.stage = .unprepared } }
            }
        }
        if stage == .unrefused {
            stage = .reported
            if let progressReports { return .work { await progressReports.value } }
        }
        if current.requiresDeferredBody(after: head.statusCode, to: outgoing.form) { return sendAgain() }
        let decoder = decoder(after: head)
        let response = response(head, isDecoded: decoder != nil)
        // mutant direct-redirect: URLRequest?.none by DirectRequestTests
        if let proposed = try redirection(after: head) {
            return redirect(to: proposed, response)
        }
        deliver(response, decoder)
        return nil
    }

    /// Drops the response, after which the request is sent again.
    private func sendAgain() -> Wait {
        .work {
            try await self.discardResponse()
            self.stage = .unprepared
        }
    }

    private func response(_ head: HTTPResponseHead, isDecoded: Bool) -> HTTPURLResponse {
        HTTPURLResponse(
            url: target.user == nil && target.password == nil ? target.url : target.url.withoutUser ?? target.url,
            statusCode: head.statusCode, fields: head.fields, isDecoded: isDecoded)
    }

    /// The decoder of a response's body, or `nil` if the body is passed on as received.
    private func decoder(after head: HTTPResponseHead) -> BodyDecoder? {
        guard let zlib = session.settings.zlib else { return nil }
        return BodyDecoder(head, zlib)
    }

    /// Makes a response the task's own.
    private func deliver(_ response: HTTPURLResponse, _ decoder: BodyDecoder?) {
        self.decoder = decoder
        self.response = response
        // mutant direct-early: (nil as URLResponse?) for `$0.response = response` by DirectRequestTests
        task.status.withLock { $0.response = response }
        task.note { $0.response = response }
        stage = .final
    }

    // MARK: Redirects

    /// Returns the next request if the response is a redirect.
    private func redirection(after head: HTTPResponseHead) throws -> URLRequest? {
        guard Redirection.isRedirect(head.statusCode) else { return nil }
        return try Redirection.request(after: current.request, to: target, answer: head, count: current.redirectCount)
    }

    /// Follows a redirect, unless a delegate changes or stops it.
    private func redirect(to proposed: URLRequest, _ response: HTTPURLResponse) -> Wait {
        .work {
            if let next = try await self.ask(about: proposed, response) {
                try await self.follow(next)
            } else {
                self.deliver(response, self.state.head.flatMap { self.decoder(after: $0) })
            }
        }
    }

    /// Returns the next request, which the delegates may change or stop.
    private func ask(about next: URLRequest, _ response: HTTPURLResponse) async throws -> URLRequest? {
        guard session.hasDelegate(for: task) else { return next }
        try await bufferResponse()
        task.limit.progress(to: .redirect)
        let answer = try await session.ask(about: task, URLSession.asTaskDelegate) { delegate in
            try await session.redirection(of: task, response, to: next, by: delegate)
        }
        return answer ?? next
    }

    private func follow(_ next: URLRequest) async throws {
        var followed = current
        try followed.follow(next)
        try await discardResponse()
        current = followed
        session.logIgnoredFields(of: next)
        task.status.withLock {
            $0.redirectCount += 1
            $0.currentRequest = next
        }
        stage = .unprepared
    }

    // MARK: Body

    /// Returns the whole body with the response.
    func wholeBody(limit: Int) throws -> Progress<(Data, URLResponse)> {
        let response: URLResponse
        switch try finalResponse() {
        case .reached(let final): response = final
        case .waits(let wait): return .waits(wait)
        }
        // mutant direct-paused: false by DirectRequestTests
        if task.isPaused { return .waits(.work { [task] in try await task.whileSuspended() }) }
        var (body, limit) = try collected.take() ?? emptyBody(limit: limit)
        while true {
            switch try part() {
            case .reached(let part?):
                try limit.add(part)
                body.append(contentsOf: part)
            case .reached(nil): return .reached((body, response))
            case .waits(let wait):
                collected = (body, limit)
                return .waits(wait)
            }
        }
    }

    private func emptyBody(limit: Int) throws -> (Data, HTTPBodyLimit) {
        let limit = HTTPBodyLimit(limit)
        if let head = state.head { try limit.check(head) }
        return (Data(), limit)
    }

    /// Returns the next part of the body, decoded, at least one byte, or `nil` at its end.
    func part() throws -> Progress<ArraySlice<UInt8>?> {
        let part = decoder == nil ? try receivedPart() : try decodedPart()
        if case .reached(let bytes?) = part { task.noteDecoded(bytes.count) }
        return part
    }

    private func decodedPart() throws -> Progress<ArraySlice<UInt8>?> {
        // The output of several steps, so that a part isn't smaller than what was read from the connection.
        while decoded.count < BodyDecoder.stepLimit {
            switch try decoder?.next(limit: BodyDecoder.stepLimit - decoded.count) {
            case .bytes(let part): decoded += part
            case .working: break
            case .starved, nil:
                guard decoded.isEmpty else { return .reached(takeDecoded()) }
                switch try receivedPart() {
                case .reached(let part?): try decoder?.receive(part)
                case .reached(nil):
                    try decoder?.end()
                    return .reached(nil)
                case .waits(let wait): return .waits(wait)
                }
            }
            // One received part can become thousands of steps, and the program may take them without a pause.
            if .now - turn > TransportActor.turnLimit { return .waits(.turn) }
        }
        return .reached(takeDecoded())
    }

    private func takeDecoded() -> ArraySlice<UInt8> { exchange(&decoded, with: [])[...] }

    /// Returns the next part of the body as received, at least one byte, or `nil` at its end.
    private func receivedPart() throws -> Progress<ArraySlice<UInt8>?> {
        while true {
            switch state.nextPart() {
            case .bytes(let part):
                try proofs.add(part, limit: URLSession.collectedBodyLimit)
                task.noteReceived(part.count)
                return .reached(part)
            case .end:
                task.note { $0.responseEnd = Date() }
                try proofs.check()
                return .reached(nil)
            case .unread:
                if reader == nil { task.limit.progress(to: .response) }
                if let wait = try read() { return .waits(wait) }
            }
        }
    }
}
