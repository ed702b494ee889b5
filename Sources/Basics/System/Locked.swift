import LibC

/// A value protected by a `pthread_mutex_t`, which the thread sanitizer understands. `Mutex` from Synchronization isn't
/// instrumented, so the sanitizer reports a race as soon as two threads use one.
///
/// The class is `@unchecked Sendable` because only ``withLock(_:)`` accesses the value.
@safe package final class Locked<Value: Sendable>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var value: Value

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
    ///
    /// It is inlinable because a generic call over the boundary of a module copies the value.
    @inlinable package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        lock()
        defer { unlock() }
        return try body(&value)
    }

    @usableFromInline func lock() { unsafe pthread_mutex_lock(mutex) }

    @usableFromInline func unlock() { unsafe pthread_mutex_unlock(mutex) }
}

extension Locked: CustomReflectable {
    /// An empty mirror: `dump` would read without the lock, and the value may be a secret.
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
