import CertificateTrust
import Synchronization

/// One thread that waits for sockets and timers, and runs the actors that are bound to it.
///
/// It is a task executor too, for waits alone: see ``Connection``. Nobody else's code is to run here.
///
/// Every call is safe from any thread; what they hand over runs on the loop's thread, one thing at a time. The thread
/// starts with the first call and ends with the process, which it does not keep alive. Work is kept while it cannot be
/// started; ``start()`` says why.
final class EventLoop: SerialExecutor, TaskExecutor {
    /// The process's loop.
    static let shared = EventLoop()

    /// Names a watched socket.
    typealias Token = UInt64
    typealias Watcher = @Sendable (Token, Readiness) -> Void

    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct State {
        var work: [Work] = []
        var timers = TimerQueue()
        var watchers: [Token: (isBrief: Bool, call: Watcher)] = [:]
        var lastToken: Token = 0
        /// Whether the thread waits, or is about to, and has to be woken for new work.
        var isAsleep = false
        /// Nil before the start.
        var poller: SharedPoller?
    }

    /// A class, since an optional of what cannot be copied cannot be lent.
    private final class SharedPoller: Sendable {
        let poller: Poller
        init() throws(SystemError) { poller = try Poller() }
    }

    private let state = Locked(State())
    private let thread = Atomic<UInt>(0)

