import Glibc

/// A thread that must be joined. It blocks SIGPIPE, so that a disconnected peer is an error of `write` and the process
/// keeps its own disposition.
struct PosixThread: Sendable {
    private let identifier: pthread_t

    init(_ body: @escaping @Sendable () -> Void) throws(TestPKIError) {
        let box = unsafe Unmanaged.passRetained(Body(run: body))
        var identifier = pthread_t()
        let error = unsafe pthread_create(&identifier, nil, runBody, box.toOpaque())
        guard error == 0 else {
            unsafe box.release()
            throw .system("pthread_create", error)
        }
        self.identifier = identifier
    }

    func join() { pthread_join(identifier, nil) }
}

private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) { self.run = run }
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    var blocked = sigset_t()
    unsafe sigemptyset(&blocked)
    unsafe sigaddset(&blocked, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &blocked, nil)
    if let argument = unsafe argument { unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
    return nil
}

/// Returns the duration in milliseconds for `poll`.
func milliseconds(_ duration: Duration) -> Int32 {
    let (seconds, attoseconds) = duration.components
    return Int32(clamping: seconds * 1000 + attoseconds / 1_000_000_000_000_000)
}
