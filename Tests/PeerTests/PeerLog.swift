import Foundation

/// A server's own log.
struct PeerLog: Sendable {
    let path: String

    var lines: [String] {
        (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").map(String.init) ?? []
    }

    /// Its lines, once there are `count`: a server writes them after it has answered.
    func lines(_ count: Int) async throws -> [String] {
        for _ in 0..<3000 where lines.count < count { try await Task.sleep(for: .milliseconds(10)) }
        return lines
    }
}
