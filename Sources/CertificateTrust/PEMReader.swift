/// One encapsulated object of a PEM text (RFC 7468).
struct PEMBlock {
    /// `CERTIFICATE`, `PUBLIC KEY`, …
    let label: String
    /// Line of the BEGIN boundary, from 1.
    let line: Int
    /// Place among all blocks of the text, from 0.
    let index: Int
}

/// Why a PEM text, or one block of it, cannot be read.
package enum PEMError: Error, Hashable, Sendable {
    /// No block in the text, or none in `limit` bytes of it.
    case noBlock
    /// Bytes that no text has; `offset` of the first.
    case binary(offset: Int)
    /// A block without its END line.
    case unterminated(label: String)
    /// An END line with another label than the BEGIN line.
    case labelMismatch(begin: String, end: String)
    /// A character that is not base64, at `line`.
    case invalidBase64(line: Int)
    /// The block is encrypted in the old OpenSSL way (RFC 1421 fields).
    case encrypted
    /// Over the most that is read of one object.
    case tooLarge(limit: Int)
}

extension PEMError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noBlock: "holds neither PEM nor DER: give a certificate, a certificate request or a key"
        case .binary(let offset): "holds binary data at byte \(offset) that is not DER: give PEM or DER"
        case .unterminated(let label): "has no -----END \(label)----- line: the file may be cut off"
        case .labelMismatch(let begin, let end): "begins as \(begin) and ends as \(end): repair the block"
        case .invalidBase64(let line): "is not base64 in line \(line): repair or fetch the block again"
        case .encrypted: "is encrypted: decrypt it first (openssl pkey -in FILE -pubout gives the public key)"
        case .tooLarge(let limit): "is larger than \(limit) bytes, the most that is read of one object"
        }
    }
}

/// Reads PEM from chunks of any size, in constant memory: text between blocks is passed over, a block's DER is handed
/// out as it ends, a broken block is told of and the next one read.
struct PEMReader {
    /// What comes out: a block and its DER, or a block that could not be read.
    typealias Output = (PEMBlock, Result<Void, PEMError>, Span<UInt8>) -> Void

    /// One object is at most this large; OpenSSL's own limit for a Certificate message is 100 KiB.
    static let objectLimit = 1 << 20
    /// Text in a row without a block, such as `openssl x509 -text` writes, is at most this long.
    static let textLimit = 1 << 20
    private static let boundaryLimit = 128

    private enum State {
        /// Outside a block; a line that starts with `-` is kept until it is a boundary or not.
        case text
        /// In a block's base64.
        case body
        /// In a block that is broken already: its END line is looked for.
        case broken(PEMError)
    }

    private var state = State.text
    private var block = PEMBlock(label: "", line: 0, index: 0)
    private var count = 0
    private var line = 1
    private var offset = 0
    private var textLength = 0
    private var isLineStart = true
    /// The line that may be a boundary, as far as it is read; nil when this line cannot be one.
    private var boundary: [UInt8]?
    private var decoder = Base64Decoder(limit: PEMReader.objectLimit)

    /// Takes the next chunk. Throws for what ends the reading as a whole.
    mutating func feed(_ chunk: Span<UInt8>, _ output: Output) throws(PEMError) {
        var index = 0
        while index < chunk.count {
            if boundary == nil, case .body = state {
                index = decoder.decodeLines(chunk, from: index, line: &line, isLineStart: &isLineStart)
                guard index < chunk.count else { break }
            }
            let byte = chunk[index]
            index += 1
            if byte == 0x0A {
                if boundary != nil { endBoundary(output) }
                line += 1
                isLineStart = true
                continue
            }
            if boundary != nil {
                boundary?.append(byte)
                if let length = boundary?.count, length > Self.boundaryLimit { loseBoundary() }
                continue
            }
            switch state {
            case .text:
                guard byte != 0 else { throw .binary(offset: offset + index - 1) }
                textLength += 1
                guard textLength <= Self.textLimit else { throw .noBlock }
                if isLineStart, byte == UInt8(ascii: "-") { boundary = [byte] }
                // A byte order mark does not make a line.
                if byte < 0x80, byte != 0x0D { isLineStart = false }
            case .body:
                if isLineStart, byte == UInt8(ascii: "-") {
                    boundary = [byte]
                } else if byte == UInt8(ascii: "-"), decoder.holdsOnlyProc {
                    state = .broken(.encrypted)
                } else if !decoder.take(byte) {
                    state = .broken(decoder.isFull ? .tooLarge(limit: Self.objectLimit) : .invalidBase64(line: line))
                }
                if byte != 0x0D { isLineStart = false }
            case .broken:
                if isLineStart, byte == UInt8(ascii: "-") { boundary = [byte] }
                if byte != 0x0D { isLineStart = false }
            }
        }
        offset += chunk.count
    }

    /// Ends the text. Throws when it held no block.
    mutating func finish(_ output: Output) throws(PEMError) {
        if boundary != nil { endBoundary(output) }
        if case .text = state {} else { emit(.failure(.unterminated(label: block.label)), output) }
        guard count > 0 else { throw .noBlock }
    }

    private mutating func loseBoundary() {
        boundary = nil
        isLineStart = false
        if case .body = state { state = .broken(.invalidBase64(line: line)) }
    }

    /// A line that began with `-` is whole.
    private mutating func endBoundary(_ output: Output) {
        guard var text = boundary else { return }
        boundary = nil
        while let last = text.last, [0x0D, 0x20, 0x09].contains(last) { text.removeLast() }
        if let label = Self.label(in: text, after: "-----BEGIN ") {
            if case .text = state {} else { emit(.failure(.unterminated(label: block.label)), output) }
            block = PEMBlock(label: label, line: line, index: count)
            decoder.reset()
            state = .body
        } else if let label = Self.label(in: text, after: "-----END ") {
            switch state {
            case .text: break
            case .broken(let error): emit(.failure(error), output)
            case .body where label != block.label:
                emit(.failure(.labelMismatch(begin: block.label, end: label)), output)
            case .body: emit(decoder.finish() ? .success(()) : .failure(.invalidBase64(line: line)), output)
            }
        } else if case .body = state {
            state = .broken(.invalidBase64(line: line))
        }
    }

    private mutating func emit(_ result: Result<Void, PEMError>, _ output: Output) {
        output(block, result, decoder.storage.span.extracting(first: decoder.count))
        count += 1
        textLength = 0
        state = .text
    }

    /// The label between `prefix` and the closing dashes, printable ASCII only.
    private static func label(in text: [UInt8], after prefix: String) -> String? {
        let head = Array(prefix.utf8)
        let tail = Array("-----".utf8)
        guard text.count > head.count + tail.count, text.starts(with: head), text.suffix(tail.count).elementsEqual(tail)
        else { return nil }
        let label = text[head.count..<(text.count - tail.count)]
        guard label.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        return String(decoding: label, as: UTF8.self)
    }
}
