import PinctlLibC

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
