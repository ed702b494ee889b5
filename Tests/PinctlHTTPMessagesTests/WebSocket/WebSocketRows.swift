import Testing

@testable import PinctlHTTPMessages

/// The frames that a server sends, and what a client that echoes messages sends back. The numbers are those of the
/// cases of Autobahn's test suite.
struct WebSocketRow: CustomTestStringConvertible, Sendable {
    let number: String
    let frames: [Frame]
    /// The frames of the client: `text 2 hi` with the kind, the size in bytes and the first bytes, or `close 1000`.
    let sent: [String]

    init(_ number: String, _ frames: [Frame], _ sent: [String]) {
        self.number = number
        self.frames = frames
        self.sent = sent
    }

    var testDescription: String { number }

    /// A frame of a server.
    struct Frame: Sendable {
        var opcode: UInt8
        var payload: [UInt8]
        var isFinal = true
        var reserved: UInt8 = 0
        var isMasked = false
        /// The number of bytes for the length: 0, 2 or 8. Nil for the shortest form.
        var lengthSize: Int?

        var bytes: [UInt8] {
            let size = lengthSize ?? (payload.count < 126 ? 0 : payload.count <= 0xFFFF ? 2 : 8)
            let first = (isFinal ? 0x80 : 0) | reserved << 4 | opcode
            let code = size == 0 ? UInt8(payload.count) : size == 2 ? 126 : 127
            let length = (0..<size).reversed().map { UInt8(truncatingIfNeeded: payload.count >> ($0 * 8)) }
            let mask: [UInt8] = isMasked ? [0, 0, 0, 0] : []
            return [first, (isMasked ? 0x80 : 0) | code] + length + mask + payload
        }
    }
}

extension WebSocketRow.Frame {
    static func text(_ text: String) -> Self { .init(opcode: 1, payload: Array(text.utf8)) }
    static func text(bytes: [UInt8]) -> Self { .init(opcode: 1, payload: bytes) }
    static func binary(_ count: Int) -> Self { .init(opcode: 2, payload: .init(repeating: 0xFE, count: count)) }
    static func more(_ text: String) -> Self { .init(opcode: 0, payload: Array(text.utf8)) }
    static func ping(_ text: String) -> Self { .init(opcode: 9, payload: Array(text.utf8)) }
    static func pong(_ text: String) -> Self { .init(opcode: 10, payload: Array(text.utf8)) }
    static func close(_ code: UInt16, _ reason: String = "") -> Self {
        .init(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
    }
    static let emptyClose = Self(opcode: 8, payload: [])

    var unfinished: Self { with { $0.isFinal = false } }
    func reserved(_ bits: UInt8) -> Self { with { $0.reserved = bits } }
    var masked: Self { with { $0.isMasked = true } }
    func length(in size: Int) -> Self { with { $0.lengthSize = size } }

    private func with(_ change: (inout Self) -> Void) -> Self {
        var frame = self
        change(&frame)
        return frame
    }
}

private func stars(_ count: Int) -> String { String(repeating: "*", count: count) }

extension WebSocketRow {
    static let all = framing + pings + reserved + fragments + closes + closeCodes + texts

    private static let framing =
        [0, 125, 126, 127, 128, 65535, 65536].enumerated().flatMap { index, count in
            [
                WebSocketRow(
                    "1.1.\(index + 1)", [.text(stars(count)), .close(1000)],
                    ["text \(count) \(stars(min(count, 8)))", "close 1000"]),
                WebSocketRow("1.2.\(index + 1)", [.binary(count), .close(1000)], ["binary \(count)", "close 1000"]),
            ]
        } + [
            WebSocketRow("9: 4 MiB", [.binary(4 << 20), .close(1000)], ["binary 4194304", "close 1000"]),
            WebSocketRow("9: above the limit", [.binary((4 << 20) + 1)], ["close 1009"]),
            WebSocketRow(
                "9: fragments above the limit", [.binary(4 << 20).unfinished, .more("*")], ["close 1009"]),
            WebSocketRow("5.2 a: long form for 125 bytes", [.text(stars(125)).length(in: 2)], ["close 1002"]),
            WebSocketRow("5.2 b: longest form for 65535 bytes", [.text(stars(65535)).length(in: 8)], ["close 1002"]),
            WebSocketRow("5.1: a masked frame", [.text("hi").masked], ["close 1002"]),
        ]

