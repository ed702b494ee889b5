public import PinctlLibC

/// A value protected by a `pthread_mutex_t`, which the thread sanitizer understands. `Mutex` from Synchronization isn't
/// instrumented, so the sanitizer reports a race as soon as two threads use one.
///
/// The class is `@unchecked Sendable` because only ``withLock(_:)`` accesses the value. It is `public`, although no
/// product has this module, because the compiler inlines no `package` method into other modules.
@safe public final class Locked<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// Not a property of type `Value`: Swift would check each access for overlaps, which the mutex rules out.
    @usableFromInline let value: UnsafeMutablePointer<Value>

    public init(_ value: Value) {
        unsafe mutex = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe self.value = .allocate(capacity: 1)
        unsafe self.value.initialize(to: value)
    }

    deinit {
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    /// Calls `body` with the value, one caller at a time. `body` must not call this method again.
    ///
    /// It is inlinable because a generic call over the boundary of a module copies the value.
    @inlinable public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&value.pointee)
    }
}

extension Locked: CustomReflectable {
    /// An empty mirror: `dump` would read without the lock, and the value may be a secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
