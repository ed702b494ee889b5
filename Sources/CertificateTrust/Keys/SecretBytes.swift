import OpenSSLBridge

/// Bytes that are overwritten when the last reference to them goes. Whoever copies them answers for the copy.
package final class SecretBytes: Sendable {
    private let storage: Locked<[UInt8]>

    /// Takes the bytes over and leaves an empty array. Nobody else may hold them: what is shared is copied when it is
    /// overwritten, and stays.
    package init(taking bytes: inout [UInt8]) {
        var own: [UInt8] = []
        swap(&own, &bytes)
        storage = Locked([])
        storage.withLock { swap(&$0, &own) }
    }

    /// Copies the bytes.
    package convenience init(_ bytes: some Collection<UInt8>) {
        // Another array would be shared, and one that grows leaves what it was behind.
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        copy.append(contentsOf: bytes)
        self.init(taking: &copy)
    }

    deinit { storage.withLock { wipe(&$0) } }

    /// Calls `body` with the bytes, which it must not keep.
    package func withBytes<Result, Failure: Error>(
        _ body: ([UInt8]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withLock { bytes throws(Failure) in try body(bytes) }
    }
}

extension SecretBytes: Equatable {
    package static func == (left: SecretBytes, right: SecretBytes) -> Bool {
        left === right || left.withBytes { bytes in right.withBytes { $0 == bytes } }
    }
}

extension SecretBytes: CustomStringConvertible, CustomReflectable {
    /// The type alone.
    package var description: String { "SecretBytes" }

    /// Shows nothing.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
