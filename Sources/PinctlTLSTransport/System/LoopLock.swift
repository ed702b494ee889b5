import PinctlLibC

/// The right to do the event loop's work, which one thread has at a time (`pthread_mutex_t`).
///
/// The class is `@unchecked Sendable` because a mutex can be used from any thread.
@safe final class LoopLock: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Waits until no other thread has it.
    func take() { unsafe pthread_mutex_lock(mutex) }

    /// Returns false if a thread has it.
    func takeIfFree() -> Bool { unsafe pthread_mutex_trylock(mutex) == 0 }

    func drop() { unsafe pthread_mutex_unlock(mutex) }
}
