import Foundation

/// A server's own log.
struct PeerLog: Sendable {
    let path: String

    var lines: [String] {
        // String(contentsOfFile:) leaks memory if a file grows while it is read.
        let bytes = (try? FileHandle(forReadingFrom: URL(fileURLWithPath: path)).readToEnd()) ?? Data()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Its lines, once `count` of them contain `text`. A server writes them after it has answered.
    func lines(_ count: Int, with text: String = "") async throws -> [String] {
        for _ in 0..<3000 {
            guard lines.count(where: { text.isEmpty || $0.contains(text) }) < count else { break }
            try await Task.sleep(for: .milliseconds(10))
        }
        return lines
    }
}
