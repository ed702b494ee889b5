extension URLSession {
    /// The bytes of a response's body. They are received on demand, so the server waits while the program doesn't read.
    ///
    /// The bytes can be read only once. If the body ends early, reading throws a `URLError`.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        /// The task that receives the bytes.
        public let task: URLSessionDataTask
        private let transfer: any TaskTransfer

        init(task: URLSessionDataTask, transfer: any TaskTransfer) {
            self.task = task
            self.transfer = transfer
        }

        /// Returns an iterator that starts reading, or continues where another one stopped.
        public func makeAsyncIterator() -> AsyncIterator {
            AsyncIterator(task: task, transfer: transfer)
        }

        /// An iterator over the bytes.
        public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
            @usableFromInline var part: ArraySlice<UInt8> = []
            @usableFromInline var position = 0
            private let task: URLSessionDataTask
            private let transfer: any TaskTransfer

            init(task: URLSessionDataTask, transfer: any TaskTransfer) {
                self.task = task
                self.transfer = transfer
            }

            /// Returns the next byte, or `nil` at the end.
            @inlinable
            public mutating func next() async throws -> UInt8? {
                try await next(isolation: nil)
            }

            /// Returns the next byte, or `nil` at the end. Bytes that have already arrived are returned on the caller's
            /// actor. Leaving an actor and returning to it for each byte would take a thousand times as long.
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

            /// Returns the next bytes, at least one, or `nil` at the end.
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
    /// A mirror of the task alone, because `dump` must not print the request that it sent.
    public var customMirror: Mirror { Mirror(self, children: ["task": task]) }
}

extension URLSession.AsyncBytes.AsyncIterator: CustomReflectable {
    /// A mirror of the task alone, because `dump` must not print the request that it sent.
    public var customMirror: Mirror { Mirror(self, children: ["task": task]) }
}
