import PinctlLibC

/// A non-blocking stream socket, closed when dropped.
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

    /// Takes a socket that another call made, and makes it non-blocking and close-on-exec.
    init(adopting number: CInt) throws(SystemError) {
        guard number >= 0 else { throw SystemError.last }
        guard fcntl(number, F_SETFD, FD_CLOEXEC) == 0, fcntl(number, F_SETFL, O_NONBLOCK) == 0 else {
            throw SystemError.closing(number)
        }
        descriptor = try Descriptor(owning: number)
    }

    /// Listens at a path for local connections (`AF_UNIX`). `mode` is that of the file, which must not exist yet.
    init(listeningAt path: String, mode: mode_t) throws(SystemError) {
        let number = socket(AF_UNIX, streamSocket, 0)
        guard number >= 0 else { throw SystemError.last }
        // The file gets the socket's mode without the bits of the mask, so nobody else can connect before it is set.
        let result = unsafe Self.withLocalAddress(path) { address, size in
            // mutant local-mode: 0o777 for `mode` by LocalServerTests
            guard fchmod(number, mode) == 0 else { return -1 }
            let mask = umask(0)
            defer { umask(mask) }
            return unsafe bind(number, address, size) == 0 ? listen(number, SOMAXCONN) : -1
        }
        if result == nil { errno = ENAMETOOLONG }
        guard result == 0 else { throw SystemError.closing(number) }
        try self.init(adopting: number)
    }

    /// Removes the file of a socket that no process listens at any more. Throws if one does.
    static func removeUnused(at path: String) throws(SystemError) {
        var status = stat()
        guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return }
        let client = try Socket(adopting: socket(AF_UNIX, streamSocket, 0))
        let isUsed = unsafe withLocalAddress(path) { unsafe connect(client.number, $0, $1) } == 0 || errno == EAGAIN
        // mutant local-stale: false by LocalServerTests
        guard !isUsed else { throw SystemError(code: EADDRINUSE) }
        unsafe unlink(path)
    }

    /// The identity of the file at a path, or `nil` if there is none.
    static func fileIdentity(at path: String) -> [UInt64]? {
        var status = stat()
        guard unsafe lstat(path, &status) == 0 else { return nil }
        return [UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino)]
    }

    /// Removes a file if it is still the one with this identity.
    static func remove(_ path: String, identity: [UInt64]) {
        // mutant local-own-file: true by LocalServerTests/removal
        guard fileIdentity(at: path) == identity else { return }
        unsafe unlink(path)
    }

    /// Returns the next connection of a listening socket, or `nil` if there is none.
    borrowing func nextConnection() throws(SystemError) -> Socket? {
        while true {
            let accepted = accept(number, nil, nil)
            if accepted >= 0 { return try Socket(adopting: accepted) }
            switch errno {
            case EAGAIN: return nil
            case EINTR, ECONNABORTED: continue
            default: throw SystemError.last
            }
        }
    }

    /// Calls `body` with a path as an address. Returns `nil` if the path is too long for one, or has a NUL.
    private static func withLocalAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> CInt) -> CInt?
    {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        // The last byte is a NUL.
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path), !bytes.contains(0) else { return nil }
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
        return unsafe withUnsafeBytes(of: address) { bytes in
            // Never nil, since the structure has a size.
            let pointer = unsafe bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: sockaddr.self)
            return unsafe body(pointer, socklen_t(bytes.count))
        }
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
