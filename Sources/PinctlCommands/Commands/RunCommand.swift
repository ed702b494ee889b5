import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

extension CommandDefinition {
    static let run = CommandDefinition(
        name: "run", summary: "run a program whose TLS connections a policy judges", operands: "PROGRAM…",
        operandCount: 1...Int.max,
        flags: Flag.judging + [.guardFile, .requireJudged],
        notes: [
            "PROGRAM, with its arguments, and the programs that it starts run with a library, the guard, that asks about each TLS",
            "connection before data is sent. A server that the policy refuses is refused, even if the program doesn't",
            "verify it. What the program itself refuses stays refused. Put -- before a program with flags of its own.",
            "",
            "The guard sees OpenSSL and GnuTLS. It doesn't see static programs, Go, Java, rustls, QUIC, and",
            "programs that run with the rights of another user. Connections without a verdict are listed at the end.",
            "This protects a program from the network. It isn't a sandbox for the program.",
            "",
            "The exit code is that of PROGRAM: 126 if it can't be run, and 127 if there is none. It is 125 if",
            "--require-judged isn't met, and 2 for wrong usage.",
        ],
        examples: [
            (
                "Fetch a page with curl, which has to find a pinned key",
                "pinctl run --policy pins.jsonc -- curl -s https://api.example.com/"
            ),
            (
                "Let a build fail if one of its connections can't be judged",
                "pinctl run --policy pins.jsonc --require-judged -- pip install requests"
            ),
        ],
        run: { (arguments, environment, console) throws(UsageError) in
            let variables = environment.variables()
            let judge = try arguments.verdictJudge(in: environment) { message in
                _ = StandardStreams.write(Array("pinctl: \(message)\n".utf8), to: 2)
            }
            let library = try guardLibrary(arguments)
            // mutant run-nested: false by RunCommandTests/refusedStarts
            if variables["PINCTL_SOCKET"] != nil {
                throw .unusable(["PINCTL_SOCKET is set, so another policy judges this program already: unset it"])
            }
            let directory = try privateDirectory(variables)
            let socket = directory + "/verdicts"
            @Sendable func removeSocket() {
                removeFile(socket)
                removeDirectory(directory)
            }
            let connections = Locked(JudgedConnections())
            let service: VerdictService
            do throws(SystemError) {
                service = try VerdictService(at: .path(socket, mode: 0o600), judge) { event in
                    // Everything is shown at once, because the program may run for days.
                    guard let line = connections.withLock({ $0.note(event) }) else { return }
                    _ = StandardStreams.write(Array("pinctl: \(line)\n".utf8), to: 2)
                }
            } catch {
                removeSocket()
                throw .unusable(["\(socket): cannot listen: \(error)"])
            }
            let preloaded = variables["LD_PRELOAD"].map { " \($0)" } ?? ""
            let obstacle = GuardedProgram.obstacle(arguments.operands[0], path: variables["PATH"] ?? "")
            let program: GuardedProgram
            do throws(SystemError) {
                program = try GuardedProgram(
                    arguments.operands, adding: ["LD_PRELOAD": library + preloaded, "PINCTL_SOCKET": socket])
            } catch {
                console.note("\(arguments.operands[0]): cannot be run: \(error)")
                removeSocket()
                endProcess(as: .exited(error.isMissing ? 127 : 126))
            }
            let end = await program.wait()
            // What the program sent before it ended may not be read yet.
            await service.drain()
            let result = connections.withLock { $0 }
            let isLoaded = result.started.contains(UInt32(truncatingIfNeeded: program.process))
            for line in summary(of: result, obstacle: isLoaded ? nil : obstacle ?? "the guard wasn't loaded") {
                console.note(line)
            }
            console.finish()
            removeSocket()
            let isWhole =
                isLoaded && result.unseen.isEmpty && !result.isCut && result.unguarded.all.isEmpty
                && result.unnamedCount == 0
            // mutant require-judged: true for `isWhole` by RunCommandTests
            if arguments.has(.requireJudged), !isWhole { endProcess(as: .exited(125)) }
            endProcess(as: end)
        })

    /// Returns the path of the guard: that of the flag, or the one beside this program, in `lib/pinctl` beside its
    /// directory, or where `tools/guard` writes it.
    private static func guardLibrary(_ arguments: Arguments) throws(UsageError) -> String {
        let name = "pinctl-guard.so"
        if let path = arguments[.guardFile] {
            guard case .file = FileKind(path) else { throw .invalidValue(.guardFile, reason: "\(path): no such file") }
            return try preloadable(absolutePath(path) ?? path)
        }
        guard let found = installedFile(name, inBuild: "guard") else {
            throw .unusable(["\(name) isn't beside pinctl: build it with tools/guard, or name it with --guard"])
        }
        return try preloadable(found)
    }

    /// Returns the path of a library if the loader preloads it: blanks and colons separate libraries, and a dollar sign
    /// begins a variable. The loader ignores what it can't preload.
    private static func preloadable(_ path: String) throws(UsageError) -> String {
        // mutant run-path: true for 2 by RunCommandTests/refusedStarts
        guard path.hasPrefix("/"), !path.contains(where: { $0.isWhitespace || ":$".contains($0) }) else {
            throw .unusable(["\(path): the loader can't preload a path with a blank, \":\" or \"$\": move the library"])
        }
        return path
    }

    /// Returns a new directory for the socket that only this user can enter.
    private static func privateDirectory(_ variables: [String: String]) throws(UsageError) -> String {
        var failure = "they aren't set"
        for parent in [variables["XDG_RUNTIME_DIR"], variables["TMPDIR"], "/tmp"] {
            // The program may change its directory.
            guard let parent, parent.hasPrefix("/") else { continue }
            do throws(SystemError) {
                return try makePrivateDirectory(in: parent)
            } catch {
                failure = "\(parent): \(error)"
            }
        }
        throw .unusable(["cannot make a directory for the socket: \(failure): set TMPDIR to one that can be written"])
    }

    private static func summary(of result: JudgedConnections, obstacle: String?) -> [String] {
        /// Returns the first of these lines, and how many more there are.
        func some(_ texts: [String]) -> [String] {
            texts.prefix(20).map { "  \($0)" } + (texts.count > 20 ? ["  and \(texts.count - 20) more"] : [])
        }
        func some(_ lines: JudgedConnections.Lines) -> [String] {
            some(lines.all.map { $0.text + ($0.count > 1 ? " (\($0.count) times)" : "") })
        }
        let isListEmpty = result.refusals.all.isEmpty && result.reports.all.isEmpty
        var lines = [
            "\(plural(result.acceptedCount, "connection")) accepted, \(result.refusedCount) refused"
                + (isListEmpty ? "" : ":")
        ]
        lines += some(result.refusals) + some(result.reports)
        if result.unnamedCount > 0 {
            let connections = plural(result.unnamedCount, "connection")
            lines.append("\(connections) to servers whose names aren't known were accepted")
        }
        if let obstacle { lines.append("not judged: \(obstacle)") }
        let unseen = result.unseen
        if !unseen.isEmpty || result.isCut {
            lines.append("connections without a verdict, such as those without TLS:")
            lines += some(unseen) + (result.cut.map { ["  \($0)"] } ?? [])
        }
        if !result.unguarded.all.isEmpty {
            lines.append("programs whose connections can't be seen, such as static ones and those in Go:")
            lines += some(result.unguarded)
        }
        return lines
    }
}
