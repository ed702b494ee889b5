import PinctlBasics

/// The operating system's trust store, read once per process.
enum SystemTrustStore {
    /// The error if the store is required but hasn't been read yet.
    struct Unread: Error {}

    private static let loaded = Locked<TrustStore?>(nil)
    /// The environment that names the store, if it was kept.
    private static let environment = Locked<[String: String]?>(nil)

    /// Keeps the current environment, so that no library chooses another store later.
    static func keepEnvironment() { environment.withLock { $0 = $0 ?? processEnvironment } }

    /// Returns the store if it has been read. Never waits.
    static func read() throws(Unread) -> TrustStore {
        guard let store = loaded.withLock({ $0 }) else { throw Unread() }
        return store
    }

    /// Calls `body`. If it requires the store, reads the store off the event loop and calls `body` again. After a
    /// failure, the next call tries to read the store again.
    nonisolated(nonsending) static func whenRead<Value>(
        _ body: nonisolated(nonsending) () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch is Unread {
            let store = try await BlockingWork.run { () throws(TrustStoreError) in
                try TrustStore.system(environment: environment.withLock { $0 })
            }
            guard let store else { throw CancellationError() }
            loaded.withLock { $0 = $0 ?? store }
            return try await body()
        }
    }
}
