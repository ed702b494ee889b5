import Glibc
import Synchronization

/// A relay in front of a server, for one connection. It passes only a limited number of the server's bytes.
package final class LoopbackRelay: Sendable {
    /// The behaviour when the limit is reached.
    package enum Ending: Sendable, CaseIterable {
        /// Nothing more is passed, and the connection stays open.
        case stall
        /// TCP is closed in order.
        case close
        /// TCP is reset.
        case reset
    }

    package var port: UInt16 { middle.port }
    package let address = "127.0.0.1"

    private let middle: LoopbackMiddle
    private let passed: Passed

    private final class Passed: Sendable {
        let count = Atomic<Int>(0)
    }

    /// The number of the server's bytes that have been passed.
    package var passedCount: Int { passed.count.load(ordering: .relaxed) }

    package init(
        to server: LoopbackServer, passing limit: Int = .max, atOnce chunk: Int = 16_384, then ending: Ending = .stall
    ) throws(TestPKIError) {
        let passed = Passed()
        self.passed = passed
        middle = try LoopbackMiddle(to: server) { client, server in
            relay(client, server, limit, chunk) { passed.count.store($0, ordering: .relaxed) } ? ending : nil
        }
    }

    /// Waits for the end of the client's connection.
    package func stop() { middle.stop() }

    /// Runs `body` with the relay and then stops the relay.
    package func run<Result>(_ body: (LoopbackRelay) async throws -> Result) async rethrows -> Result {
        defer { stop() }
        return try await body(self)
    }
}

package func connectOnLoopback(port: UInt16, waits: Bool = true) throws(TestPKIError) -> Int32 {
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue) | (waits ? 0 : Int32(SOCK_NONBLOCK.rawValue))
    let descriptor = socket(AF_INET, kind, 0)
    guard descriptor >= 0 else { throw .system("socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let result = unsafe withUnsafeBytes(of: address) { bytes in
        unsafe connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard result == 0 || errno == EINPROGRESS else {
        let error = TestPKIError.system("connect")
        close(descriptor)
        throw error
    }
    return descriptor
}

/// Copies in both directions. Returns `true` when the limit is reached, or `false` if a side ends before.
private func relay(_ client: Int32, _ server: Int32, _ limit: Int, _ chunk: Int, passed: (Int) -> Void) -> Bool {
    var buffer = [UInt8](repeating: 0, count: max(chunk, 16_384))
    var count = 0
    while count < limit {
        var both = [client, server].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard unsafe poll(&both, 2, -1) > 0 else { continue }
        if both[0].revents != 0 {
            let read = unsafe recv(client, &buffer, buffer.count, 0)
            guard read > 0, unsafe send(server, buffer, read, Int32(MSG_NOSIGNAL)) == read else { return false }
        }
        if both[1].revents != 0 {
            let read = unsafe recv(server, &buffer, min(chunk, limit - count), 0)
            guard read > 0 else { return false }
            // The count comes first, so that it is up to date for a client that has received the bytes.
            count += read
            passed(count)
            guard unsafe send(client, buffer, read, Int32(MSG_NOSIGNAL)) == read else { return false }
        }
    }
    return true
}
