/// Something that takes any bytes. It traps when a promise is broken.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable ([UInt8]) -> Void

    /// All of them. Each has a directory of its name in `seeds`.
    static let all: [FuzzTarget] =
        dialects + [
            search, verdicts, http, webSocket, codings, challenge, ntlm, socks5, socks4a, startTLS, ftp, resume, range,
            credentials, cookies, cookieFile, timestamps, logList, paths, decisions, plan, transfers, sessions, bundles,
            handshakes, elf,
        ]
}

/// Ends the process with a message if a promise is broken. The standard library's function has no message in a release
/// build.
func precondition(
    _ condition: @autoclosure () -> Bool, _ message: @autoclosure () -> String = "a broken promise",
    file: StaticString = #fileID, line: UInt = #line
) {
    if !condition() { preconditionFailure(message(), file: file, line: line) }
}

/// Ends the process with a message.
func preconditionFailure(
    _ message: @autoclosure () -> String = "a broken promise", file: StaticString = #fileID, line: UInt = #line
) -> Never {
    report("\(file):\(line): \(message())")
    Swift.preconditionFailure()
}
