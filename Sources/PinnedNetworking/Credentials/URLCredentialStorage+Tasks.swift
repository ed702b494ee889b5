// Apple's variants with a task. The task makes no difference.
extension URLCredentialStorage {
    /// Calls the handler with the result of ``credentials(for:)`` before it returns.
    public func getCredentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask,
        completionHandler: ([String: URLCredential]?) -> Void
    ) {
        completionHandler(credentials(for: protectionSpace))
    }

    /// Returns the same as ``credentials(for:)``.
    public func credentials(
        for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) async -> [String: URLCredential]? {
        await snapshot().entry(for: protectionSpace).userCredentials
    }

    /// Does the same as ``set(_:for:)``.
    public func set(_ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask) {
        set(credential, for: protectionSpace)
    }

    /// Does the same as ``remove(_:for:options:)``.
    public func remove(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, options: [String: Any]? = [:],
        task: URLSessionTask
    ) {
        remove(credential, for: protectionSpace, options: options)
    }

    /// Calls the handler with the result of ``defaultCredential(for:)`` before it returns.
    public func getDefaultCredential(
        for space: URLProtectionSpace, task: URLSessionTask, completionHandler: (URLCredential?) -> Void
    ) {
        completionHandler(defaultCredential(for: space))
    }

    /// Returns the same as ``defaultCredential(for:)``.
    public func defaultCredential(for space: URLProtectionSpace, task: URLSessionTask) async -> URLCredential? {
        await snapshot().entry(for: space).defaultCredential
    }

    /// Does the same as ``setDefaultCredential(_:for:)``.
    public func setDefaultCredential(
        _ credential: URLCredential, for protectionSpace: URLProtectionSpace, task: URLSessionTask
    ) {
        setDefaultCredential(credential, for: protectionSpace)
    }
}
