import Glibc

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

    var thread = pthread_t()
    let code = unsafe pthread_create(
        &thread, nil,
        { argument in
            if let argument = unsafe argument {
                unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
            }
            return nil
        }, box.toOpaque())
    guard code == 0 else {
        unsafe box.release()
        throw SystemError(code: code)
    }
    pthread_detach(thread)
}

/// Returns an identifier of the current thread that is unique among live threads (`pthread_self`).
func currentThread() -> UInt { UInt(pthread_self()) }

/// Lets another thread run first, if one is waiting for the processor (`sched_yield`).
func yieldThread() { sched_yield() }
