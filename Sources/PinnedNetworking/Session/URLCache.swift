import Basics
public import Foundation

/// A cache that is always empty, for programs that configure one. This client keeps no responses.
///
/// The capacities are stored and have no effect.
public final class URLCache: NSObject, Sendable {
    /// The permission to keep a response. This client keeps none, whatever the permission is.
    public enum StoragePolicy: UInt, Sendable {
        /// The response may be kept in memory and on disk.
        case allowed
        /// The response may be kept in memory.
        case allowedInMemoryOnly
        /// The response must not be kept.
        case notAllowed
    }

    private static let sharedCache = Locked(URLCache(memoryCapacity: 4 << 20, diskCapacity: 20 << 20))
    private let capacities: Locked<(memory: Int, disk: Int)>

    /// The shared cache.
    public static var shared: URLCache {
        get { sharedCache.withLock { $0 } }
        set { sharedCache.withLock { $0 = newValue } }
    }

    /// Creates a cache. The capacities are in bytes. The directory isn't created.
    public init(memoryCapacity: Int, diskCapacity: Int, directory directoryURL: URL? = nil) {
        capacities = Locked((memoryCapacity, diskCapacity))
    }

    /// Creates a cache. The capacities are in bytes. The directory isn't created.
    public convenience init(memoryCapacity: Int, diskCapacity: Int, diskPath path: String?) {
        self.init(memoryCapacity: memoryCapacity, diskCapacity: diskCapacity)
    }

    /// The capacity in memory, in bytes.
    public var memoryCapacity: Int {
        get { capacities.withLock { $0.memory } }
        set { capacities.withLock { $0.memory = newValue } }
    }

    /// The capacity on disk, in bytes.
    public var diskCapacity: Int {
        get { capacities.withLock { $0.disk } }
        set { capacities.withLock { $0.disk = newValue } }
    }

    /// The number of bytes in memory: 0.
    public var currentMemoryUsage: Int { 0 }
    /// The number of bytes on disk: 0.
    public var currentDiskUsage: Int { 0 }

    /// Returns `nil`.
    public func cachedResponse(for request: URLRequest) -> CachedURLResponse? { nil }

    /// Calls the handler with `nil`.
    public func getCachedResponse(
        for dataTask: URLSessionDataTask, completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(nil)
    }

    /// Does nothing, since no responses are kept.
    public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for request: URLRequest) {}

    /// Does nothing, since no responses are kept.
    public func storeCachedResponse(_ cachedResponse: CachedURLResponse, for dataTask: URLSessionDataTask) {}

    /// Does nothing, since no responses are kept.
    public func removeCachedResponse(for request: URLRequest) {}

    /// Does nothing, since no responses are kept.
    public func removeCachedResponse(for dataTask: URLSessionDataTask) {}

    /// Does nothing, since no responses are kept.
    public func removeCachedResponses(since date: Date) {}

    /// Does nothing, since no responses are kept.
    public func removeAllCachedResponses() {}
}
