import CertificateTrust
import PinctlBasics

/// Runs `work` for several elements at a time and passes each result to `each`, with the position of its element.
///
/// Results arrive as they finish, or with `inOrder` in the order of the elements. A slow element then holds back at
/// most `window` others, so that memory is bounded. `next` is called for more elements when all earlier ones have
/// started, and returns none at the end. It may suspend while results arrive.
///
/// When `isStopped` returns, no more work is started or waited for. The function then returns `true`, after it has
/// passed on the results that had to wait for earlier ones.
func concurrently<Element: Sendable, Result: Sendable>(
    _ next: @escaping @Sendable () async -> [Element], atOnce limit: Int, inOrder: Bool, window: Int = Int.max,
    until isStopped: (@Sendable () async -> Void)? = nil, work: @escaping @Sendable (Element) async -> Result,
    each: (Int, Result) -> Void
) async -> Bool {
    await withTaskGroup(of: WorkEvent<Element, Result>.self) { group in
        var waiting: ArraySlice<Element> = []
        var finished: [Int: Result] = [:]
        var (started, running, handedOut) = (0, 0, 0)
        var (isReading, isAtEnd) = (false, false)
        func advance() {
            while running < limit, !inOrder || started - handedOut < window, let element = waiting.popFirst() {
                let index = started
                started += 1
                running += 1
                group.addTask { .result(index, await work(element)) }
            }
            if waiting.isEmpty, !isReading, !isAtEnd {
                isReading = true
                group.addTask { .elements(await next()) }
            }
        }
        if let isStopped {
            group.addTask {
                await isStopped()
                return .stop
            }
        }
        advance()
        while running > 0 || isReading || !waiting.isEmpty, let event = await group.next() {
            switch event {
            case .elements(let elements):
                isReading = false
                isAtEnd = elements.isEmpty
                waiting = elements[...]
            case .result(let index, let result):
                running -= 1
                guard inOrder else {
                    each(index, result)
                    break
                }
                finished[index] = result
                while let result = finished.removeValue(forKey: handedOut) {
                    each(handedOut, result)
                    handedOut += 1
                }
            case .stop:
                for (index, result) in finished.sorted(by: { $0.key < $1.key }) { each(index, result) }
                group.cancelAll()
                return true
            }
            advance()
        }
        group.cancelAll()
        return false
    }
}

/// An event while work is done for several elements.
private enum WorkEvent<Element: Sendable, Result: Sendable>: Sendable {
    case elements([Element])
    case result(Int, Result)
    case stop
}

/// Runs `work` for elements that are all available from the start, and passes the results to `each` in their order.
func inOrder<Element: Sendable, Result: Sendable>(
    _ elements: [Element], atOnce limit: Int = 16, work: @escaping @Sendable (Element) async -> Result,
    each: (Result) -> Void
) async {
    let rest = Locked(elements)
    _ = await concurrently(
        {
            rest.withLock { rest in
                defer { rest = [] }
                return rest
            }
        }, atOnce: limit, inOrder: true, work: work, each: { each($1) })
}
