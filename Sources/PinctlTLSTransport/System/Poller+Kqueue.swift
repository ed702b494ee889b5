#if canImport(Darwin)
import PinctlLibC

/// A poller that waits for sockets and for a wake-up from another thread (`kqueue`, `EVFILT_USER`). It can be used from
/// any thread.
///
/// Edge-triggered (`EV_CLEAR`): readiness is reported when it begins, not while it lasts. A socket that becomes ready
/// to read and to write is reported twice.
struct Poller: ~Copyable, Sendable {
    private let queue: Descriptor

    /// The number of events fetched by one call.
    private static let batch = 64

    init() throws(SystemError) {
        // A program that this process starts doesn't inherit a queue.
        let queue = try Descriptor(owning: kqueue())
        try unsafe Self.change(queue.number, [Self.alarm(EV_ADD | EV_CLEAR)])
        self.queue = queue
    }

    /// Reports a socket's readiness under `token`, which is never 0, until the socket is closed.
    func add(_ socket: borrowing Socket, token: UInt64) throws(SystemError) {
        let changes = unsafe [EVFILT_READ, EVFILT_WRITE].map { filter in
            unsafe kevent(
                ident: UInt(socket.number), filter: Int16(filter), flags: UInt16(EV_ADD | EV_CLEAR), fflags: 0,
                data: 0,
                udata: UnsafeMutableRawPointer(bitPattern: UInt(token)))
        }
        try unsafe Self.change(queue.number, changes)
    }

    /// The event that ``wake()`` triggers. A queue has one for each number.
    private static func alarm(_ flags: CInt, _ request: UInt32 = 0) -> kevent {
        unsafe kevent(
            ident: 0, filter: Int16(EVFILT_USER), flags: UInt16(flags), fflags: request, data: 0, udata: nil)
    }

    private static func change(_ queue: CInt, _ changes: [kevent]) throws(SystemError) {
        guard unsafe kevent(queue, changes, CInt(changes.count), nil, 0, nil) == 0 else { throw SystemError.last }
    }

    /// Ends the current ``wait(milliseconds:)``, or the next one if none is running.
    func wake() {
        // It can't fail: the event was added with the queue.
        try? unsafe Self.change(queue.number, [Self.alarm(0, UInt32(NOTE_TRIGGER))])
    }

    /// Waits at most `milliseconds`, or forever for -1, and replaces `ready` by what became ready. That is nothing
    /// after a wake-up or a timeout.
    func wait(milliseconds: CInt, _ ready: inout [(token: UInt64, readiness: Readiness)]) {
        ready.removeAll(keepingCapacity: true)
        var limit = timespec(tv_sec: Int(milliseconds / 1_000), tv_nsec: Int(milliseconds % 1_000) * 1_000_000)
        unsafe withUnsafeTemporaryAllocation(of: kevent.self, capacity: Self.batch) { events in
            guard let first = events.baseAddress else { return }
            let count = unsafe withUnsafePointer(to: &limit) { limit in
                unsafe kevent(queue.number, nil, 0, first, CInt(Self.batch), milliseconds < 0 ? nil : limit)
            }
            // An interruption by a signal counts as nothing ready. No other error is possible for these descriptors.
            guard count > 0 else { return }
            for index in 0..<Int(count) where unsafe events[index].filter != EVFILT_USER {
                unsafe ready.append((UInt64(UInt(bitPattern: events[index].udata)), Readiness(events[index])))
            }
        }
    }
}

extension Readiness {
    /// Converts an event. An error or a hang-up sets `EV_EOF` for both directions, and the next call on the socket
    /// shows which it is.
    fileprivate init(_ event: kevent) {
        guard unsafe event.filter == EVFILT_READ else {
            self = .writing
            return
        }
        self = unsafe event.flags & UInt16(EV_EOF) == 0 ? .reading : [.reading, .hangUp]
    }
}
#endif
