import PinctlHTTPMessages
import PinctlZlib

/// The decoding of a response's body (RFC 9110, section 8.4). A state machine over zlib: it has no socket, and each
/// step has bounded output.
///
/// Pass parts of the body to ``receive(_:)`` and call ``next()`` until it returns `starved`. At the end of the body
/// call ``end()``. Bytes from the last step before an error are never returned.
struct BodyDecoder {
    enum Event {
        /// Decoded bytes, at least one.
        case bytes(ArraySlice<UInt8>)
        /// A step without output for the program. Others can have their turn before the next.
        case working
        /// More of the body is needed.
        case starved
    }

    /// The most codings of one body. curl has the same limit since CVE-2022-32206, and urllib3 since CVE-2025-66418.
    static let codingLimit = 5
    /// The most output of one step in bytes, as much as is read from a connection at a time.
    static let stepLimit = 64 * 1024
    /// The most input of one step in bytes. Blocks without output take zlib longest, a quarter of a millisecond for
    /// 1 KiB.
    static let stepInputLimit = 1024
    /// The number of bytes that any body may expand to, 32 MiB as in aiohttp (`DEFAULT_MAX_DECOMPRESS_SIZE`).
    static let allowance = 32 << 20
    /// The most bytes that a larger body may expand to for each received byte. Apache allows the same ratio
    /// (`DeflateInflateRatioLimit`). Deflate reaches 1,032, and text seldom more than 20.
    static let ratio = 200
    /// The number of bytes that an inner layer of codings may have, and the most for each received byte. Compressed
    /// data hardly shrinks when it is compressed again, so more than this was made to keep the client busy.
    static let innerAllowance = 64 * 1024
    static let innerRatio = 20
    /// The most members of a gzip body, and the bytes of output that allow one more each. A member costs 15 µs even if
    /// it is empty. `bgzip` writes members of 64 KiB, and logs are joined from files that aren't empty.
    static let memberAllowance = 1_000
    static let memberSize = 1024

    private let library: ZlibLibrary
    /// The layers, in the order in which they are removed.
    private var layers: [Layer]
    private var received = 0

    /// Creates a decoder. Returns `nil` if the body is passed on as received: it has no coding that the client knows,
    /// or it is a part of an encoded body (206), which can't be decoded.
    init?(_ head: HTTPResponseHead, _ library: ZlibLibrary) {
        guard head.statusCode != 206 else { return nil }
        self.init(ContentCoding.applied(head.fields.value(named: "Content-Encoding")), library)
    }

    /// Creates a decoder for codings in the order in which they were applied. Returns `nil` without any.
    init?(_ codings: [ContentCoding], _ library: ZlibLibrary) {
        guard !codings.isEmpty else { return nil }
        self.library = library
        layers = codings.reversed().map { Layer(coding: $0) }
    }

    /// Whether ``next()`` can continue without more of the body.
    var hasWork: Bool { layers.contains { $0.hasWork } }

    /// Adds the next part of the body, at least one byte.
    mutating func receive(_ part: ArraySlice<UInt8>) throws(ContentCodingError) {
        // mutant body-codings: true by BodyDecoderTests ContentCodingTests
        guard layers.count <= Self.codingLimit else {
            throw .tooManyCodings(layers.count, limit: Self.codingLimit)
        }
        received += part.count
        layers[0].receive(part)
    }

    /// Does the next step: one call of zlib, in the last layer that has work, so that no layer collects more than the
    /// output of one step. Returns at most `limit` bytes.
    mutating func next(limit: Int = stepLimit) throws(ContentCodingError) -> Event {
        guard let index = layers.lastIndex(where: \.hasWork) else { return .starved }
        let isInner = index < layers.count - 1
        let output = try layers[index].step(library, limit: isInner ? Self.stepLimit : limit)
        let ratio = isInner ? Self.innerRatio : Self.ratio
        let (product, overflows) = received.multipliedReportingOverflow(by: ratio)
        let most = max(isInner ? Self.innerAllowance : Self.allowance, overflows ? .max : product)
        // mutant body-expansion: true by BodyDecoderTests
        guard layers[index].count <= most else { throw .expansion(limit: ratio) }
        if output.isEmpty { return .working }
        guard isInner else { return .bytes(output[...]) }
        layers[index + 1].receive(output[...])
        return .working
    }

