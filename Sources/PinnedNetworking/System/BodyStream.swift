import CertificateTrust
import Foundation

/// A stream that brings a request's body. Only one transfer reads it, in one call at a time.
///
/// Unchecked: `InputStream` is not Sendable. It is opened, read and closed behind the lock; whoever gave it away must
/// leave it alone, as on Apple's systems. Unsafe: reading takes a pointer, and there is no other way.
final class BodyStream: @unchecked Sendable {
    let stream: InputStream
    private let isOpen = Locked(false)

    init(_ stream: InputStream) { self.stream = stream }

    deinit { if !isUntouched { stream.close() } }

    /// Whether nothing was read of it.
    var isUntouched: Bool { isOpen.withLock { !$0 } }

    /// The next bytes, at most this many; none at the end. Blocks as long as the stream does.
    func read(_ limit: Int) throws(RequestBodyError) -> [UInt8] {
        try isOpen.withLock { isOpen throws(RequestBodyError) in
            if !isOpen {
                // One that was read before brings only its rest.
                guard stream.streamStatus == .notOpen else { throw .used }
                stream.open()
                isOpen = true
            }
            var bytes = [UInt8](repeating: 0, count: limit)
            let count = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
                guard let start = buffer.baseAddress else { return 0 }
                return unsafe stream.read(start, maxLength: buffer.count)
            }
            guard count >= 0, count <= limit else { throw .stream }
            bytes.removeLast(limit - count)
            return bytes
        }
    }
}

extension BodyStream: Hashable {
    static func == (left: BodyStream, right: BodyStream) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
