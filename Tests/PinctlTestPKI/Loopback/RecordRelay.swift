import Glibc

/// A relay in front of a server, for one connection. It decides about every TLS record that either side sends.
package final class RecordRelay: Sendable {
    package enum Sender: Sendable { case client, server }

    /// A TLS record (RFC 8446, section 5.1).
    package struct Record: Sendable {
        package let sender: Sender
        /// The record's number, counted from 0 for each sender.
        package let index: Int
        /// The five octets of its header, and its contents.
        package let bytes: [UInt8]

        /// The content type: 20 change_cipher_spec, 21 alert, 22 handshake, 23 application_data.
        package var type: UInt8 { bytes[0] }
    }

    package enum Verdict: Sendable {
        case pass
        /// Sends these bytes instead.
        case replace([UInt8])
        /// Sends one byte at a time, each after this pause.
        case slowly(Duration)
        /// Ends the client's connection instead of sending the record.
        case end(LoopbackRelay.Ending)
    }

    package var port: UInt16 { middle.port }
    package let address = "127.0.0.1"

    private let middle: LoopbackMiddle
    private let log: Locked<[Record]>

    /// All received records, in order of arrival.
    package var records: [Record] { log.withLock { $0 } }

    package init(
        to server: LoopbackServer, _ decide: @escaping @Sendable (Record) -> Verdict = { _ in .pass }
    ) throws(TestPKIError) {
        let log = Locked<[Record]>([])
        self.log = log
        middle = try LoopbackMiddle(to: server) { client, server in
            relayRecords(client, server) { record in
                log.withLock { $0.append(record) }
                return decide(record)
            }
        }
    }

    /// Waits for the end of the client's connection.
    package func stop() { middle.stop() }

    /// Runs `body` with the relay and then stops the relay.
    package func run<Result>(_ body: (RecordRelay) async throws -> Result) async rethrows -> Result {
        defer { stop() }
        return try await body(self)
    }
}

/// Copies records in both directions until a verdict ends the connection. Returns `nil` if a side ends it.
private func relayRecords(
    _ client: Int32, _ server: Int32, _ decide: (RecordRelay.Record) -> RecordRelay.Verdict
) -> LoopbackRelay.Ending? {
    let lanes: [(sender: RecordRelay.Sender, from: Int32, to: Int32)] = [
        (.client, client, server), (.server, server, client),
    ]
    var unread: [[UInt8]] = [[], []]
    var counts = [0, 0]
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
        var both = lanes.map { pollfd(fd: $0.from, events: Int16(POLLIN), revents: 0) }
        guard unsafe poll(&both, 2, -1) > 0 else { continue }
        for (index, lane) in lanes.enumerated() where both[index].revents != 0 {
            let read = unsafe recv(lane.from, &buffer, buffer.count, 0)
            guard read > 0 else { return nil }
            unread[index] += buffer.prefix(read)
            while let count = recordLength(unread[index]) {
                let record = RecordRelay.Record(
                    sender: lane.sender, index: counts[index], bytes: Array(unread[index].prefix(count)))
                counts[index] += 1
                unread[index].removeFirst(count)
                let isSent: Bool
                switch decide(record) {
                case .pass: isSent = write(record.bytes, to: lane.to)
                case .replace(let bytes): isSent = write(bytes, to: lane.to)
                case .slowly(let pause):
                    isSent = record.bytes.allSatisfy { byte in
                        pauseUnlessEnded(client, pause) && write([byte], to: lane.to)
                    }
                case .end(let ending): return ending
                }
                guard isSent else { return nil }
            }
        }
    }
}

/// Returns the length of the first record, including its header, once the record is complete.
private func recordLength(_ bytes: [UInt8]) -> Int? {
    guard bytes.count >= 5 else { return nil }
    let count = 5 + Int(bytes[3]) << 8 + Int(bytes[4])
    return bytes.count < count ? nil : count
}

private func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    unsafe send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
}

/// Waits for this duration. Returns `false` if the peer has ended meanwhile.
private func pauseUnlessEnded(_ descriptor: Int32, _ duration: Duration) -> Bool {
    // POLLRDHUP, which isn't imported into Swift.
    var entry = pollfd(fd: descriptor, events: 0x2000, revents: 0)
    return unsafe poll(&entry, 1, milliseconds(duration)) == 0
}
