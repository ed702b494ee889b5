import PinctlLibC
import Synchronization

#if os(Linux)
import CPinctlLinux
#endif

/// Runs `body` on a detached thread that receives no signals (`pthread_create`).
///
/// A detached thread never keeps the process from exiting.
package func startThread(_ body: @escaping @Sendable () -> Void) throws(SystemError) {
    final class Box {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let box = unsafe Unmanaged.passRetained(Box(body))

    // A thread inherits the signal mask of the thread that starts it.
    var all = sigset_t()
    var previous = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }

    // Darwin's numbers of threads are pointers, and Glibc's are integers.
    #if canImport(Darwin)
    var thread: pthread_t?
    #else
    var thread = pthread_t()
    #endif
    let code = unsafe pthread_create(
        &thread, nil,
        { argument in
            // Optional in Glibc alone.
            if let argument = unsafe argument as UnsafeMutableRawPointer? {
                unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
            }
            return nil
        }, box.toOpaque())
    guard code == 0 else {
        unsafe box.release()
        throw SystemError(code: code)
    }
    #if canImport(Darwin)
    if let thread = unsafe thread { unsafe pthread_detach(thread) }
    #else
    pthread_detach(thread)
    #endif
}

/// Throws if the process can't have `count` threads at a time. Call it before there are any.
///
/// libdispatch, which runs Swift's tasks, doesn't report that: it tries again once a second, without end.
package func requireThreads(_ count: Int) throws(SystemError) {
    #if os(Linux)
    // Each thread reserves a stack. Glibc also reserves 64 MiB for the allocations of each, which would take the
    // stacks' space where the address space is limited.
    var limit = rlimit()
    if unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0, limit.rlim_cur != .max {
        _ = mallopt(M_ARENA_MAX, 1)
    }
    #endif
    // While it is locked, the threads wait, so that all exist at the same time.
    let gate = Mutex(())
    try gate.withLock { _ throws(SystemError) in
        for _ in 0..<count { try startThread { gate.withLock { _ in } } }
    }
}

/// Returns an identifier of the current thread that is unique among live threads (`pthread_self`).
func currentThread() -> UInt {
    #if canImport(Darwin)
    unsafe UInt(bitPattern: pthread_self())
    #else
    UInt(pthread_self())
    #endif
}
