import CertificateTrust
import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

private let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
private let denied = "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"

/// An event of a transfer, with the result as text.
private enum Step: String, CaseIterable, Sendable {
    case takeHeld, lease, endLease, send, sendNext, sendLong, startLogin, finishLogin, read
    case go, half, head, rest, whole, refusal, end, garbage
    case bodySent, bodyFailed, stopWaiting, part, discard, fail
}

extension TransferState<String> {
    /// Performs a step and returns its result, which is empty for an event without one.
    fileprivate mutating func perform(_ step: Step) throws -> String {
        switch step {
        case .takeHeld: return takeHeld() ?? "-"
        case .lease: return try outcome { (state) throws(TransferStateError) in try state.lease("c") }
        case .endLease: return endLease() ?? "-"
        case .send: return try send()
        case .sendNext: return try send(.length(3))
        case .sendLong: return try send(.length(3), expectsContinue: true)
        case .startLogin: return try send(login: try FakeLogin(.started))
        case .finishLogin: return try send(login: try FakeLogin(.complete))
        case .read:
            do {
                return try beginRead()
            } catch {
                return "\(error)"
            }
        case .go: return try receive("HTTP/1.1 100 Continue\r\n\r\n")
        case .half: return try receive("HTTP/1.1 2")
        case .head: return try receive(answer + "hi")
        case .rest: return try receive("ho")
        case .whole: return try receive(answer + "hiho")
        case .refusal: return try receive(denied)
        case .end: return try receive(nil)
        case .garbage: return try receive("not HTTP\r\n\r\n")
        case .bodySent: requestBodyWasSent()
        case .bodyFailed: requestBodyFailed(RequestBodyError.stream)
        case .stopWaiting: stopWaiting()
        case .part:
            switch nextPart() {
            case .bytes(let bytes): return String(decoding: bytes, as: UTF8.self)
            case .end: return "end"
            case .unread: return "unread"
            }
        case .discard: return discardResponse() ?? "-"
        case .fail: return fail() ?? "-"
        }
        return ""
    }

    private mutating func outcome(
        _ event: (inout Self) throws(TransferStateError) -> Void
    ) throws -> String {
        do throws(TransferStateError) {
            try event(&self)
            return ""
        } catch {
            return "\(error)"
        }
    }

    private mutating func send(
        _ body: HTTPRequestHead.Body = .none, expectsContinue: Bool = false, login: FakeLogin? = nil
    ) throws -> String {
        let origin = HTTPOrigin(scheme: .https, name: try ServerName("a.test"), port: 443)
        let head = try HTTPRequestHead(
            method: "PUT", target: .origin("/"), origin: origin, body: body, expectsContinue: expectsContinue)
        return try outcome { (state) throws(TransferStateError) in try state.send(head, login) }
    }

    private mutating func receive(_ text: String?) throws -> String {
        received(text.map { Array($0.utf8) })
        var events: [String] = []
        do throws(HTTPResponseError) {
            while let event = try next() {
                switch event {
                case .goAhead: events.append("go")
                case .head: events.append("head")
                case .keep(let lease): events.append("keep \(lease)")
                case .close(let lease): events.append("close \(lease)")
                case .hold: events.append("hold")
                }
            }
        } catch {
            events.append(error == .truncated ? "truncated" : "malformed")
        }
        return events.joined(separator: ", ")
    }

    /// Everything that a caller can see of the state.
    fileprivate var view: String {
        let facts = [
            ("unanswered", isUnanswered), ("body", isReadingBody), ("wants", wantsRequestBody),
            ("waits", awaitsGoAhead), ("failed", requestBodyError != nil),
        ]
        return
            ([open ?? "-", head.map { "\($0.statusCode)" } ?? "-", "\(bufferedCount)"]
            + facts.filter(\.1).map(\.0)).joined(separator: " ")
    }
}

/// The steps that lead from a new transfer to each state.
private let states: [String: [Step]] = [
    "waiting": [],
    "waiting, held": [.lease, .startLogin, .read, .refusal, .discard],
    "leased": [.lease],
    "reading the head": [.lease, .send, .read],
    "sending the body": [.lease, .sendNext, .read],
    "waiting for 100": [.lease, .sendLong, .read],
    "half a head": [.lease, .send, .read, .half, .read],
    "reading the body": [.lease, .send, .read, .head, .read],
    "ended": [.lease, .send, .read, .whole],
    "ended, held": [.lease, .startLogin, .read, .refusal],
    "failed": [.lease, .send, .read, .fail],
]

/// The states in which a step changes something or has a result. In all others it is refused.
private let legal: [Step: Set<String>] = {
    let open = ["reading the head", "sending the body", "waiting for 100", "half a head", "reading the body"]
    return [
        .takeHeld: ["waiting, held"], .lease: ["waiting"], .endLease: ["leased"], .send: ["leased"],
        .sendNext: ["leased"], .sendLong: ["leased"], .startLogin: ["leased"], .finishLogin: ["leased"],
        // Each of these already has a read in progress.
        .read: [], .stopWaiting: ["waiting for 100"], .bodySent: ["sending the body"], .bodyFailed: Set(open),
        .part: ["reading the body", "ended"],
        .discard: Set(open).union(["ended", "ended, held"]),
        // A new transfer that fails has nothing to close.
        .fail: Set(states.keys).subtracting(["waiting", "failed"]),
    ]
}()

/// One course of events, with the result of each step that has one.
private struct CourseRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let steps: [Step]
    let results: [String]
    let view: String

    init(_ name: String, _ steps: [Step], _ results: [String], _ view: String) {
        (testDescription, self.steps, self.results, self.view) = (name, steps, results, view)
    }
}

