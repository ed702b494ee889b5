import OpenSSLBridge

/// Bytes that are overwritten when the last reference to them goes. Whoever copies them answers for the copy.
package final class SecretBytes: Sendable {
    private let storage: Locked<[UInt8]>

    /// Takes the bytes over: an array that nobody else holds.
    package init(_ bytes: consuming [UInt8]) {
        storage = Locked(bytes)
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
