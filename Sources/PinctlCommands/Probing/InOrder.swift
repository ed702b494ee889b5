/// Does `work` for several elements at a time, and hands out the results in the order of the elements, each as soon as
/// those before it are there.
func inOrder<Element: Sendable, Result: Sendable>(
    _ elements: [Element], atOnce limit: Int = 16, work: @escaping @Sendable (Element) async -> Result,
    each: (Result) -> Void
) async {
    await withTaskGroup(of: (Int, Result).self) { group in
        var started = 0
        var finished: [Int: Result] = [:]
        var next = 0
        func start() {
            guard started < elements.count else { return }
            let index = started
            started += 1
            group.addTask { (index, await work(elements[index])) }
        }
        for _ in 0..<limit { start() }
        for await (index, result) in group {
            finished[index] = result
            while let result = finished.removeValue(forKey: next) {
                each(result)
                next += 1
            }
            start()
        }
    }
}
