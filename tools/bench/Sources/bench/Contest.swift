/// One way to do some work.
struct Contender {
    let name: String
    /// Does the work once; all contenders of a contest return the same.
    let work: () throws -> String

    init(_ name: String, _ work: @escaping () throws -> some CustomStringConvertible) {
        self.name = name
        self.work = { try work().description }
    }
}

/// Times of one contender, in nanoseconds, one for each round.
struct Times {
    let name: String
    var rounds: [Double] = []

    var median: Double { rounds.sorted()[rounds.count / 2] }

    /// The median over the rounds of these times in units of the other's, each round by itself, since what disturbs a
    /// machine for a while disturbs all that run in that while.
    func ratio(to other: Times) -> Double { each(over: other).median }

    /// These times in units of the other's, round by round.
    func each(over other: Times) -> Times { Times(name: name, rounds: zip(rounds, other.rounds).map { $0 / $1 }) }
}

/// Lets contenders do the same work in turn, so many rounds, and returns the CPU time each took for one piece of it.
/// After them come the others, which measure themselves in nanoseconds, once a round.
func contest(
    _ contenders: [Contender], pieces: Int, rounds: Int = 21,
    others: [(name: String, measure: () throws -> Double)] = []
) throws -> [Times] {
    var times = contenders.map { Times(name: $0.name) }
    var repetitions: [Int] = []
    var result: String?
    for contender in contenders {
        _ = try contender.work()
        let start = cpuTime()
        let computed = try contender.work()
        guard computed == result ?? computed else {
            throw BenchError("\(contender.name) computed \(computed), \(contenders[0].name) \(result ?? "nothing")")
        }
        result = computed
        // About ten milliseconds a turn.
        repetitions.append(max(1, Int(10_000_000 / (cpuTime() - start))))
    }
    var measured = others.map { Times(name: $0.name) }
    for round in 0..<rounds {
        for index in others.indices { measured[index].rounds.append(try others[index].measure()) }
        for turn in contenders.indices {
            let index = round.isMultiple(of: 2) ? turn : contenders.count - 1 - turn
            let start = cpuTime()
            for _ in 0..<repetitions[index] { _ = try contenders[index].work() }
            times[index].rounds.append((cpuTime() - start) / Double(repetitions[index] * pieces))
        }
    }
    return times + measured
}

/// Why there is nothing to measure.
struct BenchError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
