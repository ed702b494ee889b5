/// The machine's trust store, read once in a process.
enum SystemTrustStore {
    /// It is needed and was not read yet.
    struct Unread: Error {}

    private static let loaded = Locked<TrustStore?>(nil)

    /// The store, when it was read before; waits for nothing.
    static func read() throws(Unread) -> TrustStore {
        guard let store = loaded.withLock({ $0 }) else { throw Unread() }
        return store
    }

    /// Calls `body`; when it needs the store, reads that off the event loop and calls it again. The store is read again
    /// when it could not be read before.
    nonisolated(nonsending) static func whenRead<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch is Unread {
            let store = try await BlockingWork.run { () throws(TrustStoreError) in try TrustStore.system() }
            guard let store else { throw CancellationError() }
            loaded.withLock { $0 = $0 ?? store }
            return try await body()
        }
    }
}
