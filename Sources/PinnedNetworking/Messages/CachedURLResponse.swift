public import Foundation

/// A response with its body, as protocol classes and delegates pass it on, and as a ``URLCache`` stores it.
// @unchecked because `userInfo` has values of any type and the class can have subclasses. It is safe since every stored
// property is a `let`, and since the creator doesn't change objects in `userInfo` any more.
open class CachedURLResponse: NSObject, NSCopying, @unchecked Sendable {
    /// The response.
    public let response: URLResponse
    /// The body.
    public let data: Data
    /// Values for the program's own use, which must not change any more.
    public let userInfo: [AnyHashable: Any]?
    /// The permission to keep the response.
    public let storagePolicy: URLCache.StoragePolicy

    /// Creates a response that may be kept.
    public convenience init(response: URLResponse, data: Data) {
        self.init(response: response, data: data, storagePolicy: .allowed)
    }

    /// Creates a response.
    public init(
        response: URLResponse, data: Data, userInfo: [AnyHashable: Any]? = nil, storagePolicy: URLCache.StoragePolicy
    ) {
        self.response = response
        self.data = data
        self.userInfo = userInfo
        self.storagePolicy = storagePolicy
    }

    /// Returns the same object, which never changes.
    open override func copy() -> Any { self }

    /// Returns the same object, which never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// Compares the response, the body and the permission. `userInfo` is ignored.
    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CachedURLResponse else { return false }
        return response == other.response && data == other.data && storagePolicy == other.storagePolicy
    }

    open override var hash: Int {
        var hasher = Hasher()
        hasher.combine(data)
        hasher.combine(storagePolicy)
        return hasher.finalize()
    }
}
