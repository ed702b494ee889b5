import PinctlBasics
import PinctlHTTPMessages
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// A mailbox and its model, on which the same random calls are made.
///
/// A writer and a reader wait as the event loop's do. The model says when they wait and what ends that, so that nothing
/// depends on when their tasks run.
final class MailboxScene {
    struct End: Error { let number: Int }

    private enum Call: CaseIterable {
        case open, send, ping, receive, cancelReceive, close
        case write, deliver, pingOfServer, pong, closeOfServer
        case end
    }

    private let mailbox = WebSocketMailbox()
    private var model = MailboxModel()
    private let events = Locked<[String]>([])
    private var numbers: SeededGenerator
    /// How often each call is made, which differs between scenes.
    private let weights: [(call: Call, weight: Int)]
    /// The number of the last message, ping, receiver or end.
    private var number = 0

    private var writer: Task<String, Never>?
    private var reader: Task<Bool, Never>?

    init(seed: UInt64) {
        var numbers = SeededGenerator(seed: seed)
        weights = Call.allCases.map { call in
            switch call {
            case .open: (call, 2)
            case .close, .closeOfServer, .end: (call, seed.isMultiple(of: 4) ? 1 : 0)
            default: (call, Int.random(in: 0...8, using: &numbers) * 4)
            }
        }
        self.numbers = numbers
    }

    private func random(_ range: Range<Int>) -> Int { Int.random(in: range, using: &numbers) }

    /// Makes one call, and compares its effects.
    func step() async throws {
        var left = random(0..<weights.reduce(0) { $0 + $1.weight })
        let call = weights.first { entry in
            left -= entry.weight
            return left < 0
        }
        guard let call = call?.call else { return }
        number += 1
        try await make(call, number)
        try await settle()
        try compare("\(call)")
    }

    /// Ends the mailbox, and checks that later calls fail at once.
    func end() async throws {
        for call in [.end, .send, .ping, .receive, .close, .write, .end, .send] as [Call] {
            number += 1
            try await make(call, number)
            try await settle()
            try compare("\(call) at the end")
        }
        // The event loop's tasks are cancelled with the session's task.
        writer?.cancel()
        reader?.cancel()
        _ = await (writer?.value, reader?.value)
        try compare("the end")
        #expect(model.isIdle)
    }

    private func compare(_ call: String) throws {
        let seen = events.withLock { exchange(&$0, with: []) }
        try #require(seen == exchange(&model.events, with: []), "after \(call)")
        let reason = mailbox.closeReason?.code
        try #require(reason == model.closeReason, "after \(call)")
    }

    private func make(_ call: Call, _ number: Int) async throws {
        let events = events
        switch call {
        case .open:
            mailbox.open()
            model.isOpen = true
        case .send:
            mailbox.send(.binary, Self.bytes(number, 4)) { error in
                events.withLock { $0.append("send \(number): \(Self.name(error))") }
            }
            model.send(number)
        case .ping:
            mailbox.ping { error in events.withLock { $0.append("ping \(number): \(Self.name(error))") } }
            model.ping(number)
        case .receive:
            let identifier = mailbox.newReceiver()
            mailbox.receive(identifier) { result in
                events.withLock { $0.append("receive \(identifier): \(Self.name(result))") }
            }
            model.receive(identifier)
        case .cancelReceive:
            // Some of them have had their answer, and some don't exist yet.
            let identifier = max(0, model.lastReceiver - random(-1..<4))
            mailbox.cancelReceive(identifier)
            model.cancelReceive(identifier)
        case .close:
            let code = [1000, 1001, 4000, 1005, 70000][random(0..<5)]
            try #require(mailbox.close(code: code, reason: nil) == model.close(code))
        case .write:
            guard writer == nil else { return }
            writer = Self.write(mailbox)
        case .deliver:
            // The reader handles one frame at a time.
            guard reader == nil, model.isOpen else { return }
            let size = [0, 1, 300, 9000, 70_000][random(0..<5)]
            reader = Self.deliver(Self.bytes(number, max(4, size)), to: mailbox)
            model.deliver(number, size: max(4, size))
        case .pingOfServer:
            guard reader == nil else { return }
            mailbox.answer(ping: Self.bytes(number, 4))
            model.pong = number
        case .pong:
            guard reader == nil else { return }
            let answered = UInt64(max(0, model.pingCount - random(-1..<4)))
            let payload = (0..<8).reversed().map { UInt8(truncatingIfNeeded: answered >> ($0 * 8)) }
            let isPong = random(0..<5) > 0
            mailbox.take(pong: isPong ? payload : Array(payload.dropFirst()))
            if isPong { model.take(pong: Int(answered)) }
        case .closeOfServer:
            guard reader == nil else { return }
            let code = UInt16([1000, 1001, 4000][random(0..<3)])
            mailbox.close(WebSocketClosing(code: code))
            model.closeByServer(Int(code))
        case .end:
            let first = mailbox.end(End(number: number))
            model.end(number)
            try #require(Self.name(first) == model.endName)
        }
    }

    /// Waits for the writer and the reader, where the model has something for them.
    private func settle() async throws {
        if reader != nil, model.completeDelivery() {
            try #require(await reader?.value == true)
            reader = nil
        }
        if writer != nil, let next = model.write() {
            try #require(await writer?.value == next)
            writer = nil
        }
    }

    /// Returns the name of the next frame.
    private static func write(_ mailbox: WebSocketMailbox) -> Task<String, Never> {
        Task {
            guard let frame = await mailbox.nextOutgoing() else { return "nothing" }
            if case .message(_, _, let completion) = frame { completion(nil) }
            return name(frame)
        }
    }

