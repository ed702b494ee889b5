extension Array where Element == UInt8 {
    /// A copy of the bytes of a span.
    package init(copying bytes: Span<UInt8>) {
        self = [UInt8](capacity: bytes.count) { output in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }
}
