import Foundation
import Synchronization

/// Time in which this thread ran or waited for another, in nanoseconds: wall time but for what it stood in line for a
/// processor (`run_delay` of proc(5), schedstat), which is the neighbours' doing.
private func undisturbedTime() throws -> Double {
    let statistics = try String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8).split(separator: " ")
    guard statistics.count == 3, let delay = Double(statistics[1]) else {
        throw BenchError("/proc/thread-self/schedstat is not what it was")
    }
    return Double(DispatchTime.now().uptimeNanoseconds) - delay
}

/// Verifies on so many threads at once and returns the time each took for one verification.
private func verify(_ verification: some Verification, threads: Int, times: Int) throws -> Double {
    let results = Mutex<[Result<Double, any Error>]>([])
    let group = DispatchGroup()
    for _ in 0..<threads {
        group.enter()
        Thread {
            let result = Result {
                let start = try undisturbedTime()
                guard try verification.verify(.der, times: times) == times else { throw BenchError("not verified") }
                return (try undisturbedTime() - start) / Double(times)
            }
            results.withLock { $0.append(result) }
            group.leave()
        }.start()
    }
    group.wait()
    return try results.withLock { try $0.map { try $0.get() }.reduce(0, +) / Double(threads) }
}

/// Verification from DER on two threads at once, with one store: how many times the throughput of one thread, in C and
/// in Swift.
///
/// A twentieth is left between the two, for what neighbours do to caches and to a thread that holds a lock.
func twoThreads(_ chain: MeasuredChain, _ report: inout Report) throws {
    let (c, swift) = try chain.open()
    let ways: [(name: String, verify: (_ threads: Int) throws -> Double)] = [
        ("C", { try verify(c, threads: $0, times: 100) }), ("Swift", { try verify(swift, threads: $0, times: 100) }),
    ]
    var times = ways.map { (one: Times(name: "\($0.name), one thread"), two: Times(name: "\($0.name), two threads")) }
    for round in 0..<41 {
        for turn in ways.indices {
            let index = (turn + round) % 2
            times[index].one.rounds.append(try ways[index].verify(1))
            times[index].two.rounds.append(try ways[index].verify(2) / 2)
        }
    }
    let gains = times.map { $0.one.each(over: $0.two) }
    report.heading("Verification from DER on two threads: \(chain.name) (time neither idle nor in line)")
    for (times, gain) in zip(times, gains) {
        report.row(times.one.name, time(times.one.median))
        report.row(times.two.name, time(times.two.median), "\(decimal(gain.median, 2)) times as many")
    }
    report.row(
        "Swift's gain", decimal(gains[1].median, 2),
        Target(measured: gains[1].ratio(to: gains[0]), unit: "of C's", bound: .atLeast, limit: 0.95))
}
