import Testing

@testable import PinctlCommands

@Suite("The connections of guarded programs")
struct JudgedConnectionsTests {
    private func event(_ kind: UInt8, _ process: UInt8, _ address: String?, port: UInt8?) throws -> VerdictMessage {
        var fields: [(type: UInt8, value: [UInt8])] = [(9, [0, 0, 0, process]), (8, Array("/bin/app".utf8))]
        if let address { fields.append((3, Array(address.utf8))) }
        if let port { fields.append((2, [0, port])) }
        return try VerdictMessage(message(kind, fields))
    }

    @Test("A connection is unseen unless its process was judged at its address and port, or it was never used")
    func unseen() throws {
        var connections = JudgedConnections()
        let accepted = VerdictAnswer(isAccepted: true, reason: "")
        #expect(try connections.note(.started(event(3, 1, nil, port: nil))) == nil)
        for (process, address, port) in [
            (1, "192.0.2.1", 43), (1, "::1", 43), (1, "192.0.2.1", 80), (2, "192.0.2.1", 43), (3, "192.0.2.9", 44),
        ] as [(UInt8, String, UInt8)] {
            #expect(try connections.note(.connected(event(2, process, address, port: port))) == nil)
        }
        #expect(connections.unseen.count == 5)
        #expect(try connections.note(.judged(event(1, 1, "192.0.2.1", port: 43), accepted)) == nil)
        // A client with its own BIO may not know its peer.
        let nameless = VerdictAnswer(isAccepted: true, reason: "", isNameless: true)
        #expect(try connections.note(.judged(event(1, 3, nil, port: nil), nameless)) == nil)
        #expect(connections.unseen == ["192.0.2.1:43 by app (2)", "192.0.2.1:80 by app (1)", "[::1]:43 by app (1)"])
        // Another process can't withdraw it, and nobody one that wasn't reported.
        for process in [2, 1, 1] as [UInt8] { _ = try connections.note(.unused(event(4, process, "::1", port: 43))) }
        #expect(connections.unseen == ["192.0.2.1:43 by app (2)", "192.0.2.1:80 by app (1)"])
        _ = try connections.note(.connected(event(2, 1, "::1", port: 43)))
        #expect(connections.unseen.count == 3)
        #expect(connections.acceptedCount == 2 && connections.unnamedCount == 1 && connections.started == [1])
    }

    @Test("Judged connections make room for others, and a program with too many without a verdict has a line on that")
    func limits() throws {
        var connections = JudgedConnections()
        let accepted = VerdictAnswer(isAccepted: true, reason: "")
        func address(_ number: Int) -> String { "10.\(number / 62_500).\(number / 250 % 250).\(number % 250)" }
        _ = try connections.note(.connected(event(2, 3, "192.0.2.9", port: 44)))
        for number in 0..<JudgedConnections.limit * 3 {
            _ = try connections.note(.connected(event(2, 3, address(number), port: 1)))
            _ = try connections.note(.judged(event(1, 3, address(number), port: 1), accepted))
        }
        #expect(connections.unseen == ["192.0.2.9:44 by app (3)"] && connections.cut == nil)
        for number in 0..<JudgedConnections.limit * 3 {
            _ = try connections.note(.connected(event(2, 3, address(number), port: 2)))
        }
        #expect(connections.cut?.contains("more than 5,000") == true)
        #expect(connections.unseen.count <= JudgedConnections.limit)
    }

    @Test("A verdict without a port counts for one connection")
    func portless() throws {
        var connections = JudgedConnections()
        let accepted = VerdictAnswer(isAccepted: true, reason: "")
        _ = try connections.note(.judged(event(1, 3, nil, port: nil), accepted))
        for port in [44, 45] as [UInt8] { _ = try connections.note(.connected(event(2, 3, "192.0.2.9", port: port))) }
        #expect(connections.unseen.count == 1)
    }

    @Test("A server that a rule only reports is printed as reported, and a program that can't be seen is kept")
    func reports() throws {
        var connections = JudgedConnections()
        let reported = VerdictAnswer(isAccepted: true, reason: "mismatch", isReported: true)
        let question = try event(1, 1, "192.0.2.1", port: 43)
        #expect(connections.note(.judged(question, reported)) == "reported 192.0.2.1:43 for app (1): mismatch")
        #expect(connections.note(.judged(question, reported)) == nil)
        #expect(connections.reports.all.map(\.count) == [2] && connections.acceptedCount == 2)
        for _ in 0..<2 { #expect(try connections.note(.unguarded(event(5, 1, nil, port: nil))) == nil) }
        #expect(connections.unguarded.all.map(\.text) == ["/bin/app"])
    }

    @Test("A refusal is printed once, and counted each time")
    func refusals() throws {
        var connections = JudgedConnections()
        let refused = VerdictAnswer(isAccepted: false, reason: "no pin")
        let question = try event(1, 1, "192.0.2.1", port: 43)
        let line = connections.note(.judged(question, refused))
        #expect(line == "refused 192.0.2.1:43 for app (1): no pin")
        #expect(connections.note(.judged(question, refused)) == nil)
        #expect(connections.refusedCount == 2 && connections.refusals.all.map(\.count) == [2])
        #expect(connections.note(.malformed("x"))?.contains("malformed") == true)
    }
}
