import PinctlBasics
import PinctlHTTPMessages
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

struct WebSocketMailboxTests {
    @Test("Random calls have the same effects as on a simple model, in the same order", arguments: 0..<64)
    func model(seed: Int) async throws {
        let scene = MailboxScene(seed: UInt64(seed))
        for _ in 0..<250 { try await scene.step() }
        try await scene.end()
    }

    @Test("Calls from several threads are answered once each, in order, at the latest at the end")
    func threads() async throws {
        let mailbox = WebSocketMailbox()
        mailbox.open()
        let (senders, messages) = (4, 2000)
        let answers = Collected<String>()
        let frames = Collected<[Int]>()
        let received = Collected<[Int]>()
        let writer = Task {
            while let frame = await mailbox.nextOutgoing() {
                guard case .message(_, let bytes, let completion) = frame else { continue }
                frames.append(bytes.map { Int($0) })
                completion(nil)
            }
        }
        let reader = Task {
            for number in 0..<messages {
                try await mailbox.deliver(.init(bytes: [UInt8(number >> 8), UInt8(number & 0xFF)], isText: false))
            }
        }
        let receivers = (0..<3).map { index in
            Task {
                var own: [Int] = []
                while true {
                    let identifier = mailbox.newReceiver()
                    // A checked continuation traps if it is called twice.
                    let result = await withCheckedContinuation { continuation in
                        mailbox.receive(identifier) { continuation.resume(returning: $0) }
                        if index == 0 { mailbox.cancelReceive(identifier) }
                    }
                    do {
                        own.append(try result.get().bytes.reduce(0) { $0 << 8 | Int($1) })
                    } catch is CancellationError {
                        await Task.yield()
                    } catch {
                        return received.append(own)
                    }
                }
            }
        }
        await withTaskGroup { group in
            for sender in 0..<senders {
                group.addTask {
                    for number in 0..<200 {
                        mailbox.send(.binary, [UInt8(sender), UInt8(number)]) { _ in
                            answers.append("\(sender)-\(number)")
                        }
                        if number % 50 == 0 { mailbox.ping { _ in answers.append("\(sender)-ping-\(number)") } }
                    }
                }
            }
        }
        try await reader.value
        mailbox.end(MailboxScene.End(number: 1))
        await writer.value
        for receiver in receivers { await receiver.value }

        #expect(answers.values.count == senders * 204)
        #expect(Set(answers.values).count == senders * 204)
        for sender in 0..<senders {
            let numbers = frames.values.filter { $0[0] == sender }.map { $0[1] }
            #expect(numbers == Array(0..<numbers.count))
        }
        #expect(received.values.allSatisfy { $0 == $0.sorted() })
        #expect(received.values.joined().sorted() == Array(0..<messages))
    }

    @Test("Messages are stored up to 256 of them or 64 KiB, and the next ones wait (WS7)")
    func limits() async throws {
        for (size, count) in [(0, 256), (1, 256), (256, 256), (257, 256), (512, 128), (65535, 2), (1 << 20, 1)] {
            let mailbox = WebSocketMailbox()
            mailbox.open()
            let stored = Locked(0)
            let reader = Task {
                for _ in 0..<1000 {
                    try await mailbox.deliver(.init(bytes: Array(repeating: 0, count: size), isText: false))
                    stored.withLock { $0 += 1 }
                }
            }
            // The last one waits until there is room, so that one more is accepted for each that is taken.
            for taken in 0..<3 {
                while stored.withLock(\.self) < count + taken { await Task.yield() }
                for _ in 0..<100 { await Task.yield() }
                #expect(stored.withLock(\.self) == count + taken, "messages of \(size) bytes")
                mailbox.receive(mailbox.newReceiver()) { _ in }
            }
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
        }
    }

    /// An object that is released together with what refers to it.
    private final class Token: Sendable {}

    @Test("What was sent, received or answered is released at once")
    func releases() async throws {
        let mailbox = WebSocketMailbox()
        mailbox.open()
        weak var sent: Token?
        weak var pinged: Token?
        weak var received: Token?
        do {
            let token = Token()
            sent = token
            mailbox.send(.text, []) { _ in withExtendedLifetime(token) {} }
        }
        do {
            let token = Token()
            pinged = token
            mailbox.ping { _ in withExtendedLifetime(token) {} }
        }
        do {
            let token = Token()
            received = token
            mailbox.receive(mailbox.newReceiver()) { _ in withExtendedLifetime(token) {} }
        }
        for _ in 0..<2 { _ = await mailbox.nextOutgoing() }
        mailbox.take(pong: [0, 0, 0, 0, 0, 0, 0, 1])
        try await mailbox.deliver(.init(bytes: [], isText: true))
        #expect(sent == nil)
        #expect(pinged == nil)
        #expect(received == nil)
    }

    @Test("A queue gives its elements out in order, and keeps none of them")
    func queue() {
        var numbers = SeededGenerator(seed: 7)
        var queue = ReleasingQueue<Token>()
        var model: [Token] = []
        for _ in 0..<20_000 {
            switch Int.random(in: 0..<20, using: &numbers) {
            case 0..<10:
                let token = Token()
                queue.append(token)
                model.append(token)
            case 10..<19:
                #expect(queue.first === model.first)
                #expect(queue.popFirst() === model.first)
                model = Array(model.dropFirst())
            case 19 where !model.isEmpty:
                let token = model.remove(at: Int.random(in: 0..<model.count, using: &numbers))
                #expect(queue.remove { $0 === token } === token)
                #expect(queue.remove { $0 === token } == nil)
            default: break
            }
            #expect(queue.count == model.count)
        }
        weak var last: Token?
        do {
            let token = Token()
            last = token
            queue.append(token)
        }
        let rest = queue.takeAll().dropLast().map(ObjectIdentifier.init)
        #expect(rest == model.map(ObjectIdentifier.init))
        #expect(last == nil)
        #expect(queue.popFirst() == nil)
    }
}