private let courses = [
    CourseRow(
        "a response in two reads, then another request on the same connection",
        [.lease, .send, .read, .head, .part, .part, .read, .rest, .part, .part, .discard, .lease],
        ["c", "head", "hi", "unread", "c", "keep c", "ho", "end", "-"], "c - 0"),
    CourseRow(
        "parts that were read in advance remain after the end", [.lease, .send, .read, .whole, .part, .part],
        ["c", "head, keep c", "hiho", "end"], "- 200 0"),
    CourseRow(
        "a response that is dropped before its end closes the connection",
        [.lease, .send, .read, .head, .discard, .lease], ["c", "head", "c"], "c - 0"),
    CourseRow(
        "a request of which nothing was sent returns its connection", [.lease, .endLease, .lease, .fail],
        ["c", "c"], "- - 0"),
    CourseRow(
        "a connection that ends without a response", [.lease, .send, .read, .end], ["c", "truncated"],
        "c - 0 unanswered"),
    CourseRow(
        "a connection that ends in the middle of a body", [.lease, .send, .read, .head, .read, .end, .fail],
        ["c", "head", "c", "truncated", "c"], "- - 0"),
    CourseRow(
        "a malformed response", [.lease, .send, .read, .garbage, .fail], ["c", "malformed", "c"], "- - 0"),
    CourseRow(
        "a body that waits for 100, is asked for and sent",
        [.lease, .sendLong, .read, .go, .bodySent, .read, .whole], ["c", "go", "c", "head, keep c"], "- 200 4"),
    CourseRow(
        "a body that waited long enough", [.lease, .sendLong, .stopWaiting], [], "c - 0 unanswered wants"),
    CourseRow(
        "a response before the whole body was sent makes the connection useless",
        [.lease, .sendNext, .read, .refusal], ["c", "head, close c"], "- 401 0"),
    CourseRow(
        "a body that can't be read", [.lease, .sendNext, .bodyFailed, .fail], ["c"], "- - 0"),
    CourseRow(
        "a login in progress holds the connection for the next request",
        [.lease, .startLogin, .read, .refusal, .discard, .takeHeld, .lease, .finishLogin, .read, .whole],
        ["c", "head, hold", "-", "c", "c", "head, keep c"], "- 200 4"),
    CourseRow(
        "a refused login closes its connection", [.lease, .finishLogin, .read, .refusal],
        ["c", "head, close c"], "- 401 0"),
    CourseRow(
        "a login that wasn't required closes its connection", [.lease, .startLogin, .read, .whole],
        ["c", "head, close c"], "- 200 4"),
    CourseRow(
        "a transfer that fails closes a held connection", [.lease, .startLogin, .read, .refusal, .fail],
        ["c", "head, hold", "c"], "- - 0"),
    CourseRow(
        "a second reader is refused", [.lease, .send, .read, .read, .whole],
        ["c", "\(TransferStateError.concurrentRead)", "head, keep c"], "- 200 4"),
]

/// A transfer's state machine without sockets.
@Suite struct TransferStateTests {
    @Test("A request goes through its states", arguments: courses)
    private func course(row: CourseRow) throws {
        var state = TransferState<String>()
        let results = try row.steps.map { try state.perform($0) }.filter { !$0.isEmpty }
        #expect(results == row.results)
        #expect(state.view == row.view)
    }

    @Test("An event that a state doesn't allow changes nothing", arguments: states.keys.sorted())
    func refused(name: String) throws {
        var before = TransferState<String>()
        for step in try #require(states[name]) { _ = try before.perform(step) }
        for step in Step.allCases {
            // The bytes of responses are covered by the courses.
            guard let allowed = legal[step] else { continue }
            var state = before
            let result = try state.perform(step)
            let isRefused = state.view == before.view && ["", "-", "unread", "end"].contains(result)
            let isError =
                [TransferStateError.leasedTwice, .notLeased, .concurrentRead].map(\.description)
                .contains(result) || result == HTTPResponseError.truncated.description
            #expect((isRefused || isError) != allowed.contains(name), "\(step) gave \"\(result)\", \(state.view)")
            if isError { #expect(state.view == before.view) }
        }
    }

    @Test(
        "Bytes for a request that has ended or failed are ignored", arguments: ["waiting", "leased", "ended", "failed"])
    func lateBytes(name: String) throws {
        var state = TransferState<String>()
        for step in try #require(states[name]) { _ = try state.perform(step) }
        let before = state.view
        let results = try [Step.go, .half, .head, .end, .garbage].map { try state.perform($0) }
        #expect(results == ["", "", "", "", ""])
        #expect(state.view == before)
    }

    @Test("A request is sent only on a connection that was leased for it", arguments: states.keys.sorted())
    func unsent(name: String) throws {
        var state = TransferState<String>()
        for step in try #require(states[name]) { _ = try state.perform(step) }
        for step in [Step.send, .sendLong, .startLogin] {
            var copy = state
            let result = try copy.perform(step)
            #expect(result.isEmpty == (name == "leased"), "\(step)")
        }
    }

    @Test("A failed transfer returns the one open connection, and never again", arguments: states.keys.sorted())
    func closing(name: String) throws {
        var state = TransferState<String>()
        for step in try #require(states[name]) { _ = try state.perform(step) }
        let hasNone = ["waiting", "ended", "failed"].contains(name)
        #expect(state.open == (hasNone ? nil : "c"))
        let closed = [state.fail(), state.fail()]
        #expect(closed == [hasNone ? nil : "c", nil])
        let result = try state.perform(.lease)
        #expect(result == TransferStateError.leasedTwice.description)
    }
}