    /// Starts the thread, unless it runs; the next call tries again what failed.
    func start() throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            guard state.poller == nil else { return }
            let shared = try SharedPoller()
            try startThread { self.run(shared) }
            state.poller = shared
        }
    }

    // MARK: Executor

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        change { $0.work.append(.job(job)) }
    }

    /// For `assumeIsolated` in what the loop calls outside of any task.
    func isIsolatingCurrentContext() -> Bool? {
        thread.load(ordering: .relaxed) == currentThread()
    }

    // MARK: Work

    /// Calls `body` on the loop's thread.
    func execute(_ body: @escaping @Sendable () -> Void) {
        change { $0.work.append(.call(body)) }
    }

    /// Calls `body` on the loop's thread at `deadline`.
    func schedule(at deadline: ContinuousClock.Instant, _ body: @escaping @Sendable () -> Void) -> TimerQueue.Identifier
    {
        change { $0.timers.add(at: deadline, body) }
    }

    /// Forgets a timer. One that is due at this moment may still be called.
    func cancel(_ timer: TimerQueue.Identifier) {
        state.withLock { $0.timers.remove(timer) }
    }

    /// Calls `watcher` on the loop's thread whenever the socket becomes ready, until ``unwatch(_:)``. One for which
    /// little follows, like a connection that is made, is called ahead of those that have bytes to work through.
    func watch(_ socket: borrowing Socket, isBrief: Bool, _ watcher: @escaping Watcher) throws(SystemError) -> Token {
        let token = state.withLock { state in
            state.lastToken += 1
            state.watchers[state.lastToken] = (isBrief, watcher)
            return state.lastToken
        }
        do throws(SystemError) {
            try start()
            try state.withLock({ $0.poller })?.poller.add(socket, token: token)
        } catch {
            unwatch(token)
            throw error
        }
        return token
    }

    /// Gives a watched socket another watcher, for all that comes; it has to look for itself what is ready at this moment.
    func rewatch(_ token: Token, _ watcher: @escaping Watcher) {
        state.withLock { $0.watchers[token] = (false, watcher) }
    }

    /// Stops watching; closing the socket is up to its owner.
    func unwatch(_ token: Token) {
        _ = state.withLock { $0.watchers.removeValue(forKey: token) }
    }

    // MARK: Thread

    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, sleeper, isStarted) = state.withLock { state in
            let result = body(&state)
            defer { state.isAsleep = false }
            return (result, state.isAsleep ? state.poller : nil, state.poller != nil)
        }
        sleeper?.poller.wake()
        if !isStarted { try? start() }
        return result
    }

    /// Sockets that are ready wait in line, and what one turn of them leads to comes before the next turn: the next
    /// connection of whoever waited, and the round trip that it begins, does not wait for a bunch of handshakes. A turn
    /// is one socket where that takes long, and more where it takes little.
    private func run(_ shared: SharedPoller) {
        thread.store(currentThread(), ordering: .relaxed)
        var patience = Patience()
        var line = ReadyLine()
        var turn = Turn()
        while true {
            let now = ContinuousClock.now
            let work = takeWork(at: now)
            for item in work {
                switch item {
                case .job(let job): run(job)
                case .call(let body): body()
                }
            }
            guard work.isEmpty || turn.isLong(at: now) else { continue }
            turn.end(at: now)
            var events = shared.poller.wait(milliseconds: 0)
            if work.isEmpty, line.isEmpty, events.isEmpty { events = idle(shared, &patience) }
            let isAlone = line.isEmpty && events.count == 1
            for event in events where isAlone || !callIfBrief(event) { line.append(event.token, event.readiness) }
            // A long line moves on in any case: connections that always have work are not to hold it up.
            let size = max(turn.size, line.count / 8)
            turn.begin(.now, isCut: line.count > size)
            for event in line.take(size) { watcher(of: event)?.call(event.token, event.readiness) }
        }
    }

    /// How many sockets have their turn together.
    private struct Turn {
        /// What a turn takes at the most, unless it is that of a single socket.
        private static let limit = Duration.microseconds(200)
        private static let sizeLimit = 64

        private(set) var size = 1
        private var start = ContinuousClock.now
        /// Whether more were ready than had their turn.
        private var isCut = false

        func isLong(at now: ContinuousClock.Instant) -> Bool { now - start >= Self.limit }

        mutating func begin(_ now: ContinuousClock.Instant, isCut: Bool) {
            start = now
            self.isCut = isCut
        }

        mutating func end(at now: ContinuousClock.Instant) {
            if isLong(at: now) { size = 1 } else if isCut { size = min(size * 2, Self.sizeLimit) }
            isCut = false
        }
    }

    private typealias Event = (token: Token, readiness: Readiness)

    private func watcher(of event: Event) -> (isBrief: Bool, call: Watcher)? {
        state.withLock { $0.watchers[event.token] }
    }

    /// Calls a watcher that need not wait in line; false for all others.
    private func callIfBrief(_ event: Event) -> Bool {
        guard let watcher = watcher(of: event), watcher.isBrief else { return false }
        watcher.call(event.token, event.readiness)
        return true
    }

    /// Waits for events or work: for a moment awake, where the last waits were as short as that, then asleep.
    private func idle(_ shared: SharedPoller, _ patience: inout Patience) -> [Event] {
        let start = ContinuousClock.now
        var now = start
        while patience.isPaying, now - start < Patience.limit {
            let events = shared.poller.wait(milliseconds: 0)
            if !events.isEmpty || state.withLock({ !$0.work.isEmpty }) {
                patience.waited(now - start)
                return events
            }
            yieldThread()
            now = .now
        }
        let events = shared.poller.wait(milliseconds: sleep())
        state.withLock { $0.isAsleep = false }
        patience.waited(.now - start)
        return events
    }

    /// Whether to stay awake for what comes next: to fall asleep and be woken takes longer than a server nearby, or a
    /// program that asks one question after the other.
    private struct Patience {
        /// The longest that is waited awake.
        static let limit = Duration.microseconds(200)
        /// How many short waits in a row a long one outweighs.
        private var credit = 0

        var isPaying: Bool { credit > 0 }

        mutating func waited(_ duration: Duration) {
            credit = duration < Self.limit ? min(credit + 1, 8) : max(credit - 4, 0)
        }
    }

    private func takeWork(at now: ContinuousClock.Instant) -> [Work] {
        state.withLock { state in
            let due = state.timers.takeDue(at: now)
            defer { state.work = [] }
            return due.isEmpty ? state.work : state.work + due.map(Work.call)
        }
    }

    /// How long to wait, in milliseconds: 0 when work has come meanwhile, -1 without a timer.
    private func sleep() -> CInt {
        state.withLock { state in
            guard state.work.isEmpty else { return 0 }
            state.isAsleep = true
            guard let next = state.timers.next else { return -1 }
            let pause = ContinuousClock.now.duration(to: next).components
            // Rounded up: waking early would find nothing due.
            let rest = (pause.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
            return CInt(clamping: max(0, pause.seconds * 1000 + rest))
        }
    }
}
