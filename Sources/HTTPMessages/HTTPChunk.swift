/// The chunks of a request's body (RFC 9112, section 7.1).
package enum HTTPChunk {
    /// Returns one chunk with these bytes. For no bytes it returns an empty array, since an empty chunk would end the
    /// body.
    package static func encoded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        let size = String(bytes.count, radix: 16)
        var chunk: [UInt8] = []
        chunk.reserveCapacity(size.utf8.count + bytes.count + 4)
        chunk += size.utf8
        chunk += "\r\n".utf8
        chunk += bytes
        chunk += "\r\n".utf8
        return chunk
    }

    /// The chunk that ends the body, without trailers.
    package static let last = Array("0\r\n\r\n".utf8)
}
