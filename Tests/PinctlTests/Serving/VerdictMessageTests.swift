import Testing

@testable import PinctlCommands

/// Returns a message of a client with these fields, without its length.
func message(_ kind: UInt8 = 1, version: UInt8 = 1, _ fields: [(type: UInt8, value: [UInt8])] = []) -> [UInt8] {
    fields.reduce(into: [version, kind]) { bytes, field in
        bytes.append(field.type)
        bytes += (0..<4).map { UInt8(truncatingIfNeeded: field.value.count >> (24 - 8 * $0)) } + field.value
    }
}

@Suite("Messages of the verdict service")
struct VerdictMessageTests {
    private static let host = (UInt8(1), Array("api.test".utf8))

    @Test("Every field is read")
    func whole() throws {
        let read = try VerdictMessage(
            message(
                1,
                [
                    Self.host, (2, [0x20, 0xFB]), (3, Array("::1".utf8)), (4, [1]), (4, [2, 3]), (5, [4]), (6, [5]),
                    (7, [1]), (8, Array("/usr/bin/curl".utf8)), (9, [0, 0, 1, 2]), (10, Array("OpenSSL".utf8)),
                ]))
        #expect(read.kind == .question && read.host == "api.test" && read.port == 8443 && read.address == "::1")
        #expect(read.certificates == [[1], [2, 3]] && read.stapledOCSP == [4] && read.timestamps == [5])
        #expect(read.isResumed && read.library == "OpenSSL")
        #expect(read.server == "api.test:8443" && read.source == "curl (258)")
        #expect(try VerdictMessage(message(2)).server == "a server without a name")
        #expect(try VerdictMessage(message(3, [(3, Array("::1".utf8)), (2, [1, 187])])).server == "[::1]:443")
    }

    @Test(
        "What isn't known, repeated, cut off or of another size is no message",
        arguments: [
            [], [1], message(version: 2), message(0), message(6), message(1, [host, host]), message(1, [(11, [])]),
            message(1, [(0, [])]), message(1, [(2, [1])]), message(1, [(2, [0, 0, 1])]), message(1, [(7, [2])]),
            message(1, [(7, [])]), message(1, [(9, [1, 2, 3])]), message(1, [(1, [0xFF])]),
            message(1, [(1, [UInt8](repeating: 0x61, count: 5_000))]), message(1, [host]).dropLast(),
            message(1, [host]) + [4], message(1, [host]) + [4, 0, 0, 0],
            message(1, [host]) + [4, 0xFF, 0xFF, 0xFF, 0xFF],
        ].map(Array.init))
    func malformed(frame: [UInt8]) {
        #expect(throws: VerdictMessageError.self) { try VerdictMessage(frame) }
    }

    @Test("A verdict depends on the server, the chain and the evidence, and not on the program")
    func digest() throws {
        func digest(_ fields: [(type: UInt8, value: [UInt8])]) throws -> [UInt8] {
            try VerdictMessage(message(1, fields)).digest
        }
        let plain = try digest([Self.host, (4, [1])])
        #expect(try digest([Self.host, (4, [1]), (8, [0x61]), (9, [0, 0, 0, 1]), (3, [0x31]), (7, [1])]) == plain)
        for other: [(UInt8, [UInt8])] in [
            [(1, [0x61]), (4, [1])], [Self.host, (4, [2])], [Self.host, (4, [1]), (4, [])], [Self.host],
            [Self.host, (4, [1]), (2, [0, 1])], [Self.host, (4, [1]), (5, [])], [Self.host, (4, [1]), (6, [1])],
            [(3, Array("api.test".utf8)), (4, [1])].map { ($0.0 == 3 ? 1 : $0.0, $0.1 + ($0.0 == 3 ? [0x2E] : [])) },
        ] {
            #expect(try digest(other) != plain, "\(other)")
        }
    }

    @Test("An answer has the verdict, and a reason of at most 4 KiB with the pin")
    func answers() {
        let short = VerdictAnswer(isAccepted: true, reason: "ok", pin: "sha256/x").frame
        #expect(short == [1, 1, 1, 0, 0, 0, 1, 1, 2, 0, 0, 0, 2, 0x6F, 0x6B, 3, 0, 0, 0, 8] + Array("sha256/x".utf8))
        #expect(VerdictAnswer(isAccepted: false, reason: "").frame.prefix(8) == [1, 1, 1, 0, 0, 0, 1, 0])
        for text in [String(repeating: "a", count: 9_000), String(repeating: "👩‍👩‍👧‍👦", count: 3_000)] {
            #expect(VerdictAnswer(isAccepted: false, reason: text).frame.count <= 4_096 * 2)
        }
    }
}
