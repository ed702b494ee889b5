import Glibc

/// A file descriptor, closed when dropped.
struct Descriptor: ~Copyable, Sendable {
    let number: CInt

    /// Takes over what a call returned; a negative number throws its `errno`.
    init(owning number: CInt) throws(SystemError) {
        guard number >= 0 else { throw SystemError.last }
        self.number = number
    }

    deinit { close(number) }
}
