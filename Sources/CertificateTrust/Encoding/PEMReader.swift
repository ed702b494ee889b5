import PinctlBasics

/// One encapsulated object in a PEM text (RFC 7468).
struct PEMBlock {
    /// The label, such as `CERTIFICATE` or `PUBLIC KEY`.
    let label: String
    /// The line of the BEGIN boundary, from 1.
    let line: Int
    /// The index among all blocks of the text, from 0.
    let index: Int
}

/// The reason why a PEM text, or one block in it, can't be read.
package enum PEMError: Error, Hashable, Sendable {
    /// The text has no block, or more consecutive text without one than the limit.
    case noBlock
    /// The text contains a zero byte, at `offset`.
    case binary(offset: Int)
    /// The block has no END line.
    case unterminated(label: String)
    /// The BEGIN line of a block is missing or damaged.
    case noBegin
    /// The label of the END line differs from that of the BEGIN line.
    case labelMismatch(begin: String, end: String)
    /// A character isn't Base64, in `line`.
    case invalidBase64(line: Int)
    /// A BEGIN or END line has something else before or after it, in `line`.
    case missingLineBreak(line: Int)
    /// The block is encrypted in OpenSSL's old format (RFC 1421 fields).
    case encrypted
    /// The object is larger than the limit.
    case tooLarge(limit: Int)
}

extension PEMError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noBlock: "contains neither PEM nor DER: provide a certificate, a certificate request or a key"
        case .binary(let offset): "contains binary data at byte \(offset) that is not DER: provide PEM or DER"
        case .unterminated(let label): "has no -----END \(label)----- line: the file may be cut off"
        case .noBegin: "has an END line without a readable BEGIN line: fix the block"
        case .labelMismatch(let begin, let end): "begins as \(begin) but ends as \(end): fix the block"
        case .invalidBase64(let line): "has invalid base64 in line \(line): fix the block or download it again"
        case .missingLineBreak(let line):
            "has a BEGIN or END line that is not on a line of its own, in line \(line), which many programs skip: "
                + "insert a line break there"
        case .encrypted: "is encrypted: decrypt it first (openssl pkey -in FILE -pubout prints the public key)"
        case .tooLarge(let limit): "is larger than the limit of \(limit) bytes for one object: check the file"
        }
    }
}

