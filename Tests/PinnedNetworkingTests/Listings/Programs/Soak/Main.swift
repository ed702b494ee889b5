import PinnedNetworking

/// Sends requests of every kind, 25 at a time, and prints what the process has before and after: `soak URL SILENT
/// COUNT`, where SILENT is the URL of a server that never answers.
@main
struct Main {
    static func main() async throws {
        guard let url = Site.url, let silent = URL(string: Site.login[0]), let count = Int(Site.login[1]) else {
            return print("arguments are missing")
        }
        var counts: [String: Int] = [:]
        // What is allocated once, the threads of the pool and the trust store among it.
        try await send(1_000, url, silent, &counts)
        try await settle()
        counts = [:]
        let before = try resources()
        try await send(count, url, silent, &counts)
        try await settle()
        let after = try resources()
        print("descriptors", after.descriptors - before.descriptors)
        print("threads", after.threads - before.threads)
        print("memory", after.memory - before.memory)
        print("ends", counts.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " "))
    }

    static func settle() async throws { try await Task.sleep(for: .seconds(2)) }

    static func send(_ count: Int, _ url: URL, _ silent: URL, _ counts: inout [String: Int]) async throws {
        let unknown = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
        let rule = PinningRule(host: try ServerName("127.0.0.1"), pins: [try Pin(unknown)])
        let refusing = URLSessionConfiguration.ephemeral
        refusing.pinning = try PinningPolicy(rules: [rule])
        for start in stride(from: 0, to: count, by: 500) {
            let open = URLSession(configuration: .ephemeral)
            let closed = URLSession(configuration: refusing)
            for batch in stride(from: start, to: min(start + 500, count), by: 25) {
                let ends = await withTaskGroup(of: String.self) { group in
                    for index in batch..<(batch + 25) {
                        group.addTask { await end(of: index % 7, url, silent, open, closed) }
                    }
                    return await group.reduce(into: [String]()) { $0.append($1) }
                }
                for end in ends { counts[end, default: 0] += 1 }
            }
            open.invalidateAndCancel()
            closed.invalidateAndCancel()
        }
    }

    static func end(of kind: Int, _ url: URL, _ silent: URL, _ open: URLSession, _ closed: URLSession) async -> String {
        let paths = ["good", "pin", "login", "on", "cancel", "reset", "timeout"]
        var request = URLRequest(url: kind == 6 ? silent : url.appendingPathComponent(paths[kind]))
        if kind == 6 { request.timeoutInterval = 0.05 }
        let session = kind == 1 ? closed : open
        do {
            if kind == 4 {
                let sending = Task { [request] in try await session.data(for: request) }
                try? await Task.sleep(for: .milliseconds(Int.random(in: 0...3)))
                sending.cancel()
                _ = try await sending.value
                return "cancel done"
            }
            let (_, response) = try await session.data(for: request)
            return "\(paths[kind]) \((response as? HTTPURLResponse)?.statusCode ?? 0)"
        } catch {
            return "\(paths[kind]) \((error as? URLError)?.code.rawValue ?? 0)"
        }
    }

    /// Open files, threads, and bytes that are in memory and nobody else's.
    static func resources() throws -> (descriptors: Int, threads: Int, memory: Int) {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        let kilobytes = line?.split(whereSeparator: { !$0.isNumber }).first.flatMap { Int($0) } ?? 0
        return (
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count, kilobytes * 1024
        )
    }
}
