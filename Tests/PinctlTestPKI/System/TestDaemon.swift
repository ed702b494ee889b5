import Glibc

/// A server program that runs in the foreground during a test, and ends with the last reference to it.
package final class TestDaemon: Sendable {
    private let process: Locked<pid_t?>
    private let output: ScratchFile

    /// Starts `command` and waits until it accepts connections on each of these ports.
    package init(_ command: [String], ports: [UInt16]) async throws {
        output = try ScratchFile()
        let input = try ScratchFile()
        // The program ends even if the tests are killed.
        let limited = ["timeout", "--kill-after=10", "600"] + command
        process = Locked(
            try TestCommand.spawn(
                limited, files: [input.descriptor, output.descriptor, output.descriptor], environment: ["LC_ALL=C"]))
        for port in ports { try await start(port, command) }
    }

    deinit { stop() }

    private func start(_ port: UInt16, _ command: [String]) async throws {
        // At least a minute, for busy machines.
        for _ in 0..<3000 {
            guard isRunning else { break }
            if Self.answers(port) { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        let text = String(decoding: try output.contents(), as: UTF8.self)
        throw TestPKIError(command.first ?? "", "nobody answers on port \(port): \(text)")
    }

    /// Asks the program to end, and waits until it has ended. Further calls have no effect.
    package func stop() {
        process.withLock { process in
            guard let child = process else { return }
            kill(child, SIGTERM)
            _ = TestCommand.wait(for: child)
            process = nil
        }
    }

    private var isRunning: Bool {
        process.withLock { process in
            guard let child = process else { return false }
            var status: Int32 = 0
            guard unsafe waitpid(child, &status, WNOHANG) == child else { return true }
            process = nil
            return false
        }
    }

    /// Returns unused ports of the loopback interface, below those that the system assigns itself (Linux: 32768 to
    /// 60999).
    package static func freePorts(_ count: Int) -> [UInt16] {
        var ports: [UInt16] = []
        while ports.count < count {
            let port = UInt16.random(in: 20_000..<32_768)
            if !ports.contains(port), !answers(port) { ports.append(port) }
        }
        return ports
    }

    private static func answers(_ port: UInt16) -> Bool {
        guard let descriptor = try? connectOnLoopback(port: port) else { return false }
        close(descriptor)
        return true
    }
}
