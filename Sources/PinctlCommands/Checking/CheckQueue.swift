import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// The items of a run in order: those of the arguments and the policy, each once, then the lines of `--targets`.
///
/// The lines are never all in memory at the same time.
actor CheckQueue {
    private var named: [CheckItem]
    private let lines: LineReader?
    private let source: PinSource

    /// The number of items, or `nil` if there are lines still to be read.
    nonisolated let count: Int?

    init(named: [CheckItem], lists: [String], by source: PinSource) {
        self.named = named
        self.source = source
        lines = lists.isEmpty ? nil : LineReader(paths: lists)
        count = lists.isEmpty ? named.count : nil
    }

    /// Returns the next items, or an empty array at the end.
    func next() async -> [CheckItem] {
        if !named.isEmpty {
            defer { named = [] }
            return named
        }
        while let lines {
            let read = await lines.next()
            guard !read.isEmpty else { return [] }
            let items = read.compactMap { item($0) }
            if !items.isEmpty { return items }
        }
        return []
    }

    /// Parses a line. Returns `nil` if it is empty apart from a comment.
    private func item(_ line: LineReader.Line) -> CheckItem? {
        switch line {
        case .text(let line, let file, let number):
            let text = Self.content(line)
            guard !text.isEmpty else { return nil }
            do throws(UsageError) {
                return source.item(for: try Target(argument: text), input: text)
            } catch {
                return Self.problem(error.messages.joined(separator: "; "), file, number, text)
            }
        case .tooLong(let file, let number):
            return Self.problem("the line is too long for a target: give one target on each line", file, number, nil)
        case .failure(let file, let error):
            return Self.problem(error, file, nil, nil)
        }
    }

    /// Returns a line without its comment, which begins with a `#` at the start or after white space.
    private static func content(_ line: String) -> String {
        var previous: Character = " "
        var end = line.endIndex
        for index in line.indices {
            if line[index] == "#", previous.isWhitespace {
                end = index
                break
            }
            previous = line[index]
        }
        let words = line[..<end].drop(while: \.isWhitespace)
        return String(words.reversed().drop(while: \.isWhitespace).reversed())
    }

    private static func problem(_ message: String, _ file: String, _ number: Int?, _ input: String?) -> CheckItem {
        let place = DialectInput.title(file) + (number.map { ":\($0)" } ?? "")
        return .problem(
            "\(place): \(message)",
            [("file", .string(file))] + (number.map { [("line", .integer($0))] } ?? [])
                + (input.map { [("input", .string($0))] } ?? []))
    }
}

/// The targets of a run that have no result yet, by their positions.
struct PendingTargets: Sendable {
    private var targets: [Int: Target] = [:]
    private var added = 0

    /// Adds the next items of the run.
    mutating func add(_ items: [CheckItem]) {
        for item in items {
            if case .server(let target, _, _, _) = item { targets[added] = target }
            added += 1
        }
    }

    /// Removes an item that has a result.
    mutating func remove(_ item: Int) { targets[item] = nil }

    /// Returns the message of a run that was interrupted after `done` items. `total` isn't known for a list.
    func interruption(after done: Int, of total: Int?) -> String {
        let names = FirstNames(targets.sorted { $0.key < $1.key }.map { "\($0.value)" })
        let rest =
            total.map { total in
                let left = total - done
                guard done > 0 else {
                    return "\(total == 1 ? "the target" : "any of \(total) targets") was checked (\(names))"
                }
                return "\(left) of \(total) targets \(left == 1 ? "was" : "were") checked (\(names))"
            }
            ?? "all targets of the list were checked" + (targets.isEmpty ? "" : " (pending: \(names))")
        return "interrupted before \(rest): run it again" + (done == 0 ? "" : " for those without a result")
    }
}
