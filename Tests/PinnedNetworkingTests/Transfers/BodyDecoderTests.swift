import PinctlHTTPMessages
import PinctlTestPKI
import PinctlZlib
import Testing

@testable import PinnedNetworking

/// HA14: the decoding of bodies, without a connection.
@Suite(.timeLimit(.minutes(10)))
struct BodyDecoderTests {
    /// The outcome for a body.
    enum Outcome: Equatable, Sendable {
        case text(String)
        /// No coding is removed.
        case asReceived
        case malformed(String)
        case truncated
        case trailingBytes
        case tooManyCodings

        init(_ error: ContentCodingError) {
            self =
                switch error {
                case .malformed(_, let reason): .malformed(reason)
                case .truncated: .truncated
                case .trailingBytes: .trailingBytes
                case .tooManyCodings: .tooManyCodings
                case .expansion, .failed: .malformed("\(error)")
                }
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let encoding: String
        let body: [UInt8]
        let outcome: Outcome

        init(_ description: String, _ encoding: String, _ body: [UInt8], _ outcome: Outcome) {
            (testDescription, self.encoding, self.body, self.outcome) = (description, encoding, body, outcome)
        }
    }

    private static let text = "line 1\n line 2\n  line 3\n"
    /// The body of curl's test 220.
    private static let curl220: [UInt8] =
        [0x1F, 0x8B, 8, 8, 0x79, 0x9E, 0xAB, 0x41, 0, 3, 0x6C, 0x61, 0x6C, 0x61, 0x6C, 0x61, 0, 0xCB, 0xC9, 0xCC, 0x4B]
        + [0x55, 0x30, 0xE4, 0x52, 0xC8, 1, 0xD1, 0x46, 0x5C, 0x0A, 0x10, 0x86, 0x31, 0x17, 0, 0x0A, 2, 0x71, 0x60]
        + [0x18, 0, 0, 0]

    private static let rows = Result { try curlRows() + pythonRows() + ownRows() }

    /// Rows with the inputs of curl's tests, by their number, and its outcomes.
    private static func curlRows() throws -> [Row] {
        let bytes = Array(text.utf8)
        let (zlib, raw) = (try TestCompression.zlib(bytes), try TestCompression.raw(bytes))
        // An extra field, a name and a comment of some hundred bytes each.
        let long = [UInt8](repeating: 0x5F, count: 700)
        let header: [UInt8] = [0x1F, 0x8B, 8, 0x1C, 0, 0, 0, 0, 0, 3, 0xBC, 2] + long + long + [0] + long + [0]
        return [
            Row("220, with a name in the header", "GZIP", curl220, .text(text)),
            Row("221, without the first three bytes", "gzip", Array(curl220.dropFirst(3)), .malformed(wrongHeader)),
            Row("222", "deflate", zlib, .text(text)),
            Row("223, without the first three bytes", "deflate", Array(zlib.dropFirst(3)), .malformed(wrongLengths)),
            Row("224, with a long header", "gzip", try TestCompression.gzip(bytes, header: header), .text(text)),
            Row("230", "deflate, identity, gzip", try TestCompression.gzip(zlib), .text(text)),
            Row("232, raw deflate", "deflate", raw, .text(text)),
            Row("314", "br", bytes, .asReceived),
            Row("328", "none", bytes, .asReceived),
            Row("387, too many", Array(repeating: "gzip", count: 27).joined(separator: ","), bytes, .tooManyCodings),
            Row("396", "zstd", bytes, .asReceived),
        ]
    }

    /// Rows from the tests of urllib3 and of Python's gzip.
    private static func pythonRows() throws -> [Row] {
        let foo = try TestCompression.gzip(Array("foo".utf8))
        return [
            Row("members", "gzip", foo + foo + foo, .text("foofoofoo")),
            Row("x-gzip", "x-gzip", foo, .text("foo")),
            Row("an empty member", "gzip", try TestCompression.gzip([]) + foo, .text("foo")),
            // Accepted by urllib3, and the zeros by gzip. Bytes without a checksum aren't dropped here.
            Row("text after the members", "gzip", foo + foo + Array("foo".utf8), .trailingBytes),
            Row("zeros after a member", "gzip", foo + [0, 0], .trailingBytes),
            Row("a method", "gzip", [0x1F, 0x8B, 7] + foo.dropFirst(3), .malformed("unknown compression method")),
            Row("a flag", "gzip", [0x1F, 0x8B, 8, 0x80] + foo.dropFirst(4), .malformed("unknown header flags set")),
        ]
    }

