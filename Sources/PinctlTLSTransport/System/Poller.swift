#if !canImport(Darwin)
import CPinctlLinux
import PinctlLibC

/// A poller that waits for sockets and for a wake-up from another thread (`epoll`, `eventfd`). It can be used from any
/// thread.
///
/// Edge-triggered: readiness is reported when it begins, not while it lasts.
struct Poller: ~Copyable, Sendable {
    private let epoll: Descriptor
    private let alarm: Descriptor

    /// The token of the alarm. Sockets have tokens from 1.
    private static let alarmToken: UInt64 = 0
    /// The number of events fetched by one call.
    private static let batch = 64

    init() throws(SystemError) {
        let epoll = try Descriptor(owning: epoll_create1(CInt(EPOLL_CLOEXEC)))
        let alarm = try Descriptor(owning: eventfd(0, CInt(EFD_CLOEXEC | EFD_NONBLOCK)))
        try Self.add(alarm.number, to: epoll.number, token: Self.alarmToken, interest: EPOLLIN.rawValue)
        self.epoll = epoll
        self.alarm = alarm
    }

    /// Reports a socket's readiness under `token`, which is never 0, until the socket is closed.
    func add(_ socket: borrowing Socket, token: UInt64) throws(SystemError) {
        let interest = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue
        try Self.add(socket.number, to: epoll.number, token: token, interest: interest)
    }

    private static func add(
        _ number: CInt, to epoll: CInt, token: UInt64, interest: UInt32
    ) throws(SystemError) {
        var event = unsafe epoll_event(events: interest | EPOLLET.rawValue, data: epoll_data_t(u64: token))
        guard unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, number, &event) == 0 else { throw SystemError.last }
    }

    /// Ends the current ``wait(milliseconds:)``, or the next one if none is running.
    func wake() {
        // Every write is an edge, so the count is never read. It can't overflow before 2^64 calls.
        eventfd_write(alarm.number, 1)
    }

    /// Waits at most `milliseconds`, or forever for -1, and replaces `ready` by what became ready. That is nothing
    /// after a wake-up or a timeout.
    func wait(milliseconds: CInt, _ ready: inout [(token: UInt64, readiness: Readiness)]) {
        ready.removeAll(keepingCapacity: true)
        unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.batch) { events in
            guard let first = events.baseAddress else { return }
            let count = unsafe epoll_wait(epoll.number, first, CInt(Self.batch), milliseconds)
            // An interruption by a signal counts as nothing ready. No other error is possible for these descriptors.
            guard count > 0 else { return }
            for index in 0..<Int(count) {
                let token = unsafe events[index].data.u64
                if token != Self.alarmToken { unsafe ready.append((token, Readiness(events: events[index].events))) }
            }
        }
    }
}

extension Readiness {
    /// Converts epoll events. An error or a hang-up ends both waits, and the next call on the socket shows which it is.
    fileprivate init(events: UInt32) {
        let both = EPOLLERR.rawValue | EPOLLHUP.rawValue
        self = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | both) != 0 { insert(.reading) }
        if events & (EPOLLRDHUP.rawValue | both) != 0 { insert(.hangUp) }
        if events & (EPOLLOUT.rawValue | both) != 0 { insert(.writing) }
    }
}
#endif

/// The ways in which a descriptor is ready.
struct Readiness: OptionSet, Sendable {
    let rawValue: UInt32
    /// There are bytes, an end or an error to read.
    static let reading = Readiness(rawValue: 1)
    /// There is room to write, or an error.
    static let writing = Readiness(rawValue: 2)
    /// The peer closed its sending direction. There may be bytes left to read before the end.
    static let hangUp = Readiness(rawValue: 4)
}