    /// Returns whether the message was delivered.
    private static func deliver(_ bytes: [UInt8], to mailbox: WebSocketMailbox) -> Task<Bool, Never> {
        Task { (try? await mailbox.deliver(.init(bytes: bytes, isText: false))) != nil }
    }

    private static func bytes(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) } + Array(repeating: 0, count: count - 4)
    }

    private static func number(_ bytes: [UInt8]) -> Int { bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) } }

    private static func name(_ error: (any Error)?) -> String {
        switch error {
        case nil: "done"
        case let end as End: "end \(end.number)"
        case is CancellationError: "cancelled"
        case WebSocketEndError.closing?: "closing"
        case .some(let other): "\(other)"
        }
    }

    private static func name(_ result: Result<WebSocketMailbox.Received, any Error>) -> String {
        switch result {
        case .success(let message): "message \(number(message.bytes))"
        case .failure(let error): name(error)
        }
    }

    private static func name(_ frame: WebSocketMailbox.Outgoing) -> String {
        switch frame {
        case .message(_, let bytes, _): "message \(number(bytes))"
        case .ping(let bytes): "ping \(number(Array(bytes.dropFirst(4))))"
        case .pong(let bytes): "pong \(number(bytes))"
        case .close(let closing): "close \(closing.code.map { "\($0)" } ?? "without a code")"
        }
    }
}

/// What a mailbox does, written for one thread and without regard to cost.
private struct MailboxModel {
    /// The answers of calls, in order.
    var events: [String] = []
    var isOpen = false
    /// The message of the server's last ping.
    var pong: Int?
    var pingCount = 0
    var lastReceiver = 0

    /// The frames to be sent, with the number of the call for messages.
    private var outgoing: [(frame: String, message: Int?)] = []
    private var stored: [(number: Int, size: Int)] = []
    private var receivers: [Int] = []
    private var pings: [(call: Int, number: Int)] = []
    private var delivery: (number: Int, size: Int)?
    private var closing: String?
    private var hasSentClosing = false
    private var endNumber: Int?
    private var given: Int?
    private var firstOfServer: Int?

    var endName: String { endNumber.map { "end \($0)" } ?? "" }
    private var refusal: String? { endNumber != nil ? endName : closing != nil ? "closing" : nil }
    var closeReason: Int? { given ?? firstOfServer ?? (isOpen && endNumber != nil ? 1006 : nil) }
    /// Whether no call waits for an answer.
    var isIdle: Bool { outgoing.isEmpty && receivers.isEmpty && pings.isEmpty }

    mutating func send(_ number: Int) {
        if let refusal { return events.append("send \(number): \(refusal)") }
        outgoing.append(("message \(number)", number))
    }

    mutating func ping(_ number: Int) {
        if let refusal { return events.append("ping \(number): \(refusal)") }
        pingCount += 1
        pings.append((number, pingCount))
        outgoing.append(("ping \(pingCount)", nil))
    }

    mutating func receive(_ identifier: Int) {
        lastReceiver = identifier
        if !stored.isEmpty {
            events.append("receive \(identifier): message \(stored.removeFirst().number)")
        } else if endNumber != nil {
            events.append("receive \(identifier): \(endName)")
        } else {
            receivers.append(identifier)
        }
    }

    mutating func cancelReceive(_ identifier: Int) {
        guard receivers.contains(identifier) else { return }
        receivers.removeAll { $0 == identifier }
        events.append("receive \(identifier): cancelled")
    }

    mutating func close(_ code: Int) -> Bool {
        guard endNumber == nil else { return isOpen }
        if given == nil, firstOfServer == nil { given = code }
        guard isOpen else { return false }
        if closing == nil { closing = [1000, 1001, 4000].contains(code) ? "close \(code)" : "close without a code" }
        return true
    }

    mutating func closeByServer(_ code: Int) {
        if given == nil { firstOfServer = code }
        if closing == nil { closing = "close \(code)" }
        for case (_, let message?) in outgoing { events.append("send \(message): closing") }
        outgoing = []
    }

    mutating func take(pong number: Int) {
        guard number <= pingCount else { return }
        for ping in pings where ping.number <= number { events.append("ping \(ping.call): done") }
        pings.removeAll { $0.number <= number }
    }

    mutating func end(_ number: Int) {
        endNumber = endNumber ?? number
        for case (_, let message?) in outgoing { events.append("send \(message): \(endName)") }
        for receiver in receivers { events.append("receive \(receiver): \(endName)") }
        for ping in pings { events.append("ping \(ping.call): \(endName)") }
        (outgoing, receivers, pings) = ([], [], [])
    }

    mutating func deliver(_ number: Int, size: Int) { delivery = (number, size) }

    /// Gives out or stores the delivered message. Returns false if it has to wait.
    mutating func completeDelivery() -> Bool {
        guard let message = delivery else { return false }
        if !receivers.isEmpty {
            events.append("receive \(receivers.removeFirst()): message \(message.number)")
        } else if stored.count < 256, stored.reduce(0, { $0 + $1.size }) < 65536 {
            stored.append(message)
        } else if closing == nil {
            return false
        }
        delivery = nil
        return true
    }

    /// The next frame, `nothing` after the last one, or nil if the writer has to wait.
    mutating func write() -> String? {
        if hasSentClosing || endNumber != nil { return "nothing" }
        if let number = exchange(&pong, with: nil) { return "pong \(number)" }
        if !outgoing.isEmpty {
            let (frame, message) = outgoing.removeFirst()
            if let message { events.append("send \(message): done") }
            return frame
        }
        guard let closing else { return nil }
        hasSentClosing = true
        return closing
    }
}
