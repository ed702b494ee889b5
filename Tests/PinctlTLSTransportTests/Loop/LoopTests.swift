import CertificateTrust
import Glibc
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinctlTLSTransport

@Suite struct TimerQueueTests {
    @Test("Due timers are returned in the order of their deadlines, and equal ones in the order of arrival")
    func order() {
        let start = TransportTime.now
        let called = Locked<[Int]>([])
        var queue = TimerQueue()
        var identifiers: [TimerQueue.Identifier] = []
        for (index, seconds) in [5, 1, 3, 1, 4].enumerated() {
            let deadline = start + .seconds(seconds)
            identifiers.append(queue.add(at: deadline) { called.withLock { $0.append(index) } })
        }
        #expect(queue.next == start + .seconds(1))
        queue.remove(identifiers[2])
        queue.remove(identifiers[2])
        #expect(queue.takeDue(at: start).isEmpty)
        for action in queue.takeDue(at: start + .seconds(4)) { action() }
        #expect(called.withLock { $0 } == [1, 3, 4])
        queue.remove(identifiers[1])
        #expect(queue.next == start + .seconds(5))
        #expect(queue.takeDue(at: start + .seconds(5)).count == 1)
        #expect(queue.next == nil)
    }
}

@Suite struct ReadyLineTests {
    @Test("A socket is in the line once, at the position of its first report, with its combined readiness")
    func once() {
        var line = ReadyLine()
        for token: EventLoop.Token in [7, 3, 7, 7, 9] { line.append(token, .reading) }
        line.append(3, .writing)
        #expect(line.count == 3)
        #expect(line.take(2).map(\.token) == [7, 3])
        line.append(7, .hangUp)
        let rest = line.take(5)
        #expect(rest.map(\.token) == [9, 7] && rest.last?.readiness == .hangUp)
        #expect(line.isEmpty && line.take(1).isEmpty)
        for token: EventLoop.Token in [1, 2] { line.append(token, token == 1 ? .reading : .writing) }
        line.append(1, .writing)
        #expect(line.take(1).first?.readiness == [.reading, .writing])
    }
}

extension ServerName {
    /// An address for documentation (RFC 5737).
    fileprivate static let documented = try? ServerName("192.0.2.1")
}

@Suite struct EventLoopTests {
    @Test("Calls run on the loop's thread in order, and timers run after them")
    func order() async throws {
        let loop = EventLoop()
        try loop.start()
        let called = Locked<[String]>([])
        let isIsolated = await withCheckedContinuation { continuation in
            // On the loop's thread, which does nothing else meanwhile, however long this takes.
            loop.execute {
                let timer = loop.schedule(at: .now + .seconds(3600)) { called.withLock { $0.append("cancelled") } }
                loop.cancel(timer)
                _ = loop.schedule(at: .now) {
                    called.withLock { $0.append("timer") }
                    continuation.resume(returning: loop.isIsolatingCurrentContext())
                }
                for index in 0..<3 { loop.execute { called.withLock { $0.append("\(index)") } } }
            }
        }
        #expect(isIsolated == true)
        #expect(loop.isIsolatingCurrentContext() == false)
        #expect(called.withLock { $0 } == ["0", "1", "2", "timer"])
    }

    /// Returns whether the loop let the calling thread stand in for its own, and called `body` there.
    private static func standsIn(for loop: EventLoop, _ body: @escaping @Sendable () -> Void = {}) -> Bool {
        let caller = currentThread()
        let isCaller = Locked(false)
        loop.executeNow {
            let isHere = currentThread() == caller && loop.isCurrent
            if isHere { body() }
            isCaller.withLock { $0 = isHere }
        }
        return isCaller.withLock { $0 }
    }

    @Test("The calling thread stands in for a loop that sleeps. What it leaves to the loop is done afterwards")
    func standIn() async throws {
        let loop = EventLoop()
        try loop.start()
        let called = Locked<[String]>([])
        let isIn = await poll {
            Self.standsIn(for: loop) {
                called.withLock { $0 = [] }
                _ = loop.schedule(at: .now + .milliseconds(40)) { called.withLock { $0.append("timer") } }
                loop.execute { called.withLock { $0.append("call") } }
                // Long enough for the loop's thread to wake.
                usleep(20_000)
                called.withLock { $0.append("body") }
            }
        }
        #expect(isIn)
        #expect(!loop.isCurrent)
        #expect(await poll { called.withLock { $0.count } == 3 })
        #expect(called.withLock { $0 } == ["body", "call", "timer"])
    }

