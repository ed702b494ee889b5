import CertificateTrust
import PinctlBasics

/// Runs `work` for several elements at a time and passes the results to `each` in the order of the elements, as soon as
/// possible.
///
/// `next` is called for more elements when all earlier ones have started, and returns none at the end. It may suspend
/// while results arrive. A slow element holds back at most `window` others, so that memory is bounded.
func inOrder<Element: Sendable, Result: Sendable>(
    _ next: @escaping @Sendable () async -> [Element], atOnce limit: Int, window: Int,
    work: @escaping @Sendable (Element) async -> Result, each: (Result) -> Void
) async {
    await withTaskGroup(of: InOrderEvent<Element, Result>.self) { group in
        var waiting: ArraySlice<Element> = []
        var finished: [Int: Result] = [:]
        var (started, running, handedOut) = (0, 0, 0)
        var (isReading, isAtEnd) = (false, false)
        func advance() {
            while running < limit, started - handedOut < window, let element = waiting.popFirst() {
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
        advance()
        for await event in group {
            switch event {
            case .elements(let elements):
                isReading = false
                isAtEnd = elements.isEmpty
                waiting = elements[...]
            case .result(let index, let result):
                running -= 1
                finished[index] = result
                while let result = finished.removeValue(forKey: handedOut) {
                    handedOut += 1
                    each(result)
                }
            }
            advance()
        }
    }
}

/// An event while work is done in order.
private enum InOrderEvent<Element: Sendable, Result: Sendable>: Sendable {
    case elements([Element])
    case result(Int, Result)
}

/// Runs `work` for elements that are all available from the start.
func inOrder<Element: Sendable, Result: Sendable>(
    _ elements: [Element], atOnce limit: Int = 16, work: @escaping @Sendable (Element) async -> Result,
    each: (Result) -> Void
) async {
    let rest = Locked(elements)
    await inOrder(
        {
            rest.withLock { rest in
                defer { rest = [] }
                return rest
            }
        }, atOnce: limit, window: max(1, elements.count), work: work, each: each)
}
