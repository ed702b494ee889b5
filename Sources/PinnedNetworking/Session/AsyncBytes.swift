extension URLSession {
    /// The bytes of a response's body, read as they are asked for: while nobody asks, the server waits.
    ///
    /// They can be read once. An end before the body's own is a `URLError`.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        /// The task that brings them.
        public let task: URLSessionDataTask
        private let transfer: Transfer

        init(task: URLSessionDataTask, transfer: Transfer) {
            self.task = task
            self.transfer = transfer
        }

        /// Starts to read, or goes on where another iterator stopped.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(task: task, transfer: transfer)
        }

        /// Reads the bytes.
        public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
            @usableFromInline var part: ArraySlice<UInt8> = []
            @usableFromInline var position = 0
            private let task: URLSessionDataTask
            private let transfer: Transfer

            init(task: URLSessionDataTask, transfer: Transfer) {
                self.task = task
                self.transfer = transfer
            }

            /// The next byte; nil at the end.
            @inlinable
            public mutating func next() async throws -> UInt8? {
                try await next(isolation: nil)
            }

            /// The next byte; nil at the end. Bytes that have come are given out where the caller is: to leave an actor
            /// for each and to come back would take a thousand times as long.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                if position == part.endIndex {
                    part = try await read() ?? []
                    position = part.startIndex
                    if part.isEmpty { return nil }
                }
                defer { position += 1 }
                return part[position]
            }

            /// The next bytes, at least one; nil at the end.
            @usableFromInline
            func read() async throws -> ArraySlice<UInt8>? {
                let session = transfer.session
                do {
                    let next = try await session.nextPart(of: transfer, task)
                    if next == nil, task.complete(with: nil) { await session.ended(task) }
                    return next
                } catch {
                    let error = session.fail(task, error)
                    await session.ended(task)
                    throw error
                }
            }
        }
    }
}

extension URLSession.AsyncBytes: CustomReflectable {
    /// Shows the task: `dump` must not print the request that it sent.
    public var customMirror: Mirror { Mirror(self, children: ["task": task]) }
}

extension URLSession.AsyncBytes.AsyncIterator: CustomReflectable {
    /// Shows the task: `dump` must not print the request that it sent.
    public var customMirror: Mirror { Mirror(self, children: ["task": task]) }
}
