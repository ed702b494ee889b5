/// The machine's trust store, read once in a process.
enum SystemTrustStore {
    private static let loaded = Locked<TrustStore?>(nil)

    /// Reads it again when it could not be read before.
    static func load() throws(TrustStoreError) -> TrustStore {
        try loaded.withLock { (loaded) throws(TrustStoreError) in
            if let store = loaded { return store }
            let store = try TrustStore.system()
            loaded = store
            return store
        }
    }
}
