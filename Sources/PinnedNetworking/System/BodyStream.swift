import CertificateTrust
import Foundation
import PinctlBasics

/// A stream that provides the body of a request. Only one transfer reads it, with one call at a time.
///
/// Unchecked, because `InputStream` isn't Sendable. It is opened, read and closed while the lock is held. As on Apple's
/// systems, the caller must not use it any more. Unsafe, because the only read method takes a pointer.
final class BodyStream: @unchecked Sendable {
    let stream: InputStream
    private let isOpen = Locked(false)

    init(_ stream: InputStream) { self.stream = stream }

    deinit { if !isUntouched { stream.close() } }

    /// Whether nothing has been read from the stream.
    var isUntouched: Bool { isOpen.withLock { !$0 } }

    /// Returns the next bytes, up to this number, or none at the end. Blocks as long as the stream does.
    func read(_ limit: Int) throws(RequestBodyError) -> [UInt8] {
        try isOpen.withLock { isOpen throws(RequestBodyError) in
            if !isOpen {
                // A stream that was already read would provide only the rest.
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
