import Foundation

/// The responses in a ``URLCache``, by the URL and method of their requests.
struct StoredResponses {
    /// The bytes that are counted for a response in addition to its body, so that empty ones can't fill the memory.
    private static let overhead = 512

    private struct Key: Hashable {
        var url: String
        var method: String?

        /// The fragment isn't part of the key, since it isn't sent. Nil without a URL.
        init?(_ request: URLRequest) {
            guard let url = request.url?.absoluteString else { return nil }
            self.url = String(url.prefix { $0 != "#" })
            method = request.httpMethod
        }
    }

    private struct Entry {
        var response: CachedURLResponse
        var date: Date
        /// The position in the order of storing.
        var number: Int
        var size: Int
    }

    var capacity: Int { didSet { shrink(to: capacity) } }
    var diskCapacity: Int
    private(set) var usage = 0
    private var entries: [Key: Entry] = [:]
    /// The keys by their position in the order of storing. The first is at `first` or later, the last at `last`.
    private var order: [Int: Key] = [:]
    private var first = 1
    private var last = 0

    init(capacity: Int, diskCapacity: Int) {
        self.capacity = capacity
        self.diskCapacity = diskCapacity
    }

    func response(for request: URLRequest) -> CachedURLResponse? {
        Key(request).flatMap { entries[$0]?.response }
    }

    mutating func store(_ response: CachedURLResponse, for request: URLRequest) {
        let size = response.data.count + Self.overhead
        guard let key = Key(request), response.storagePolicy != .notAllowed, size <= capacity else { return }
        remove(key)
        shrink(to: capacity - size)
        last += 1
        usage += size
        entries[key] = Entry(response: response, date: Date(), number: last, size: size)
        order[last] = key
    }

    mutating func removeResponse(for request: URLRequest) {
        if let key = Key(request) { remove(key) }
    }

    mutating func removeResponses(since date: Date) {
        for (key, entry) in entries where entry.date >= date { remove(key) }
    }

    private mutating func remove(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        order[entry.number] = nil
        usage -= entry.size
    }

    /// Removes the responses that were stored first, until the others fit.
    private mutating func shrink(to limit: Int) {
        while usage > limit, first <= last {
            if let key = order[first] { remove(key) }
            first += 1
        }
    }
}
