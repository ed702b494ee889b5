import CLinux
import Glibc

/// What a descriptor has become ready for.
struct Readiness: OptionSet, Sendable {
    let rawValue: UInt32
    /// Bytes, an end or an error to read.
    static let reading = Readiness(rawValue: 1)
    /// Room to write, or an error.
    static let writing = Readiness(rawValue: 2)
    /// The peer ended its direction, behind whatever is left to read.
    static let hangUp = Readiness(rawValue: 4)
}

/// Waits for sockets and for a call from another thread (`epoll`, `eventfd`). Safe from any thread.
///
/// Edge-triggered: readiness is reported when it comes, not while it lasts.
struct Poller: ~Copyable, Sendable {
    private let epoll: Descriptor
    private let alarm: Descriptor

    /// The alarm's place among the tokens; sockets count from 1.
    private static let alarmToken: UInt64 = 0
    /// Events fetched by one call.
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

    /// Ends a ``wait(milliseconds:)``, this one or the next.
    func wake() {
        // Every write is an edge, so nobody reads the count; it lasts for 2^64 calls.
        eventfd_write(alarm.number, 1)
    }

    /// What became ready, at the latest after `milliseconds`; -1 waits without end. Empty when woken or in time out.
    func wait(milliseconds: CInt) -> [(token: UInt64, readiness: Readiness)] {
        unsafe withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.batch) { events in
            let count = unsafe epoll_wait(epoll.number, events.baseAddress, CInt(Self.batch), milliseconds)
            // A signal is as good as nothing ready; there is no other error for descriptors of our own.
            guard count > 0 else { return [] }
            return unsafe events[..<Int(count)].compactMap { event in
                let token = unsafe event.data.u64
                guard token != Self.alarmToken else { return nil }
                return unsafe (token, Readiness(events: event.events))
            }
        }
    }
}

extension Readiness {
    /// An error or a hang-up ends both waits; the next call on the socket says which it is.
    fileprivate init(events: UInt32) {
        let both = EPOLLERR.rawValue | EPOLLHUP.rawValue
        self = []
        if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue | both) != 0 { insert(.reading) }
        if events & (EPOLLRDHUP.rawValue | both) != 0 { insert(.hangUp) }
        if events & (EPOLLOUT.rawValue | both) != 0 { insert(.writing) }
    }
}
