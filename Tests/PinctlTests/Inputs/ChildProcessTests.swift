import Testing

@testable import PinctlCommands

struct ChildProcessTests {
    private func run(_ command: String, _ patience: Duration) throws(ChildProcessError) -> ([UInt8], Int32) {
        let process = try ChildProcess("/bin/sh", ["-c", command], environment: [], patience: patience)
        return try process.finish(limit: 100)
    }

    @Test("A program that closes its output and still runs is waited for until the deadline")
    func closedOutput() throws {
        let (output, status) = try run("echo done; exec >&- 2>&-; /bin/sleep 0.2; exit 7", .seconds(30))
        #expect(output == Array("done\n".utf8))
        #expect(status == 7)
        let start = ContinuousClock.now
        #expect(throws: ChildProcessError.tookTooLong) { try run("exec >&- 2>&-; exec /bin/sleep 60", .seconds(0.3)) }
        #expect(.now - start < .seconds(20))
    }
}
