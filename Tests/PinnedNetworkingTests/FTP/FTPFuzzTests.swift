import TLSTransport
import Testing

@testable import PinnedNetworking

/// Changed replies of FTP servers: each ends well or in an error (HA18).
@Suite struct FTPFuzzTests {
    private static let replies = [
        "220-hello\r\n more\r\n220 go on", "331 password", "230 in", "200 zero", "200 private", "200 binary", "213 12",
        "229 go (|||4321|)", "500 what", "227 go (127,0,0,1,4,1)", "150 coming", "226 done", "550 none",
    ]

    @Test("No reply traps, hangs or has the client connect to port 0", arguments: [UInt64](1...8))
    func changed(seed: UInt64) throws {
        var generator = Generator(state: seed)
        for _ in 0..<2_000 {
            var exchange = FTPExchange(path: "a", isProtected: .random(using: &generator), isGreeted: false)
            var reader = NumberedReply.Reader(isLoose: true)
            var input = StartTLSInput()
            var action = exchange.begin()
            for _ in 0..<20 {
                var bytes = Array((Self.replies.randomElement(using: &generator) ?? "").utf8) + [13, 10]
                for _ in 0..<Int.random(in: 0...2, using: &generator) {
                    bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
                }
                guard (try? input.append(bytes)) != nil, let reply = try? reader.next(&input),
                    let next = try? exchange.received(reply)
                else { break }
                action = next
                if case .connect(let port, _) = action {
                    #expect(port > 0)
                    action = exchange.connected()
                }
                if case .needLogin = action { action = exchange.logIn(user: "me", password: "word") }
                if case .readFile(let size) = action {
                    #expect(size ?? 0 >= 0)
                    action = exchange.fileEnded()
                }
            }
        }
    }

    /// SplitMix64.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
