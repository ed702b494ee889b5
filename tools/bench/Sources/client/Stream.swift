import PinnedNetworking
import Synchronization

/// Ways to take a large body.
enum StreamWay: String {
    /// `for try await byte in bytes`
    case bytes
    /// `urlSession(_:dataTask:didReceive:)`
    case delegate
}

/// Fetches a URL whole and returns how far the peak of the resident set rises meanwhile, in KiB, and how many bytes
/// came.
func stream(_ way: StreamWay, _ url: URL, _ configuration: URLSessionConfiguration) async throws -> String {
    let counter = ByteCounter()
    let session = URLSession(configuration: configuration, delegate: counter, delegateQueue: nil)
    // Lowers the peak to what is resident now (proc(5)).
    try "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    let before = try peakMemory()
    var count = 0
    switch way {
    case .bytes:
        for try await _ in try await session.bytes(from: url).0 { count += 1 }
    case .delegate:
        session.dataTask(with: url).resume()
        count = try await counter.count
    }
    return "\(try peakMemory() - before) \(count)"
}

/// Counts the bytes of one task.
private final class ByteCounter: URLSessionDataDelegate {
    private let state = Mutex(0)
    private let (counts, continuation) = AsyncThrowingStream.makeStream(of: Int.self)

    var count: Int {
        get async throws {
            for try await count in counts { return count }
            throw ClientError("the task was not completed")
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLock { $0 += data.count }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if error == nil { continuation.yield(state.withLock { $0 }) }
        continuation.finish(throwing: error)
    }
}

/// KiB.
private func peakMemory() throws -> Int {
    let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
        let size = line.split(separator: " ").dropLast().last.flatMap({ Int($0) })
    else { throw ClientError("/proc/self/status has no VmHWM") }
    return size
}
