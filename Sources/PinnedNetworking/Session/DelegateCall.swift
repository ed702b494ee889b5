import CertificateTrust
import PinctlBasics

/// A delegate method, independent of its variant (completion handler or async).
enum DelegateMethod: Sendable {
    case sessionChallenge, taskChallenge, redirection, newBodyStream, response
    case sentBody, metrics, end, data, download, wroteData, resumption, file
    case webSocketOpening, webSocketClosing
}

/// A call of a delegate's method by a session.
///
/// The call is a task-local value while it runs. A default implementation can thus determine whether the session called
/// it, or another delegate that forwards to it. In the first case the delegate's type doesn't implement the method,
/// which is recorded for the type. In the second case nothing is recorded, because the answer of the forwarding
/// delegate counts.
struct DelegateCall: Sendable {
    /// The variant of a method: with a completion handler, which includes methods without an answer, or `async`.
    enum Spelling: Sendable, CaseIterable {
        case handler, async
    }

    private struct Entry: Hashable {
        let type: ObjectIdentifier
        let method: DelegateMethod
        let spelling: Spelling
    }

    @TaskLocal private static var current: DelegateCall?
    /// The methods that types of delegates don't implement.
    private static let unimplemented = Locked<Set<Entry>>([])

    private let delegate: any URLSessionDelegate
    private let method: DelegateMethod
    private let spelling: Spelling

    init(of method: DelegateMethod, _ spelling: Spelling = .handler, on delegate: any URLSessionDelegate) {
        self.delegate = delegate
        self.method = method
        self.spelling = spelling
    }

    private var entry: Entry {
        Entry(type: ObjectIdentifier(type(of: delegate as AnyObject)), method: method, spelling: spelling)
    }

    /// Whether the method is known to be a default implementation. Before a call this is known from an earlier call,
    /// and after it from the call itself.
    var isUnimplemented: Bool { Self.unimplemented.withLock { $0.contains(entry) } }

    func run(_ body: () -> Void) { Self.$current.withValue(self, operation: body) }

    func runAsync(_ body: () async -> Void) async { await Self.$current.withValue(self, operation: body) }

    /// Records that a default implementation runs. Returns whether another delegate forwarded the call to it. If so,
    /// the answer is that of the method's other variant.
    ///
    /// A delegate that calls the other variant on itself doesn't count as forwarding, because the two would call each
    /// other forever.
    @discardableResult
    static func reachedDefault(
        of method: DelegateMethod, _ spelling: Spelling = .handler, on delegate: any URLSessionDelegate
    ) -> Bool {
        guard let current, current.delegate === delegate, current.method == method else { return true }
        if current.spelling == spelling { _ = unimplemented.withLock { $0.insert(current.entry) } }
        return false
    }
}

/// The calls that default implementations forward to the other variant and whose answer is pending.
///
/// A delegate that calls the other variant on itself from its own task would call itself forever, because no task-local
/// value shows the origin of the call. A call beyond the limit is refused, and with it the earlier ones.
enum ForwardedCalls {
    private struct Entry: Hashable {
        let delegate: ObjectIdentifier
        let method: DelegateMethod
    }

    /// The maximum number of calls. It is more than the number of requests that one delegate handles at a time.
    private static let limit = 1_000
    private static let waiting = Locked<[Entry: Int]>([:])

    /// Runs `body` as a forwarded call. Throws `CancellationError` beyond the limit.
    static func wait<Value>(
        for method: DelegateMethod, of delegate: any URLSessionDelegate, _ body: () async throws -> Value
    ) async throws -> Value {
        let entry = Entry(delegate: ObjectIdentifier(delegate), method: method)
        let count = waiting.withLock { waiting in
            waiting[entry, default: 0] += 1
            return waiting[entry, default: 0]
        }
        defer {
            waiting.withLock { waiting in
                waiting[entry, default: 1] -= 1
                if waiting[entry] == 0 { waiting[entry] = nil }
            }
        }
        guard count <= limit else { throw CancellationError() }
        return try await body()
    }
}

extension [DelegateCall.Spelling] {
    static var all: Self { Element.allCases }
}
