import CertificateTrust
import PinctlBasics
import Synchronization

/// A thread that waits for sockets and timers, and runs the actors bound to it.
///
/// It is also a task executor, but only for waits: see ``Connection``. No other code may run on it.
///
/// Every method can be called from any thread. The closures passed to them run on the loop's thread, or on
/// another one in its place (``executeNow(_:)``), one at a time. The thread starts with the first call and doesn't keep
/// the process alive. If it can't be started, work is kept, and ``start()`` throws the reason.
final class EventLoop: SerialExecutor, TaskExecutor {
    /// The event loop of the process.
    static let shared = EventLoop()

    /// The identifier of a watched socket.
    typealias Token = UInt64
    typealias Watcher = @Sendable (Token, Readiness) -> Void

    private struct WatchedSocket {
        let isBrief: Bool
        let watcher: Watcher
    }

    private enum Work {
        case job(UnownedJob)
        case call(@Sendable () -> Void)
    }

    private struct State {
        var work: [Work] = []
        var timers = TimerQueue()
        var sockets: [Token: WatchedSocket] = [:]
        var lastToken: Token = 0
        /// Whether the thread is waiting, or about to wait, and has to be woken for new work.
        var isAsleep = false
        /// The time at which a waiting thread wakes by itself, or nil if it doesn't.
        var sleepEnd: TransportTime?
        /// The poller, or nil before the start.
        var poller: SharedPoller?
    }

    /// A class, since the payload of an optional noncopyable value can't be borrowed.
    private final class SharedPoller: Sendable {
        let poller: Poller
        init() throws(SystemError) { poller = try Poller() }
    }

    private let state = Locked(State())
    /// Held by the thread that does the loop's work, which is the loop's own one unless it waits.
    private let lock = LoopLock()
    /// The thread that does the loop's work.
    private let thread = Atomic<UInt>(0)

    /// Starts the thread, unless it is running. The next call retries a failed start.
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

    /// Supports `assumeIsolated` in closures that the loop calls outside any task.
    func isIsolatingCurrentContext() -> Bool? { isCurrent }

    /// Whether the current thread does the loop's work.
    var isCurrent: Bool { thread.load(ordering: .relaxed) == currentThread() }

    // MARK: Work

    /// Calls `body` on the loop's thread.
    func execute(_ body: @escaping @Sendable () -> Void) {
        change { $0.work.append(.call(body)) }
    }

    /// Calls `body` at once, on the calling thread, if the loop has nothing to do. The calling thread stands in for the
    /// loop's meanwhile, which saves a change of threads. Otherwise does the same as ``execute(_:)``.
    ///
    /// `body` must be short: the loop waits for it.
    func executeNow(_ body: @escaping @Sendable () -> Void) {
        guard lock.takeIfFree() else { return execute(body) }
        defer { lock.drop() }
        guard state.withLock({ $0.isAsleep && $0.work.isEmpty }) else { return execute(body) }
        let owner = thread.load(ordering: .relaxed)
        thread.store(currentThread(), ordering: .relaxed)
        body()
        thread.store(owner, ordering: .relaxed)
    }

    /// Calls `body` on the loop's thread at `deadline`.
    func schedule(at deadline: TransportTime, _ body: @escaping @Sendable () -> Void) -> TimerQueue.Identifier {
        change(at: deadline) { $0.timers.add(at: deadline, body) }
    }

    /// Removes a timer. A timer that is already due may still be called.
    func cancel(_ timer: TimerQueue.Identifier) {
        state.withLock { $0.timers.remove(timer) }
    }

