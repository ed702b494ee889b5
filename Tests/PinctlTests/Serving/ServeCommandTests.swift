import FoundationEssentials
import PinctlTestPKI
import Testing

/// The service as a process, with questions from a shell.
@Suite("pinctl serve")
struct ServeCommandTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    @Test("It answers at a private socket until Ctrl-C, which removes the socket, and prints refusals")
    func serves() async throws {
        let policy = try site.policy("\"\(unknownPin)\", \"\(try site.leaf.key.pin)\"")
        let run = try await shell(
            """
            pinctl serve --policy \(policy) --ca-file \(site.rootFile) --socket socket 2>log & service=$!
            for try in {1..200}; do [ -S socket ] && break; sleep 0.05; done
            stat -c %a socket
            pinctl serve --policy \(policy) --socket socket 2>&1; echo "$?"
            kill -INT "$service"; wait "$service"; echo "$?"
            [ -e socket ] || echo removed
            """, in: site.directory)
        let lines = run.lines
        #expect(lines.first == "600", "\(run)")
        #expect(lines.dropFirst().first?.hasPrefix("pinctl: socket: cannot listen: ") == true, "\(run)")
        #expect(lines.suffix(3) == ["2", "130", "removed"], "\(run)")
        let log = try String(contentsOfFile: site.directory.path + "/log", encoding: .utf8)
        #expect(log.hasPrefix("pinctl: ready\n"), "\(log)")
    }

    @Test("It takes the socket that systemd gives it only if the variables are for this process")
    func inherited() async throws {
        let policy = try site.policy("\"\(unknownPin)\", \"\(try site.leaf.key.pin)\"")
        for variables in ["", "LISTEN_FDS=1", "LISTEN_FDS=1 LISTEN_PID=1", "LISTEN_FDS=2 LISTEN_PID=$$"] {
            let run = try await shell(
                "exec env \(variables) \"$(command -v pinctl)\" serve --policy \(policy)", in: site.directory)
            #expect(run.status == 2 && run.errors.contains("--socket is required"), "\(variables): \(run)")
        }
    }
}
