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
}

extension ConnectRace {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}

extension Connection {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
}
