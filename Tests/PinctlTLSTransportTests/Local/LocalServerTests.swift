import PinctlBasics
import PinctlLibC
import PinctlTestPKI
import Testing

@testable import PinctlTLSTransport

@Suite("The server on a Unix socket")
struct LocalServerTests {
    let directory: TestDirectory
    private var path: String { directory.path + "/socket" }

    init() throws { directory = try TestDirectory() }

    /// Returns what a client receives after these bytes, until the server ends the connection or for two seconds.
    private func exchange(_ parts: [[UInt8]], ends: Bool = true) async -> [UInt8] {
        let path = path
        return await withCheckedContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(returning: talk(at: path, parts, ends: ends)) }
            do throws(SystemError) { try startThread(work) } catch { work() }
        }
    }

    private func server(_ mode: UInt32 = 0o600) throws -> LocalServer {
        try LocalServer(path: path, mode: mode, frameLimit: 100) { frame in
            guard let frame else { return .lastAnswer([9]) }
            switch frame.first {
            case 1: return .answer(frame + frame)
            case 2: return .work { frame.reversed() }
            case 3: return .lastAnswer([7])
            default: return .none
            }
        }
    }

    @Test("Frames are answered in order, however they arrive")
    func frames() async throws {
        let server = try server()
        let (one, two): ([UInt8], [UInt8]) = ([0, 0, 0, 2, 1, 5], [0, 0, 0, 3, 2, 6, 7])
        let none: [UInt8] = [0, 0, 0, 1, 8]
        let answers: [UInt8] = [0, 0, 0, 3, 7, 6, 2, 0, 0, 0, 4, 1, 5, 1, 5]
        #expect(await exchange([two + none + one]) == answers)
        #expect(await exchange((two + none + one).map { [$0] }) == answers)
        #expect(await exchange([]) == [])
        #expect(await exchange([[0, 0, 0]]) == [])
        #expect(await exchange([[0, 0, 0, 1, 3] + one]) == [0, 0, 0, 1, 7])
        let long = [0, 0, 0, 101] + [UInt8](repeating: 1, count: 200) + one
        #expect(await exchange([long], ends: false) == [0, 0, 0, 1, 9])
        #expect(await exchange([[0xFF, 0xFF, 0xFF, 0xFF]], ends: false) == [0, 0, 0, 1, 9])
        let many = [[UInt8]](repeating: one, count: 1_000)
        #expect(await exchange([Array(many.joined())]).count == 8_000)
        // More than is read at once.
        let flood = Array([[UInt8]](repeating: none, count: 100_000).joined())
        #expect(await exchange([flood + one]) == [0, 0, 0, 4, 1, 5, 1, 5])
        withExtendedLifetime(server) {}
    }

    @Test("A server removes the file of its own socket only")
    func removal() throws {
        let first = try server()
        first.removeFile()
        #expect(fileMode(path) == nil)
        first.removeFile()
        let second = try server()
        first.removeFile()
        #expect(fileMode(path) == 0o600)
        removeFile(path)
        _ = try directory.add("text", name: "socket")
        second.removeFile()
        #expect(fileMode(path) != nil)
    }

    @Test("The socket has the mode that was asked for, and replaces one that no process listens at")
    func places() throws {
        for mode in [0o600, 0o660] as [UInt32] {
            let server = try server(mode)
            #expect(fileMode(path) == mode)
            #expect(throws: SystemError(code: EADDRINUSE)) { _ = try self.server() }
            withExtendedLifetime(server) {}
        }
        removeFile(path)
        _ = try directory.add("text", name: "socket")
        #expect(throws: SystemError(code: EADDRINUSE)) { _ = try self.server() }
        let long = directory.path + String(repeating: "/x", count: 60)
        #expect(throws: SystemError(code: ENAMETOOLONG)) {
            _ = try LocalServer(path: long, mode: 0o600, frameLimit: 1) { _ in .none }
        }
    }
}