    @Test("The calling thread doesn't stand in for a loop that works")
    func noStandIn() async throws {
        let loop = EventLoop()
        try loop.start()
        let (isBusy, isHeld) = (Locked(false), Locked(true))
        loop.execute {
            isBusy.withLock { $0 = true }
            while isHeld.withLock({ $0 }) { sched_yield() }
        }
        while !isBusy.withLock({ $0 }) { await Task.yield() }
        let called = Locked(0)
        #expect(!Self.standsIn(for: loop))
        loop.executeNow { called.withLock { $0 += 1 } }
        #expect(called.withLock { $0 } == 0)
        isHeld.withLock { $0 = false }
        #expect(await poll { called.withLock { $0 } == 1 })
    }

    /// Returns whether the condition becomes true within two minutes.
    private func poll(_ condition: () -> Bool) async -> Bool {
        for _ in 0..<24_000 {
            if condition() { return true }
            usleep(5_000)
        }
        return false
    }

    @Test("Connecting sockets are handled first, and the calls of a socket with data run before the next such socket")
    func turns() async throws {
        let loop = EventLoop()
        try loop.start()
        try await LoopbackServer(plain: .stall).run { server in
            let address = try #require(SocketAddress(try ServerName("127.0.0.1"), port: server.port))
            let called = Locked<[String]>([])
            let isHeld = Locked(true)
            // Every socket that is watched meanwhile becomes ready at the same time.
            loop.execute { while isHeld.withLock({ $0 }) { sched_yield() } }
            func socket(_ name: String, isBrief: Bool) throws -> Socket {
                let socket = try Socket(for: address)
                try socket.startConnecting(to: address)
                _ = try loop.watch(socket, isBrief: isBrief) { token, _ in
                    called.withLock { $0.append(name) }
                    loop.unwatch(token)
                    loop.execute { called.withLock { $0.append("behind \(name)") } }
                }
                return socket
            }
            let first = try socket("first", isBrief: false)
            let second = try socket("second", isBrief: false)
            let brief = try socket("brief", isBrief: true)
            isHeld.withLock { $0 = false }
            while called.withLock({ $0.count }) < 6 { await Task.yield() }
            let order = ["brief", "first", "behind brief", "behind first", "second", "behind second"]
            #expect(called.withLock { $0 } == order)
            _ = (first.number, second.number, brief.number)
        }
    }
}

@Suite struct NameResolutionTests {
    private let loop: EventLoop
    private let name: ServerName

    init() throws {
        loop = EventLoop()
        try loop.start()
        name = try ServerName("api.example.test")
    }

    private func address(_ text: String) throws -> SocketAddress {
        try #require(SocketAddress(try ServerName(text), port: 443))
    }

    @Test("A resolver that hangs doesn't make the dial hang")
    func hung() async throws {
        let deadline = Deadline(for: .resolve, peer: "peer", limit: .milliseconds(20))
        await expectFailure(.timedOut(.resolve, peer: "peer", limit: .milliseconds(20))) {
            _ = try await resolve(name, port: 443, family: .any, until: deadline, on: loop) { _, _, _, _ in {} }
        }
    }

    @Test("A task with a hanging resolver can be cancelled, and the late answer is ignored")
    func cancelled() async throws {
        let answer = Locked<(@Sendable (Result<[SocketAddress], NameLookup.Failure>) -> Void)?>(nil)
        let deadline = Deadline(for: .resolve, peer: "peer", limit: .seconds(60))
        let task = Task {
            try await resolve(name, port: 443, family: .any, until: deadline, on: loop) { _, _, _, give in
                answer.withLock { $0 = give }
                return {}
            }
        }
        while answer.withLock({ $0 == nil }) { await Task.yield() }
        task.cancel()
        await expectFailure(\.isCancelled) { _ = try await task.value }
        answer.withLock { $0 }?(.success([]))
    }