    private static func ownRows() throws -> [Row] {
        let bytes = Array(text.utf8)
        let (zlib, raw, gzip) = (
            try TestCompression.zlib(bytes), try TestCompression.raw(bytes), try TestCompression.gzip(bytes)
        )
        func changed(_ body: [UInt8], _ place: Int) -> [UInt8] {
            var body = body
            body[body.count - place] ^= 1
            return body
        }
        let five = try (0..<5).reduce(bytes) { body, _ in try TestCompression.gzip(body) }
        return [
            Row("identity only", "identity", bytes, .asReceived),
            Row("empty members", ", gzip,,", gzip, .text(text)),
            Row("blanks", " \tgzip\t ", gzip, .text(text)),
            Row("an unknown coding below", "br, gzip", gzip, .asReceived),
            Row("a name that is only similar", "gzip2", gzip, .asReceived),
            Row("the Kelvin sign isn't a k", "\u{212A}gzip", gzip, .asReceived),
            Row("the most codings", "gzip,gzip,gzip,gzip,gzip", five, .text(text)),
            Row("one more", "gzip,gzip,gzip,gzip,gzip,gzip", try TestCompression.gzip(five), .tooManyCodings),
            Row("the wrong order", "gzip, deflate", try TestCompression.gzip(zlib), .malformed("invalid block type")),
            Row("the wrong CRC", "gzip", changed(gzip, 8), .malformed("incorrect data check")),
            Row("the wrong length", "gzip", changed(gzip, 4), .malformed("incorrect length check")),
            Row("the wrong Adler-32", "deflate", changed(zlib, 1), .malformed("incorrect data check")),
            Row("a byte after deflate", "deflate", zlib + [0], .trailingBytes),
            Row("a byte after raw deflate", "deflate", raw + [0], .trailingBytes),
            Row("a byte after an inner coding", "gzip, gzip", try TestCompression.gzip(gzip + [0]), .trailingBytes),
            Row("a truncated inner coding", "gzip, gzip", try TestCompression.gzip(gzip.dropLast()), .truncated),
            Row("an inner coding without a byte", "gzip, gzip", try TestCompression.gzip([]), .truncated),
            Row("one byte of deflate", "deflate", [0x78], .truncated),
            Row("a dictionary", "deflate", [0x78, 0xBB, 0, 0, 0, 1], .malformed("preset dictionary required")),
            Row("an empty body", "gzip", [], .text("")),
            Row("an empty body with two codings", "deflate, gzip", [], .text("")),
            Row("not compressed", "gzip", bytes, .malformed(wrongHeader)),
        ]
    }

    // The texts of zlib.
    private static let wrongHeader = "incorrect header check"
    private static let wrongLengths = "invalid stored block lengths"