    /// Checks that the data was complete. An empty body needs no compressed data: responses to HEAD have none, and
    /// servers send empty bodies with the field.
    func end() throws(ContentCodingError) {
        guard received > 0 else { return }
        // mutant body-truncated: false by BodyDecoderTests ContentCodingTests
        for layer in layers where !layer.isComplete { throw .truncated(layer.coding) }
    }
}

extension BodyDecoder {
    /// One coding of a body.
    private struct Layer {
        let coding: ContentCoding
        private(set) var isComplete = false
        /// The number of bytes of output.
        private(set) var count = 0
        private var stream: InflateStream?
        private var memberCount = 0
        private var input: ArraySlice<UInt8> = []
        /// Whether zlib may have output that the last step had no room for.
        private var hasOutput = false

        init(coding: ContentCoding) { self.coding = coding }

        var hasWork: Bool {
            hasOutput || !input.isEmpty && (coding == .gzip || stream != nil || input.count >= Self.headerSize)
        }

        mutating func receive(_ part: ArraySlice<UInt8>) {
            input = input.isEmpty ? part : input + part
        }

        mutating func step(_ library: ZlibLibrary, limit: Int) throws(ContentCodingError) -> [UInt8] {
            // A gzip file is a series of members (RFC 1952, section 2.2), each with its own checksum.
            // mutant body-trailing: false for 2 by BodyDecoderTests ContentCodingTests
            if isComplete, coding != .gzip || input.first != Self.gzipStart { throw .trailingBytes(coding) }
            do throws(ZlibError) {
                let stream = if let stream { stream } else { try InflateStream(format, library) }
                self.stream = stream
                if isComplete {
                    memberCount += 1
                    // mutant body-members: true by BodyDecoderTests/members
                    guard memberCount <= BodyDecoder.memberAllowance + count / BodyDecoder.memberSize else {
                        throw .malformed("too many members")
                    }
                    try stream.reset()
                }
                isComplete = false
                let step = try stream.step(input.prefix(BodyDecoder.stepInputLimit), limit: limit)
                // zlib always makes progress with input. Without it, this would never end.
                if !input.isEmpty, step.consumed == 0, step.output.isEmpty {
                    throw .malformed("no progress")
                }
                input = input.dropFirst(step.consumed)
                hasOutput = step.output.count == limit && !step.isEnd
                isComplete = step.isEnd
                count += step.output.count
                return step.output
            } catch {
                switch error {
                case .malformed(let reason): throw .malformed(coding, reason)
                case .dictionaryRequired: throw .malformed(coding, "preset dictionary required")
                case .outOfMemory: throw .failed("out of memory")
                case .mismatch: throw .failed("incompatible version")
                case .unexpected(let code): throw .failed("return value \(code)")
                }
            }
        }

        /// The first byte of a member of a gzip file.
        private static let gzipStart: UInt8 = 0x1F
        /// The size of the header that distinguishes zlib's format from raw deflate.
        private static let headerSize = 2

        /// The format of the stream that starts with the input.
        ///
        /// `deflate` is zlib's format (RFC 9110, section 8.4.1.2), but some servers send raw deflate, which browsers
        /// and curl accept too. A header of zlib (RFC 1950, section 2.2) can't be mistaken: as raw deflate it would be
        /// a stored block with padding that encoders leave at zero.
        private var format: InflateStream.Format {
            guard coding == .deflate else { return .gzip }
            let header = input.prefix(Self.headerSize)
            guard let first = header.first, let second = header.dropFirst().first else { return .zlib }
            let isHeader = first & 0x0F == 8 && first >> 4 <= 7 && (UInt16(first) << 8 | UInt16(second)) % 31 == 0
            return isHeader ? .zlib : .raw
        }
    }
}