    @Test("A lookup that can't get a thread is an error")
    func noThread() async throws {
        let deadline = Deadline(for: .resolve, peer: "peer", limit: .seconds(60))
        await expectFailure(\.isExhausted) {
            _ = try await resolve(name, port: 443, family: .any, until: deadline, on: loop) {
                _, _, _, _ throws(SystemError) in throw SystemError(code: 11)
            }
        }
    }

    /// A resolver whose servers are silent for some names.
    private final class SilentServers: Sendable {
        private let state = Locked((isSilent: true, asked: [String]()))

        var asked: [String] { state.withLock { $0.asked } }

        /// Ends the silence, so that silent names have an address too.
        func end() { state.withLock { $0.isSilent = false } }

        @Sendable func find(
            _ host: ServerName, _: DialOptions.AddressFamily
        ) -> Result<[SocketAddress], NameLookup.Failure> {
            state.withLock { $0.asked.append(host.description) }
            while host.description.hasPrefix("silent"), state.withLock({ $0.isSilent }) { usleep(1000) }
            return .success([ServerName.documented.flatMap { SocketAddress($0, port: 0) }].compactMap(\.self))
        }
    }

    @Test("Two hundred names with silent servers don't delay other names, whether they are wanted or withdrawn")
    func silentNames() async throws {
        let servers = SilentServers()
        defer { servers.end() }
        let lookup = NameLookup(find: servers.find)
        let silent = try (0..<200).map { index in
            try lookup.lookUp(try ServerName("silent\(index).example.test"), port: 443, family: .any) { _ in }
        }
        func resolved() async throws -> [SocketAddress] {
            try await resolve(
                name, port: 443, family: .any, until: Deadline(for: .resolve, peer: "peer", limit: .seconds(120)),
                on: loop, lookUp: lookup.lookUp)
        }
        #expect(try await resolved() == [address("192.0.2.1")])
        for withdraw in silent { withdraw() }
        #expect(try await resolved() == [address("192.0.2.1")])
    }

    @Test("A name that many callers request is looked up once, even if some or all of them withdraw")
    func joined() async throws {
        let servers = SilentServers()
        defer { servers.end() }
        let lookup = NameLookup(find: servers.find)
        let ports = Locked<[UInt16]>([])
        func ask(_ port: UInt16) throws -> @Sendable () -> Void {
            try lookup.lookUp(try ServerName("silent.example.test"), port: port, family: .any) { result in
                ports.withLock { $0 += (try? result.get().map(\.port)) ?? [] }
            }
        }
        for withdraw in try (0..<100).map({ try ask($0) }) { withdraw() }
        let later = try (100..<200).map { try ask($0) }
        later[0]()
        servers.end()
        while ports.withLock({ $0.count }) < 99 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(ports.withLock { $0 } == Array(101..<200))
        #expect(servers.asked == ["silent.example.test"])
    }

    @Test("A lookup that waits for a thread is skipped when no caller wants it any longer")
    func withdrawn() async throws {
        let servers = SilentServers()
        defer { servers.end() }
        let lookup = NameLookup(threadLimit: 1, find: servers.find)
        let answers = Locked<[String]>([])
        func ask(_ name: String) throws -> @Sendable () -> Void {
            try lookup.lookUp(try ServerName(name), port: 443, family: .any) { _ in
                answers.withLock { $0.append(name) }
            }
        }
        _ = try ask("silent.example.test")
        let withdraw = try ask("one.example.test")
        let withdrawOne = try ask("two.example.test")
        _ = try ask("two.example.test")
        _ = try ask("three.example.test")
        withdraw()
        withdrawOne()
        withdraw()
        servers.end()
        while answers.withLock({ $0.count }) < 3 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(answers.withLock { $0 } == ["silent.example.test", "two.example.test", "three.example.test"])
        #expect(servers.asked == ["silent.example.test", "two.example.test", "three.example.test"])
    }

    @Test("The name localhost is resolved")
    func localhost() async throws {
        let deadline = Deadline(for: .resolve, peer: "peer", limit: .seconds(60))
        let found = try await resolve(
            try ServerName("localhost"), port: 443, family: .ipv4, until: deadline, on: loop)
        #expect(found == [try address("127.0.0.1")])
    }

