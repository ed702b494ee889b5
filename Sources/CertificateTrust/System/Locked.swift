import Glibc

/// A value behind a `pthread_mutex_t`, which the thread sanitizer understands. It takes `Mutex` of Synchronization,
/// which is not instrumented, for a race as soon as two threads meet there.
///
/// Unchecked: the value is touched in ``withLock(_:)`` only.
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

    /// Calls `body` with the value, one caller at a time. It must not come back here.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}

extension Locked: CustomReflectable {
    /// Shows nothing: `dump` would read past the lock, and the value may be a secret.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
