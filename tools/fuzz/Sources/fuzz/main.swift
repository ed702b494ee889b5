import FoundationEssentials
import Glibc

let usage = """
    usage: fuzz TARGET FILE…
           fuzz TARGET --mutate DIRECTORY [--runs N] [--first N] [--size BYTES] [--verbose]
           fuzz TARGET --cover [ARGUMENT…]
    Feeds files, or changed copies of a directory's files, to a target. A trap, or no end within ten seconds, is a
    finding: run it with --verbose for the number of the input, and with --first for that input alone. --size makes
    each input as large. The last line says how much memory it took. --cover is for a build with -DCOVERAGE, as
    tools/fuzz/run --minutes makes it, and hands the arguments to libFuzzer.
    targets: \(FuzzTarget.all.map(\.name).joined(separator: " "))
    """

func fail(_ message: String) -> Never {
    print(message)
    exit(2)
}

func contents(_ path: String) -> [UInt8] {
    guard let data = FileManager.default.contents(atPath: path) else { fail("\(path) cannot be read") }
    return Array(data)
}

func feed(_ target: FuzzTarget, _ bytes: [UInt8]) {
    alarm(10)
    target.run(bytes)
    alarm(0)
}

var arguments = Array(CommandLine.arguments.dropFirst())
guard let name = arguments.first, let target = FuzzTarget.all.first(where: { $0.name == name }) else { fail(usage) }
arguments.removeFirst()

if arguments.first == "--cover" {
    #if COVERAGE
    exit(runLibFuzzer(target, Array(arguments.dropFirst())))
    #else
    fail("this program was built without coverage: run tools/fuzz/run --minutes N")
    #endif
}

@MainActor func option(_ name: String) -> String? {
    guard let index = arguments.firstIndex(of: name) else { return nil }
    guard index + 1 < arguments.count else { fail(usage) }
    let value = arguments[index + 1]
    arguments.removeSubrange(index...index + 1)
    return value
}

@MainActor func number(_ name: String) -> Int? {
    guard let text = option(name) else { return nil }
    guard let number = Int(text), number >= 0 else { fail("\(name) takes a number") }
    return number
}

guard let directory = option("--mutate") else {
    guard !arguments.isEmpty else { fail(usage) }
    for path in arguments { feed(target, contents(path)) }
    print("\(name): \(arguments.count) files, at most \(peak()) KiB")
    exit(0)
}
let first = number("--first")
let runs = number("--runs") ?? (first == nil ? 100_000 : 1)
let size = number("--size") ?? 0
let isVerbose = arguments.contains("--verbose")
let files = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
guard !files.isEmpty else { fail("\(directory) holds no files") }
let seeds = files.map { contents("\(directory)/\($0)") }
if first == nil { for seed in seeds { feed(target, seed) } }
for run in (first ?? 0)..<(first ?? 0) + runs {
    if isVerbose { report("\(run)") }
    var mutator = Mutator(seeds, run: UInt64(run))
    feed(target, mutator.input(size: size))
}
print("\(name): \(seeds.count) seeds, \(runs) inputs, at most \(peak()) KiB")
