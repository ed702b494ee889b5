import PinctlLibC

/// A non-blocking TCP socket, closed when dropped.
struct Socket: ~Copyable, Sendable {
    private let descriptor: Descriptor

    /// The descriptor's number, for ``Poller``.
    var number: CInt { descriptor.number }

    /// The result of an attempt to read.
    enum Input: Sendable {
        /// This many bytes were read, at least one.
        case bytes(Int)
        /// Nothing has arrived yet.
        case wouldBlock
        /// The peer closed its sending direction.
        case end
        case failed(SystemError)
    }

    /// The result of an attempt to write.
    enum Output: Sendable {
        /// The kernel took this many bytes.
        case bytes(Int)
        /// The kernel takes no bytes now.
        case wouldBlock
        case failed(SystemError)
    }

    /// Creates a socket for the address's family (`socket`).
    init(for address: SocketAddress) throws(SystemError) {
        #if canImport(Darwin)
        let descriptor = try Descriptor(owning: socket(address.family, streamSocket, 0))
        // A program started in between inherits the socket.
        let isSet =
            fcntl(descriptor.number, F_SETFD, FD_CLOEXEC) == 0 && fcntl(descriptor.number, F_SETFL, O_NONBLOCK) == 0
        guard isSet else { throw SystemError.last }
        self.descriptor = descriptor
        #else
        let kind = streamSocket | CInt(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        descriptor = try Descriptor(owning: socket(address.family, kind, 0))
        #endif
        // Requests are written as a whole, so waiting for more data would only delay them.
        var on: CInt = 1
        unsafe setsockopt(number, CInt(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<CInt>.size))
    }

    /// Starts to connect (`connect`). When it is done, the socket becomes ready to write, and ``pendingError()`` has
    /// the result.
    borrowing func startConnecting(to address: SocketAddress) throws(SystemError) {
        let result = unsafe address.withSocketAddress { unsafe connect(number, $0, $1) }
        // An interrupted connect continues by itself.
        guard result == 0 || errno == EINPROGRESS || errno == EINTR else { throw SystemError.last }
    }

    /// Returns the error with which connecting failed (`SO_ERROR`), or nil if it succeeded.
    borrowing func pendingError() -> SystemError? {
        var code: CInt = 0
        var size = socklen_t(MemoryLayout<CInt>.size)
        guard unsafe getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return SystemError.last }
        return code == 0 ? nil : SystemError(code: code)
    }

    /// Reads the available bytes into the front of `buffer` (`recv`).
    borrowing func read(into buffer: inout [UInt8]) -> Input {
        var count = 0
        unsafe buffer.withUnsafeMutableBytes { buffer in
            repeat {
                count = unsafe recv(number, buffer.baseAddress, buffer.count, 0)
            } while count < 0 && errno == EINTR
        }
        guard count < 0 else { return count == 0 ? .end : .bytes(count) }
        return errno == EAGAIN ? .wouldBlock : .failed(SystemError.last)
    }

    /// Writes bytes from the front of `bytes` (`send` with `MSG_NOSIGNAL`).
    borrowing func write(_ bytes: Span<UInt8>) -> Output {
        var count = 0
        unsafe bytes.withUnsafeBytes { buffer in
            repeat {
                count = unsafe send(number, buffer.baseAddress, buffer.count, CInt(MSG_NOSIGNAL))
            } while count < 0 && errno == EINTR
        }
        guard count < 0 else { return .bytes(count) }
        return errno == EAGAIN ? .wouldBlock : .failed(SystemError.last)
    }

    /// Closes the sending direction (`shutdown` with `SHUT_WR`).
    borrowing func endWriting() {
        shutdown(number, CInt(SHUT_WR))
    }
}

/// A file descriptor, closed when dropped.
struct Descriptor: ~Copyable, Sendable {
    let number: CInt

    /// Takes ownership of a descriptor that a call returned. For a negative number, throws the call's `errno`.
    init(owning number: CInt) throws(SystemError) {
        guard number >= 0 else { throw SystemError.last }
        self.number = number
    }

    deinit { close(number) }
}