    private func decoder(_ encoding: String, status: Int = 200) throws -> BodyDecoder? {
        let head = HTTPResponseHead(
            minorVersion: 1, statusCode: status, fields: [HTTPField(name: "content-encoding", value: encoding)],
            framing: .untilClose)
        return BodyDecoder(head, try #require(ZlibLibrary.system))
    }

    /// Decodes the parts of a body. Returns the bytes before an error, and the error.
    private func decode(_ decoder: BodyDecoder, _ parts: [[UInt8]]) -> ([UInt8], ContentCodingError?) {
        var decoder = decoder
        var bytes: [UInt8] = []
        do throws(ContentCodingError) {
            for part in parts {
                try decoder.receive(part[...])
                steps: while true {
                    switch try decoder.next() {
                    case .bytes(let part):
                        #expect(!part.isEmpty && part.count <= BodyDecoder.stepLimit)
                        bytes += part
                    case .working: break
                    case .starved: break steps
                    }
                }
                #expect(!decoder.hasWork)
            }
            try decoder.end()
            return (bytes, nil)
        } catch {
            return (bytes, error)
        }
    }

    private func outcome(_ encoding: String, _ parts: [[UInt8]]) throws -> Outcome {
        guard let decoder = try decoder(encoding) else { return .asReceived }
        let (bytes, error) = decode(decoder, parts.filter { !$0.isEmpty })
        return error.map { Outcome($0) } ?? .text(String(decoding: bytes, as: UTF8.self))
    }

    @Test("Bodies are decoded or rejected as by curl and Python's clients, and bytes without a checksum are rejected")
    func table() throws {
        for row in try Self.rows.get() {
            #expect(try outcome(row.encoding, [row.body]) == row.outcome, "\(row.testDescription)")
        }
    }

    @Test("The way a body is divided makes no difference")
    func division() throws {
        for row in try Self.rows.get() where row.body.count < 200 {
            #expect(try outcome(row.encoding, row.body.map { [$0] }) == row.outcome, "\(row.testDescription) by byte")
            for cut in 0..<row.body.count {
                let parts = [Array(row.body.prefix(cut)), Array(row.body.dropFirst(cut))]
                #expect(try outcome(row.encoding, parts) == row.outcome, "\(row.testDescription) at \(cut)")
            }
        }
    }

    @Test("A body that ends early is truncated, wherever it ends")
    func truncation() throws {
        let bytes = Array(Self.text.utf8)
        let (zlib, raw, gzip) = (
            try TestCompression.zlib(bytes), try TestCompression.raw(bytes), try TestCompression.gzip(bytes)
        )
        let both = try TestCompression.gzip(zlib)
        let rows = [("gzip", gzip), ("deflate", zlib), ("deflate", raw), ("deflate, gzip", both)]
        for (encoding, body) in rows {
            #expect(try outcome(encoding, [body]) == .text(Self.text))
            for count in 1..<body.count {
                #expect(try outcome(encoding, [Array(body.prefix(count))]) == .truncated, "\(encoding) \(count)")
            }
        }
        for count in 1..<gzip.count {
            #expect(try outcome("gzip", [gzip + gzip.prefix(count)]) == .truncated, "second member, \(count)")
        }
    }

    @Test("A flipped bit never lets other bytes through")
    func flippedBits() throws {
        let bytes = Array(Self.text.utf8)
        let decoder = try #require(try decoder("gzip"))
        let body = try TestCompression.gzip(bytes)
        var rejected = 0
        for bit in 0..<body.count * 8 {
            var flipped = body
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            let (decoded, error) = decode(decoder, [flipped])
            // A stream that becomes longer is one that ends early: its bytes were passed on before.
            if case .truncated = error { continue }
            // The time, the system and the like in the header aren't covered by the checksum.
            #expect(error == nil ? decoded == bytes : decoded.isEmpty, "bit \(bit)")
            rejected += error == nil ? 0 : 1
        }
        #expect(rejected > body.count * 4)
    }

    @Test("A part of an encoded body is passed on as received")
    func range() throws {
        #expect(try decoder("gzip", status: 206) == nil)
        #expect(try decoder("gzip", status: 203) != nil)
    }

    // MARK: Bombs

    @Test(
        "A gzip body has at most 1,000 members, and one more for each KiB of its content",
        arguments: [
            (0, 1_000, true), (0, 1_001 + 1, false), (0, 20_000, false), (1, 1_500, false), (512, 1_900, true),
            (512, 2_100, false), (1_024, 5_000, true), (65_536, 1_200, true),
        ])
    func members(size: Int, count: Int, isWhole: Bool) throws {
        // Content that is hardly compressed, so that the ratio isn't the limit.
        var generator = SeededGenerator(seed: 37)
        let member = try TestCompression.gzip((0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) })
        let decoder = try #require(try decoder("gzip"))
        let (bytes, error) = decode(decoder, [member.repeated(count)])
        if isWhole {
            #expect(error == nil && bytes.count == size * count)
        } else {
            #expect(error.map { "\($0)".contains("too many members") } == true)
        }
        // The same in an inner layer, which has other limits, ends too.
        guard size == 0, !isWhole else { return }
        let twice = try #require(try self.decoder("gzip, gzip"))
        #expect(decode(twice, [try TestCompression.gzip(member.repeated(count))]).1 != nil)
    }

