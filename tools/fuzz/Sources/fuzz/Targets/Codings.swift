@testable import PinctlZlib
@testable import PinnedNetworking

extension FuzzTarget {
    /// A response's body, whole and in pieces: a line with the value of Content-Encoding, and the encoded bytes.
    static let codings = FuzzTarget(name: "codings") { bytes in
        let lines = bytes.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
        guard lines.count == 2, let library = ZlibLibrary.system else { return }
        let codings = ContentCoding.applied(String(decoding: lines[0].prefix(64 * 1024), as: UTF8.self))
        guard BodyDecoder(codings, library) != nil else { return }
        let body = Array(lines[1])
        let whole = DecodingOutcome(codings, [body], library)
        precondition(
            whole.agrees(with: DecodingOutcome(codings, pieces(of: body), library)), "how the bytes were cut mattered")
    }
}

/// The outcome of decoding a body. The bytes themselves would take too much memory.
private struct DecodingOutcome {
    private var count = 0
    private var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    private var error: ContentCodingError?

    init(_ codings: [ContentCoding], _ pieces: [[UInt8]], _ library: ZlibLibrary) {
        guard var decoder = BodyDecoder(codings, library) else { preconditionFailure("a body without a decoder") }
        var received = 0
        do throws(ContentCodingError) {
            for piece in pieces where !piece.isEmpty {
                received += piece.count
                try decoder.receive(piece[...])
                steps: while true {
                    switch try decoder.next() {
                    case .bytes(let part): take(part)
                    case .working: continue
                    case .starved: break steps
                    }
                }
                precondition(!decoder.hasWork)
                precondition(count <= max(BodyDecoder.allowance, BodyDecoder.ratio * received), "a bomb")
            }
            try decoder.end()
        } catch {
            self.error = error
            precondition(error.code == .cannotDecodeRawData || error.code == .dataLengthExceedsMaximum)
        }
    }

    private mutating func take(_ part: ArraySlice<UInt8>) {
        precondition(!part.isEmpty && part.count <= BodyDecoder.stepLimit)
        count += part.count
        for byte in part { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    /// Returns whether two decodings of a body came to the same. Of a body that fails, the pieces can give more bytes
    /// than the whole, so that an inner coding fails before the outer one, and a bomb can be one before the rest of it
    /// arrives.
    func agrees(with pieces: DecodingOutcome) -> Bool {
        if case .expansion = pieces.error { return true }
        guard error == nil else { return pieces.error != nil }
        return pieces.error == nil && count == pieces.count && hash == pieces.hash
    }
}