    private static let pings = [
        WebSocketRow("2.1", [.ping(""), .close(1000)], ["pong 0 ", "close 1000"]),
        WebSocketRow("2.2", [.ping("Hello"), .close(1000)], ["pong 5 Hello", "close 1000"]),
        WebSocketRow("2.4", [.ping(stars(125)), .close(1000)], ["pong 125 ********", "close 1000"]),
        WebSocketRow("2.5", [.ping(stars(126))], ["close 1002"]),
        WebSocketRow("2.7", [.pong(""), .close(1000)], ["close 1000"]),
        WebSocketRow("2.8", [.pong("unsolicited"), .close(1000)], ["close 1000"]),
        WebSocketRow("2.9", [.pong("unsolicited"), .ping("p"), .close(1000)], ["pong 1 p", "close 1000"]),
        WebSocketRow(
            "2.10", (0..<10).map { .ping("p\($0)") } + [.close(1000)],
            (0..<10).map { "pong 2 p\($0)" } + ["close 1000"]),
    ]

    private static let reserved =
        [
            WebSocketRow("3.1", [.text("hi").reserved(1)], ["close 1002"]),
            WebSocketRow(
                "3.2", [.text("hi"), .text("hi").reserved(2), .ping("")], ["text 2 hi", "close 1002"]),
            WebSocketRow("3.5", [.binary(1).reserved(5)], ["close 1002"]),
            WebSocketRow("3.6", [.ping("").reserved(6)], ["close 1002"]),
            WebSocketRow("3.7", [.close(1000).reserved(7)], ["close 1002"]),
        ]
        + ([3, 4, 5, 6, 7] + [11, 12, 13, 14, 15]).map { opcode in
            WebSocketRow(
                "4: opcode \(opcode)", [.text("hi"), Frame(opcode: opcode, payload: [1])], ["text 2 hi", "close 1002"])
        }

    private static let fragments = [
        WebSocketRow("5.1", [.ping("a").unfinished, .more("b")], ["close 1002"]),
        WebSocketRow("5.2", [.pong("a").unfinished, .more("b")], ["close 1002"]),
        WebSocketRow(
            "5.3", [.text("fragment").unfinished, .more("2"), .close(1000)], ["text 9 fragment", "close 1000"]),
        WebSocketRow(
            "5.6", [.text("fragment").unfinished, .ping("p"), .more("2"), .close(1000)],
            ["pong 1 p", "text 9 fragment", "close 1000"]),
        WebSocketRow("5.9", [.more("none"), .text("hi")], ["close 1002"]),
        WebSocketRow("5.12", [.more("none").unfinished, .text("hi")], ["close 1002"]),
        WebSocketRow(
            "5.15",
            [.text("a").unfinished, .more("b"), .more("c").unfinished, .text("d")], ["text 2 ab", "close 1002"]),
        WebSocketRow("5.18", [.text("a").unfinished, .text("b")], ["close 1002"]),
        WebSocketRow(
            "5.19",
            [.text("1").unfinished, .more("2").unfinished, .ping("p"), .more("3").unfinished]
                + [.more("4").unfinished, .ping("q"), .more("5"), .close(1000)],
            ["pong 1 p", "pong 1 q", "text 5 12345", "close 1000"]),
        WebSocketRow("6.1.1", [.text(""), .close(1000)], ["text 0 ", "close 1000"]),
        WebSocketRow(
            "6.1.2", [.text("").unfinished, .more("").unfinished, .more(""), .close(1000)],
            ["text 0 ", "close 1000"]),
        WebSocketRow(
            "6.1.3", [.text("").unfinished, .more("mid").unfinished, .more(""), .close(1000)],
            ["text 3 mid", "close 1000"]),
        WebSocketRow(
            "10.1.1", [.text(stars(1300)).unfinished, .more(stars(1300)).unfinished, .more("!"), .close(1000)],
            ["text 2601 ********", "close 1000"]),
    ]