    @Test("A bomb ends after 32 MiB, in one coding or in several")
    func bombs() throws {
        let zeros = try TestCompression.gzip([UInt8](repeating: 0, count: 64 << 20))
        // 10 GiB of zeros. Twice encoded they are a few kilobytes.
        let members = zeros.repeated(160)
        let rows = [("gzip", members), ("gzip, gzip", try TestCompression.gzip(members))]
        for (encoding, body) in rows {
            let parts = stride(from: 0, to: body.count, by: 65_536).map { Array(body[$0...].prefix(65_536)) }
            let (bytes, error) = decode(try #require(try decoder(encoding)), parts)
            #expect(error == .expansion(limit: 200), "\(encoding)")
            #expect(bytes.count <= BodyDecoder.allowance)
            #expect(bytes.count > BodyDecoder.allowance - BodyDecoder.stepLimit || encoding != "gzip")
        }
    }

    @Test("A body that expands by less than the limit is decoded, however large it is")
    func large() throws {
        var block = [UInt8](repeating: 0, count: 65_536)
        for index in 0..<500 { block[index] = UInt8.random(in: .min ... .max) }
        let body = block.repeated(520)
        #expect(body.count > BodyDecoder.allowance)
        let compressed = try TestCompression.gzip(body)
        #expect(body.count / compressed.count < BodyDecoder.ratio)
        let (bytes, error) = decode(try #require(try decoder("gzip")), [compressed])
        #expect(error == nil)
        #expect(bytes == body)
        let zeros = [UInt8](repeating: 0, count: BodyDecoder.allowance)
        let (most, none) = decode(try #require(try decoder("deflate")), [try TestCompression.zlib(zeros)])
        #expect(none == nil)
        #expect(most.count == zeros.count)
        let (_, excess) = decode(try #require(try decoder("deflate")), [try TestCompression.zlib(zeros + [0])])
        #expect(excess == .expansion(limit: 200))
    }

    @Test("Blocks without content are decoded in steps of 1 KiB, and aren't multiplied by other codings")
    func emptyBlocks() throws {
        // Four blocks with fixed codes and nothing but their ends (RFC 1951, section 3.2.6), in 40 bits.
        let blocks: [UInt8] = [0x02, 0x08, 0x20, 0x80, 0x00]
        var plain = try #require(try decoder("deflate"))
        try plain.receive(blocks.repeated(64 * 1024 / 5)[...])
        var count = 0
        while case .working = try plain.next() { count += 1 }
        #expect(count == 64)
        #expect(throws: ContentCodingError.truncated(.deflate)) { try plain.end() }
        let inner = try TestCompression.gzip(blocks.repeated(200_000))
        for (encoding, body) in [("deflate, gzip", inner), ("deflate, gzip, gzip", try TestCompression.gzip(inner))] {
            let (bytes, error) = decode(try #require(try decoder(encoding)), [body])
            #expect(error == .expansion(limit: 20), "\(encoding)")
            #expect(bytes == [])
        }
        // What is hardly larger than what was received may have several codings.
        let noise = (0..<300_000).map { _ in UInt8.random(in: .min ... .max) }
        let twice = try TestCompression.gzip(try TestCompression.gzip(noise))
        let (bytes, error) = decode(try #require(try decoder("gzip, gzip")), [twice])
        #expect(error == nil)
        #expect(bytes == noise)
    }

    @Test("Members without content are steps without bytes")
    func emptyMembers() throws {
        let member = try TestCompression.gzip([])
        var decoder = try #require(try decoder("gzip"))
        try decoder.receive(member.repeated(1_000)[...])
        var count = 0
        steps: while true {
            switch try decoder.next() {
            case .bytes: Issue.record("bytes")
            case .working: count += 1
            case .starved: break steps
            }
        }
        #expect(count == 1_000)
        try decoder.end()
    }
}

/// The system's zlib.
@Suite struct ZlibTests {
    @Test("A library of another major version, or with another z_stream, is refused")
    func mismatch() throws {
        let library = try #require(ZlibLibrary.system)
        #expect(throws: ZlibError.mismatch) { try InflateStream(.gzip, library, version: "2.0") }
        #expect(throws: ZlibError.mismatch) { try InflateStream(.gzip, library, size: 111) }
        #expect(throws: Never.self) { try InflateStream(.gzip, library) }
    }

    @Test("A library that is missing or has other functions isn't loaded", arguments: ["libmissing.so.9", "libm.so.6"])
    func missing(name: String) {
        #expect(ZlibLibrary(name) == nil)
    }

    @Test("A step has no more output than its limit, and a stream can be used again")
    func steps() throws {
        let stream = try InflateStream(.zlib, try #require(ZlibLibrary.system))
        let bytes = [UInt8](repeating: 7, count: 1_000)
        let body = try TestCompression.zlib(bytes)
        var rest = body[...]
        var output: [UInt8] = []
        var isEnd = false
        while !isEnd {
            let step = try stream.step(rest, limit: 64)
            #expect(step.output.count <= 64 && (step.output.count == 64 || step.isEnd))
            rest = rest.dropFirst(step.consumed)
            output += step.output
            isEnd = step.isEnd
        }
        #expect(output == bytes)
        #expect(rest.isEmpty)
        try stream.reset()
        #expect(try stream.step(body[...], limit: 2_000).output == bytes)
    }
}

extension [UInt8] {
    /// The bytes as often as `count`.
    func repeated(_ count: Int) -> [UInt8] {
        var all: [UInt8] = []
        all.reserveCapacity(self.count * count)
        for _ in 0..<count { all += self }
        return all
    }
}
