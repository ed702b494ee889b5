/// Something that takes any bytes. It traps when a promise is broken.
struct FuzzTarget: Sendable {
    let name: String
    let run: @Sendable ([UInt8]) -> Void

    /// All of them. Each has a folder of its name in `seeds`.
    static let all: [FuzzTarget] =
        dialects + [
            http, webSocket, codings, challenge, ntlm, socks5, socks4a, startTLS, ftp, resume, range, credentials,
            cookies,
            cookieFile, timestamps, logList, paths, decisions, plan, transfers, sessions, bundles,
            handshakes,
        ]
}
