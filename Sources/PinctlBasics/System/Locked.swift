public import PinctlLibC

/// A value protected by a `pthread_mutex_t`, which the thread sanitizer understands. `Mutex` from Synchronization isn't
/// instrumented, so the sanitizer reports a race as soon as two threads use one.
///
/// The class is `@unchecked Sendable` because only ``withLock(_:)`` accesses the value. It is `public`, although no
/// product has this module, because the compiler inlines no `package` method into other modules.
@safe public final class Locked<Value: Sendable>: @unchecked Sendable {
    /// The memory of the value. It isn't a property of the class, because Swift would check each access for overlaps,
    /// which the mutex rules out.
    @unsafe @usableFromInline struct Storage {
        /// The first member, so that it has the address of the storage.
        @usableFromInline var mutex = unsafe pthread_mutex_t()
        @usableFromInline var value: Value

        @inlinable init(_ value: consuming Value) { unsafe self.value = value }
    }

    @usableFromInline let storage: UnsafeMutablePointer<Storage>

    @inlinable public init(_ value: consuming Value) {
        unsafe storage = .allocate(capacity: 1)
        unsafe storage.initialize(to: Storage(value))
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe storage.deinitialize(count: 1)
        unsafe storage.deallocate()
    }

    @inlinable var mutex: UnsafeMutablePointer<pthread_mutex_t> {
        unsafe UnsafeMutableRawPointer(storage).assumingMemoryBound(to: pthread_mutex_t.self)
    }

    /// Calls `body` with the value, one caller at a time. `body` must not call this method again.
    ///
    /// It is inlinable because a generic call over the boundary of a module copies the value.
    @inlinable public func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try unsafe body(&storage.pointee.value)
    }
}

extension Locked: CustomReflectable {
    /// An empty mirror: `dump` would read without the lock, and the value may be a secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
