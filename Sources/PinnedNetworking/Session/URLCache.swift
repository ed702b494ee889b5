public import Foundation
import PinctlBasics

/// A cache of the responses that the program stores in it, in memory.
///
/// Sessions store no responses in it. They answer a request from the ``URLSessionConfiguration/urlCache`` only if its
/// cache policy is ``URLRequest/CachePolicy/returnCacheDataElseLoad`` or
/// ``URLRequest/CachePolicy/returnCacheDataDontLoad``. No connection is made then, so no pins are checked. The capacity
/// on disk and the directory have no effect.
public final class URLCache: NSObject, Sendable {
    /// The permission to keep a response.
    public enum StoragePolicy: UInt, Sendable {
        /// The response may be kept in memory and on disk.
        case allowed
        /// The response may be kept in memory.
        case allowedInMemoryOnly
        /// The response must not be kept.
        case notAllowed
    }

    private static let sharedCache = Locked(URLCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20))
    private let stored: Locked<StoredResponses>

    /// The shared cache.
    public static var shared: URLCache {
        get { sharedCache.withLock { $0 } }
        set { sharedCache.withLock { $0 = newValue } }
    }

    /// Creates an empty cache. The capacities are in bytes. The directory isn't created.
    public init(memoryCapacity: Int, diskCapacity: Int, directory directoryURL: URL? = nil) {
        stored = Locked(StoredResponses(capacity: memoryCapacity, diskCapacity: diskCapacity))
    }

    /// Creates an empty cache. The capacities are in bytes. The directory isn't created.
    public convenience init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        self.init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity)
    }

    /// The capacity in memory, in bytes. Setting a lower one removes the responses that were stored first.
    public var memoryCapacity: Int {
        get { stored.withLock { $0.capacity } }
        set { stored.withLock { $0.capacity = newValue } }
    }

    /// The capacity on disk, in bytes, which has no effect.
    public var diskCapacity: Int {
        get { stored.withLock { $0.diskCapacity } }
        set { stored.withLock { $0.diskCapacity = newValue } }
    }

    /// The number of bytes in memory: the bodies, and 512 bytes for each response.
    public var currentMemoryUsage: Int { stored.withLock { $0.usage } }
    /// The number of bytes on disk: 0.
    public var currentDiskUsage: Int { 0 }

    /// Returns the response that was stored for the request's URL and method, if any.
    public func cachedResponse(for request: URLRequest) -> CachedURLResponse? {
        stored.withLock { $0.response(for: request) }
    }

    /// Calls the handler with the response that was stored for the URL and method of the task's current request.
    public func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(dataTask.currentRequest.flatMap(cachedResponse))
    }

    /// Stores a response for the request's URL and method, in place of an earlier one.
    ///
    /// The responses that were stored first are removed to make room. The response isn't stored if it is larger than
    /// the capacity, or if its storage policy is ``StoragePolicy/notAllowed``.
    public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {
        stored.withLock { $0.store(cachedResponse, for: request) }
    }

    /// Stores a response for the URL and method of the task's current request.
    public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {
        if let request = dataTask.currentRequest { storeCachedResponse(cachedResponse, for: request) }
    }

    /// Removes the response for the request's URL and method.
    public func removeCachedResponse(for request: URLRequest) {
        stored.withLock { $0.removeResponse(for: request) }
    }

    /// Removes the response for the URL and method of the task's current request.
    public func removeCachedResponse(for dataTask: URLSessionDataTask) {
        if let request = dataTask.currentRequest { removeCachedResponse(for: request) }
    }

    /// Removes the responses that were stored at this date or later.
    public func removeCachedResponses(since date: Date) {
        stored.withLock { $0.removeResponses(since: date) }
    }

    /// Removes every response.
    public func removeAllCachedResponses() {
        stored.withLock { $0.removeResponses(since: .distantPast) }
    }
}
