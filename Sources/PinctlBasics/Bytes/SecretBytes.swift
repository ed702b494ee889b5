/// An array of bytes that is overwritten when its last reference is released. Callers that copy the bytes are
/// responsible for the copy.
package final class SecretBytes: Sendable {
    private let storage: Locked<[UInt8]>

    /// Takes over the bytes and leaves an empty array. There must be no other reference to them: overwriting a shared
    /// array would copy it first and leave the original in memory.
    package init(taking bytes: inout [UInt8]) {
        var own: [UInt8] = []
        swap(&own, &bytes)
        storage = Locked([])
        storage.withLock { swap(&$0, &own) }
    }

    /// Copies the bytes.
    package convenience init(_ bytes: some Collection<UInt8>) {
        // Another array would be shared, and growing an array leaves its old storage in memory.
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        copy.append(contentsOf: bytes)
        self.init(taking: &copy)
    }

    deinit { storage.withLock { wipe(&$0) } }

    /// Calls `body` with the bytes. `body` must not keep them.
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
    /// The name of the type, without the bytes.
    package var description: String { "SecretBytes" }

    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
