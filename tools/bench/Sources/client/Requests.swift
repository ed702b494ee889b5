#if FOUNDATION
import Foundation
import FoundationNetworking
#else
import PinnedNetworking
#endif

extension URLSession {
    /// Fetches a URL again and again; at each time so many requests are on their way.
    func fetch(_ url: URL, count: Int, atOnce workers: Int) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<workers {
                group.addTask {
                    for _ in stride(from: worker, to: count, by: workers) {
                        let (body, response) = try await self.data(from: url)
                        guard body.count == 5, (response as? HTTPURLResponse)?.statusCode == 200 else {
                            throw ClientError("\(url) answered \(response), \(body.count) bytes")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

/// Why there is nothing to measure.
struct ClientError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