/// A PEM reader for chunks of any size, in constant memory. It skips text between blocks and outputs the DER of each
/// block at its end. After a malformed block, it outputs an error and continues with the next block.
struct PEMReader {
    /// A function that receives a block and its DER, or a block that couldn't be read.
    typealias Output = (PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void

    /// The size limit of one object. OpenSSL's own limit for a Certificate message is 100 KiB.
    static let objectLimit = 1 << 20
    /// The limit on consecutive text without a block, such as the output of `openssl x509 -text`.
    static let textLimit = 1 << 20
    private static let boundaryLimit = 128

    private enum State {
        /// Outside a block. A line that starts with `-` is collected until it is known whether it is a boundary.
        case text
        /// In the Base64 of a block.
        case body
        /// In a malformed block, whose END line is being searched for.
        case broken
    }

    private var state = State.text
    /// The error of a malformed block.
    private var breakage = PEMError.noBlock
    private var block = PEMBlock(label: "", line: 0, index: 0)
    private var count = 0
    private var line = 1
    private var offset = 0
    private var textLength = 0
    private var isLineStart = true
    /// Whether the current line began with a hyphen and may be a boundary.
    private var isBoundary = false
    /// The part of that line in earlier chunks.
    private var boundary: [UInt8] = []
    private let limit: Int
    private var decoder: Base64Decoder

    /// Creates a reader for objects of up to `limit` bytes.
    init(limit: Int = PEMReader.objectLimit) {
        self.limit = limit
        decoder = Base64Decoder(limit: limit)
    }

    /// Overwrites the storage of the decoded blocks.
    mutating func wipe() { decoder.wipe() }

    /// Reads the next chunk. Throws an error that ends the whole text.
    mutating func feed(_ chunk: Span<UInt8>, _ output: Output) throws(PEMError) {
        var index = 0
        while index < chunk.count {
            if isBoundary {
                index = readBoundary(chunk, from: index, output)
                continue
            }
            if state == .body {
                index = decoder.decode(chunk, from: index, line: &line, isLineStart: &isLineStart)
            } else if state == .broken, !isLineStart {
                while index < chunk.count, chunk[index] != 0x0A { index += 1 }
            }
            guard index < chunk.count else { break }
            let byte = chunk[index]
            if isLineStart, byte == UInt8(ascii: "-") {
                isBoundary = true
                continue
            }
            index += 1
            if state == .body {
                if byte == UInt8(ascii: "-"), decoder.holdsOnlyProc {
                    breakBlock(.encrypted)
                } else {
                    let isEndMissed = byte == UInt8(ascii: "-") && !decoder.isFull
                    breakBlock(
                        isEndMissed
                            ? .missingLineBreak(line: line)
                            : decoder.isFull ? .tooLarge(limit: limit) : .invalidBase64(line: line))
                }
                continue
            }
            if state == .text {
                guard byte != 0 else { throw .binary(offset: offset + index - 1) }
                textLength += 1
                guard textLength <= Self.textLimit else { throw .noBlock }
                // A byte order mark may precede a boundary on its line.
                if byte >= 0x80 { continue }
            }
            if byte == 0x0A {
                line += 1
                isLineStart = true
            } else if byte != 0x0D {
                isLineStart = false
            }
        }
        offset += chunk.count
    }

    /// Ends the text. Throws if it contained no block.
    mutating func finish(_ output: Output) throws(PEMError) {
        let line = boundary
        if isBoundary { endBoundary(line.span, output) }
        if state != .text { emitUnterminated(output) }
        guard count > 0 else { throw .noBlock }
    }

    /// Continues reading a line that may be a boundary. Returns the line's end, or the index at which it is too long to
    /// be a boundary.
    private mutating func readBoundary(_ chunk: Span<UInt8>, from start: Int, _ output: Output) -> Int {
        let limit = min(chunk.count, start + Self.boundaryLimit - boundary.count)
        let end = min(chunk.firstIndex(of: 0x0A, from: start), limit)
        if end == chunk.count {
            boundary += Array(copying: chunk.extracting(start..<end))
            return end
        }
        isBoundary = false
        if chunk[end] != 0x0A {
            isLineStart = false
            let head = boundary + Array(copying: chunk.extracting(start..<end))
            loseBoundary(head.span)
        } else if boundary.isEmpty {
            endBoundary(chunk.extracting(start..<end), output)
        } else {
            let whole = boundary + Array(copying: chunk.extracting(start..<end))
            endBoundary(whole.span, output)
        }
        boundary = []
        return end
    }

    /// Handles a complete line that began with `-`.
    private mutating func endBoundary(_ text: Span<UInt8>, _ output: Output) {
        if let joint = text.joint {
            // The block before it is whole. OpenSSL would read it too, and skip the one that begins here.
            endBoundary(text.extracting(first: joint), output)
            block = PEMBlock(label: "", line: line, index: count)
            return breakBlock(.missingLineBreak(line: line))
        }
        switch text.boundary {
        case .begin(let label):
            if state != .text { emitUnterminated(output) }
            block = PEMBlock(label: text.ascii(label, or: block.label), line: line, index: count)
            decoder.reset()
            state = .body
        case .end(let label):
            if state == .text {
                block = PEMBlock(label: text.ascii(label, or: block.label), line: line, index: count)
                emit(.failure(.noBegin), output)
            } else if state == .broken {
                emit(.failure(breakage), output)
            } else if !text.extracting(label).equals(block.label) {
                emit(.failure(.labelMismatch(begin: block.label, end: text.ascii(label, or: ""))), output)
            } else {
                emit(decoder.finish() ? .success(()) : .failure(.invalidBase64(line: line)), output)
            }
        case nil: loseBoundary(text)
        }
    }

    /// Handles a line that began with `-` but isn't a boundary. A damaged BEGIN line must not be skipped as text.
    private mutating func loseBoundary(_ text: Span<UInt8>) {
        if state == .body {
            breakBlock(.invalidBase64(line: line))
        } else if state == .text, text.count > 11, text.extracting(first: 11).equals("-----BEGIN ") {
            block = PEMBlock(label: "", line: line, index: count)
            breakBlock(text.hasBase64AfterLabel ? .missingLineBreak(line: line) : .noBegin)
        }
    }

    private mutating func breakBlock(_ error: PEMError) {
        state = .broken
        breakage = error
        isLineStart = false
    }

    /// Outputs a block without an END line. An earlier error in the block takes precedence.
    private mutating func emitUnterminated(_ output: Output) {
        emit(.failure(state == .broken ? breakage : .unterminated(label: block.label)), output)
    }

    private mutating func emit(_ result: Result<Void, PEMError>, _ output: Output) {
        output(block, result, decoder.storage.span.extracting(first: decoder.count))
        count += 1
        textLength = 0
        state = .text
    }
}

/// A line that begins or ends a block, with the position of its label.
private enum PEMBoundary {
    case begin(Range<Int>)
    case end(Range<Int>)
}

extension Span<UInt8> {
    /// The boundary in a line, if any. White space after it is ignored. The label is printable ASCII and doesn't
    /// contain two consecutive hyphens (RFC 7468, section 3), because otherwise a key written on one line would look
    /// like a label.
    fileprivate var boundary: PEMBoundary? {
        var end = count
        while end > 0, self[end - 1] == 0x0D || self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        end -= 5
        guard end > 9, extracting(end..<end + 5).equals("-----") else { return nil }
        let isEnd = extracting(first: 9).equals("-----END ")
        let start = isEnd ? 9 : 11
        guard end > start, isEnd || extracting(first: 11).equals("-----BEGIN ") else { return nil }
        for index in start..<end {
            let isSecondHyphen = self[index] == UInt8(ascii: "-") && self[index - 1] == UInt8(ascii: "-")
            guard (0x20...0x7E).contains(self[index]), !isSecondHyphen else { return nil }
        }
        return isEnd ? .end(start..<end) : .begin(start..<end)
    }

    /// The position of a BEGIN line that follows an END line without a line break, if there is one.
    fileprivate var joint: Int? {
        guard count > 24, extracting(first: 9).equals("-----END ") else { return nil }
        return (14..<count - 10).first { extracting($0..<$0 + 11).equals("-----BEGIN ") }
    }

    /// Whether a line that starts like a BEGIN line has the five hyphens after its label, and then something else.
    fileprivate var hasBase64AfterLabel: Bool {
        guard count > 17 else { return false }
        return (12..<count - 5).contains { extracting($0..<$0 + 5).equals("-----") }
    }

    /// Whether these are the bytes of `text`.
    fileprivate func equals(_ text: String) -> Bool { elementsEqual(text.utf8.span) }

    /// Returns a part as text. If it equals `known`, returns `known`, which avoids a new string.
    fileprivate func ascii(_ range: Range<Int>, or known: String) -> String {
        let part = extracting(range)
        return part.equals(known) ? known : String(decoding: Array(copying: part), as: UTF8.self)
    }
}
