import Glibc

/// A port of loopback where nobody answers, held until this is dropped.
package final class DeadPort: Sendable {
    package enum Kind: Sendable {
        /// Connecting is refused.
        case refusing
        /// Connecting takes for ever: the queue is full, and nobody accepts.
        case silent
    }

    package let port: UInt16
    private let descriptors: [Int32]

    package init(_ kind: Kind) throws(TestPKIError) {
        // A queue of length 0 holds one connection; the ones behind it are not answered.
        let (listener, port) = try listenOnLoopback(queue: kind == .silent ? 0 : nil)
        var descriptors = [listener]
        if kind == .silent {
            for index in 0..<4 { descriptors.append(try connectOnLoopback(port: port, waits: index == 0)) }
        }
        self.port = port
        self.descriptors = descriptors
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