    /// Calls `watcher` on the loop's thread whenever the socket becomes ready, until ``unwatch(_:)``. A brief watcher
    /// does little work, such as finishing a connect, and is called before those that have bytes to process.
    func watch(_ socket: borrowing Socket, isBrief: Bool, _ watcher: @escaping Watcher) throws(SystemError) -> Token {
        let token = state.withLock { state in
            state.lastToken += 1
            state.sockets[state.lastToken] = WatchedSocket(isBrief: isBrief, watcher: watcher)
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

    /// Replaces the watcher of a watched socket. The new one must check the current readiness itself.
    func rewatch(_ token: Token, _ watcher: @escaping Watcher) {
        state.withLock { $0.sockets[token] = WatchedSocket(isBrief: false, watcher: watcher) }
    }

    /// Stops watching a socket. The owner closes it.
    func unwatch(_ token: Token) {
        _ = state.withLock { $0.sockets.removeValue(forKey: token) }
    }

    // MARK: Thread

    /// Changes the state and wakes the thread, unless it wakes before `deadline` by itself.
    private func change<Result>(at deadline: TransportTime? = nil, _ body: (inout State) -> Result) -> Result {
        let (result, sleeper, isStarted) = state.withLock { state in
            let result = body(&state)
            guard state.isAsleep else { return (result, nil as SharedPoller?, state.poller != nil) }
            if let deadline, let end = state.sleepEnd, end <= deadline { return (result, nil, true) }
            state.isAsleep = false
            return (result, state.poller, true)
        }
        sleeper?.poller.wake()
        if !isStarted { try? start() }
        return result
    }

    /// Runs the loop. Ready sockets wait in line, and the work caused by one turn is done before the next turn. A
    /// client that got its answer can therefore start its next connection without waiting for a batch of handshakes. A
    /// turn serves one socket if that takes long, and more if it takes little time.
    private func run(_ shared: SharedPoller) {
        lock.take()
        thread.store(currentThread(), ordering: .relaxed)
        var line = ReadyLine()
        var turn = Turn()
        // Reused, so that they aren't allocated in every turn.
        var work: [Work] = []
        var events: [Event] = []
        while true {
            let now = TransportTime.now
            takeWork(at: now, &work)
            for item in work {
                switch item {
                case .job(let job): run(job)
                case .call(let body): body()
                }
            }
            let isIdle = work.isEmpty
            work.removeAll(keepingCapacity: true)
            guard isIdle || turn.isLong(at: now) else { continue }
            turn.end(at: now)
            if isIdle, line.isEmpty { idle(shared, &events) } else { shared.poller.wait(milliseconds: 0, &events) }
            if line.isEmpty, events.count == 1 {
                turn.begin(.now, isCut: false)
                socket(of: events[0])?.watcher(events[0].token, events[0].readiness)
                continue
            }
            for event in events where !callIfBrief(event) { line.append(event.token, event.readiness) }
            // A long line moves on in any case, so that connections with constant work don't hold it up.
            let size = max(turn.size, line.count / 8)
            turn.begin(.now, isCut: line.count > size)
            for event in line.take(size) { socket(of: event)?.watcher(event.token, event.readiness) }
        }
    }

    /// The number of sockets served together in one turn.
    private struct Turn {
        /// The longest a turn may take, unless it serves a single socket.
        private static let limit = Duration.microseconds(200)
        private static let sizeLimit = 64

        private(set) var size = 1
        private var start = TransportTime.now
        /// Whether more sockets were ready than the turn served.
        private var isCut = false

        func isLong(at now: TransportTime) -> Bool { now - start >= Self.limit }

        mutating func begin(_ now: TransportTime, isCut: Bool) {
            start = now
            self.isCut = isCut
        }

        mutating func end(at now: TransportTime) {
            if isLong(at: now) { size = 1 } else if isCut { size = min(size * 2, Self.sizeLimit) }
            isCut = false
        }
    }

    private typealias Event = (token: Token, readiness: Readiness)

    private func socket(of event: Event) -> WatchedSocket? {
        state.withLock { $0.sockets[event.token] }
    }

    /// Calls a brief watcher at once. Returns false for all others, which wait in line.
    private func callIfBrief(_ event: Event) -> Bool {
        guard let socket = socket(of: event), socket.isBrief else { return false }
        socket.watcher(event.token, event.readiness)
        return true
    }

    /// Sleeps until there are events, work or a due timer. Returns at once if there are events.
    ///
    /// It doesn't poll before it sleeps. Polling would save a request that is answered at once a few microseconds, and
    /// cost each request the processor time that it waits.
    private func idle(_ shared: SharedPoller, _ events: inout [Event]) {
        let limit = sleep()
        lock.drop()
        shared.poller.wait(milliseconds: limit, &events)
        lock.take()
        state.withLock { $0.isAsleep = false }
    }

    /// Replaces `work`, which is empty, by the work to do now.
    private func takeWork(at now: TransportTime, _ work: inout [Work]) {
        state.withLock { state in
            swap(&state.work, &work)
            for due in state.timers.takeDue(at: now) { work.append(.call(due)) }
        }
    }

    /// Returns how long to wait, in milliseconds: 0 if work has arrived meanwhile, -1 without a timer.
    private func sleep() -> CInt {
        state.withLock { state in
            guard state.work.isEmpty else { return 0 }
            state.isAsleep = true
            state.sleepEnd = state.timers.next
            guard let next = state.sleepEnd else { return -1 }
            let pause = (next - .now).components
            // Round up, since no timer would be due after waking early.
            let rest = (pause.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
            return CInt(clamping: max(0, pause.seconds * 1000 + rest))
        }
    }
}

/// The ready sockets that wait for their turn. Each is in line once, and new readiness is merged into its entry.
///
/// The kernel reports a socket for every segment that arrives. With an entry for each report, a peer that sends one
/// byte at a time would get as many turns.
struct ReadyLine {
    private var order: [EventLoop.Token] = []
    /// The number of tokens at the beginning of `order` that were taken.
    private var taken = 0
    private var readiness: [EventLoop.Token: Readiness] = [:]

    var count: Int { readiness.count }
    var isEmpty: Bool { readiness.isEmpty }

    mutating func append(_ token: EventLoop.Token, _ ready: Readiness) {
        if readiness.updateValue(readiness[token]?.union(ready) ?? ready, forKey: token) == nil { order.append(token) }
    }

    /// Removes and returns the first entries, in the order in which they were added.
    mutating func take(_ count: Int) -> [(token: EventLoop.Token, readiness: Readiness)] {
        let end = min(taken + count, order.count)
        let first = order[taken..<end].compactMap { token in
            readiness.removeValue(forKey: token).map { (token, $0) }
        }
        taken = end
        // Seldom enough that each token is moved once on average.
        if taken * 2 >= order.count {
            order.removeFirst(taken)
            taken = 0
        }
        return first
    }
}