    private static let closes = [
        WebSocketRow("7.1.1", [.text("hi"), .close(1000)], ["text 2 hi", "close 1000"]),
        WebSocketRow("7.1.2", [.close(1000), .close(1000)], ["close 1000"]),
        WebSocketRow("7.1.3", [.close(1000), .ping("")], ["close 1000"]),
        WebSocketRow("7.1.4", [.close(1000), .text("late")], ["close 1000"]),
        WebSocketRow("7.1.5", [.text("a").unfinished, .close(1000), .more("b")], ["close 1000"]),
        WebSocketRow("7.3.1", [.emptyClose], ["close"]),
        WebSocketRow("7.3.2", [Frame(opcode: 8, payload: [3])], ["close 1002"]),
        WebSocketRow("7.3.4", [.close(1000, "Bye")], ["close 1000 Bye"]),
        WebSocketRow("7.3.5", [.close(1000, stars(123))], ["close 1000 " + stars(123)]),
        WebSocketRow("7.3.6", [.close(1000, stars(124))], ["close 1002"]),
        WebSocketRow("7.5.1", [Frame(opcode: 8, payload: [3, 0xE8, 0xCE, 0xBA, 0xED, 0xA0])], ["close 1007"]),
        WebSocketRow("7.5: half a character", [Frame(opcode: 8, payload: [3, 0xE8, 0xCE])], ["close 1007"]),
    ]

    private static let closeCodes =
        ([1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1014, 3000, 3999, 4000, 4999] as [UInt16]).map {
            WebSocketRow("7.7: \($0)", [.close($0)], ["close \($0)"])
        }
        + ([0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] as [UInt16]).map {
            WebSocketRow("7.9: \($0)", [.close($0)], ["close 1002"])
        }

    /// Texts, each also in fragments of one byte.
    private static let texts =
        valid.enumerated().flatMap { index, bytes in
            let start = String(decoding: bytes, as: UTF8.self).prefix(8)
            return [([Frame.text(bytes: bytes)], "whole"), (split(bytes), "bytes")].map { frames, way in
                WebSocketRow(
                    "6 valid \(index), \(way)", frames + [.close(1000)],
                    ["text \(bytes.count) \(start)", "close 1000"])
            }
        }
        + invalid.enumerated().flatMap { index, bytes in
            [([Frame.text(bytes: bytes)], "whole"), (split(bytes), "bytes")].map { frames, way in
                WebSocketRow("6 invalid \(index), \(way)", frames + [.close(1000)], ["close 1007"])
            }
        }

    private static func split(_ bytes: [UInt8]) -> [Frame] {
        bytes.indices.map { index in
            Frame(opcode: index == 0 ? 1 : 0, payload: [bytes[index]], isFinal: index == bytes.count - 1)
        }
    }

    /// 6.2, 6.5, 6.6, 6.7, 6.9, 6.11 and 6.22: the first and last characters of each length, and noncharacters.
    private static let valid: [[UInt8]] = [
        Array("Hello-µ@ßöäüàá-UTF-8!!".utf8), Array("κόσμε".utf8), [0x00], [0x7F], [0xC2, 0x80], [0xDF, 0xBF],
        [0xE0, 0xA0, 0x80], [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBD], [0xEF, 0xBF, 0xBF],
        [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF], [0xEF, 0xBF, 0xBE], [0xF0, 0x9F, 0xBF, 0xBE],
    ]

    /// 6.3, 6.4, 6.6, 6.8, 6.10 and 6.12 to 6.21: lone, missing and impossible bytes, overlong forms, surrogates.
    private static let invalid: [[UInt8]] = [
        [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5, 0xED, 0xA0, 0x80, 0x65, 0x64],
        [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5, 0xF4, 0x90, 0x80, 0x80, 0x65],
        [0x80], [0xBF], [0x80, 0xBF, 0x80], [0xC0], [0xC2], [0xC2, 0x20], [0xDF], [0xE0, 0x80], [0xE1, 0x80],
        [0xEF, 0xBF], [0xF0, 0x90, 0x80], [0xF4, 0x8F, 0xBF], [0xFE], [0xFF], [0xC0, 0xAF], [0xC1, 0xBF],
        [0xE0, 0x80, 0xAF], [0xE0, 0x9F, 0xBF], [0xF0, 0x80, 0x80, 0xAF], [0xF0, 0x8F, 0xBF, 0xBF],
        [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
        [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
        [0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80], [0xCE, 0xBA, 0xE1],
    ]
}