    @Test("Address families alternate, beginning with the resolver's first (RFC 8305, section 4)")
    func interleaving() throws {
        let six = try ["2001:db8::1", "2001:db8::2", "2001:db8::3"].map(address)
        let four = try ["192.0.2.1", "192.0.2.2"].map(address)
        #expect(interleaved(six + four) == [six[0], four[0], six[1], four[1], six[2]])
        #expect(interleaved(four + six) == [four[0], six[0], four[1], six[1], six[2]])
        #expect(interleaved(four) == four)
        #expect(interleaved([]).isEmpty)
    }
}

@Suite struct ConnectRaceTests {
    private let loop: EventLoop
    private let deadline = Deadline(for: .connect, peer: "peer", limit: .seconds(60))

    init() throws {
        loop = EventLoop()
        try loop.start()
    }

    private func address(port: UInt16, _ text: String = "127.0.0.1") throws -> SocketAddress {
        try #require(SocketAddress(try ServerName(text), port: port))
    }

    @Test("A silent address is overtaken by the next one, and its socket is closed")
    func overtaken() async throws {
        let silent = try DeadPort(.silent)
        let before = try openSockets(to: silent.port)
        try await LoopbackServer(plain: .stall).run { server in
            let addresses = [try address(port: silent.port), try address(port: server.port)]
            let winner = try await ConnectRace(to: addresses, peer: "peer", on: loop).run(until: deadline)
            #expect(winner.address == addresses[1])
            #expect(try openSockets(to: silent.port) == before)
            loop.unwatch(winner.token)
        }
    }

    @Test("The next address is tried at once after a refused connection or a missing route")
    func refused() async throws {
        let refused = try DeadPort(.refusing)
        try await LoopbackServer(plain: .stall).run { server in
            let addresses = [
                try address(port: refused.port), try address(port: refused.port, "::1"), try address(port: server.port),
            ]
            let winner = try await ConnectRace(to: addresses, peer: "peer", on: loop).run(until: deadline)
            #expect(winner.address == addresses[2])
            loop.unwatch(winner.token)
        }
    }

    @Test("An address to which no connection can even be started doesn't keep the next one from being used")
    func impossible() async throws {
        // TCP has no connections to a multicast address, so the system reports that without sending anything.
        let multicast = try address(port: 9, "224.0.0.1")
        try await LoopbackServer(plain: .stall).run { server in
            let addresses = [multicast, multicast, try address(port: server.port)]
            let winner = try await ConnectRace(to: addresses, peer: "peer", on: loop).run(until: deadline)
            #expect(winner.address == addresses[2])
            loop.unwatch(winner.token)
        }
        let attempt = ConnectAttempt(
            address: "224.0.0.1:9", error: SystemError(code: ENETUNREACH), isUnrouted: true)
        await expectFailure(.unreachable(peer: "peer", attempts: [attempt, attempt])) {
            _ = try await ConnectRace(to: [multicast, multicast], peer: "peer", on: loop).run(until: deadline)
        }
    }

    @Test("When all addresses refuse, each is named in order")
    func allRefuse() async throws {
        let dead = [try DeadPort(.refusing), try DeadPort(.refusing)]
        let addresses = try dead.map { try address(port: $0.port) }
        let attempts = addresses.map { ConnectAttempt(address: $0.description, error: SystemError(code: ECONNREFUSED)) }
        await expectFailure(.unreachable(peer: "peer", attempts: attempts)) {
            _ = try await ConnectRace(to: addresses, peer: "peer", on: loop).run(until: deadline)
        }
    }
}

@Suite struct EndpointTests {
    @Test(
        "An endpoint's description shows how it is dialled",
        arguments: [
            ("example.com", nil, "example.com:443"),
            ("::1", nil, "[::1]:443"),
            ("example.com", "192.0.2.1", "example.com:443 via 192.0.2.1:8443"),
            ("192.0.2.1", "::1", "192.0.2.1:443 via [::1]:8443"),
        ])
    func text(name: String, route: String?, expected: String) throws {
        let route = try route.map { Route(host: try ServerName($0), port: 8443) }
        #expect(Endpoint(name: try ServerName(name), port: 443, route: route).description == expected)
    }
}
