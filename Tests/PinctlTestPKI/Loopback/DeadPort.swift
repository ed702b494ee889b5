import Glibc

/// A port on the loopback interface that doesn't answer. It is reserved until this object is deinitialized.
package final class DeadPort: Sendable {
    package enum Kind: Sendable {
        /// Connections are refused.
        case refusing
        /// Connections stay pending forever, because the queue is full and nothing accepts from it.
        case silent
    }

    package let port: UInt16
    private let descriptors: [Int32]

    package init(_ kind: Kind) throws(TestPKIError) {
        // A queue of length 0 holds one connection, and later ones aren't answered.
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
