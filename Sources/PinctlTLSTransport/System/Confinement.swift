// Executors of the actors that run on the event loop. The executor's reference and a job are declared `unsafe`, since
// they don't keep alive what they point to. A job lives until it has run, and each actor holds its loop.

extension EventLoop {
    /// Runs a job of an actor that is bound to this loop.
    func run(_ job: UnownedJob) {
        unsafe job.runSynchronously(on: asUnownedSerialExecutor())
    }
}

extension TransportActor {
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe EventLoop.shared.asUnownedSerialExecutor()
    }

    /// Calls `body` in a closure that the event loop calls outside any task. Ends the process on any other thread.
    ///
    /// The cast drops the actor from the function's type, which has no effect on the call, as in
    /// `MainActor.assumeIsolated`.
    package nonisolated static func assumeIsolated(_ body: @TransportActor () -> Void) {
        precondition(EventLoop.shared.isCurrent, "only on the event loop")
        // A debug build has the name of the file in the check for an escaped closure, which would be the path.
        #sourceLocation(file:"assumeIsolated",line:24)
        withoutActuallyEscaping(body) { body in unsafe unsafeBitCast(body, to: (() -> Void).self)() }
        #sourceLocation()
    }

    /// Calls `body` on the event loop. It needs no task. See ``assumeIsolated(_:)`` for the cast.
    package nonisolated static func execute(_ body: @escaping @TransportActor @Sendable () -> Void) {
        EventLoop.shared.execute(unsafe unsafeBitCast(body, to: (@Sendable () -> Void).self))
    }

    /// Calls `body` at once if the event loop has nothing to do, and otherwise soon. `body` must be short and is never
    /// the program's own code.
    package nonisolated static func executeNow(_ body: @escaping @TransportActor @Sendable () -> Void) {
        EventLoop.shared.executeNow(unsafe unsafeBitCast(body, to: (@Sendable () -> Void).self))
    }
}

extension ConnectRace {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}
