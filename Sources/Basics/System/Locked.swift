import LibC

/// A value protected by a `pthread_mutex_t`, which the thread sanitizer understands. `Mutex` from Synchronization isn't
/// instrumented, so the sanitizer reports a race as soon as two threads use one.
///
/// The class is `@unchecked Sendable` because only ``withLock(_:)`` accesses the value.
@safe package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private var value: Value

    package init(_ value: Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        self.value = value
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Calls `body` with the value, one caller at a time. `body` must not call this method again.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}

extension Locked: CustomReflectable {
    /// An empty mirror: `dump` would read without the lock, and the value may be a secret.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
