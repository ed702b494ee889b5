import Foundation
import PinctlConformanceSuite

let usage = """
    usage: limbo-harness [--profile default|strict] [--timings] <LIMBO.json >RESULTS.json
      --profile   the profile to evaluate under, default unless told
      --timings   adds to each result the processor time it took, in milliseconds
    """

func usageError() -> Never {
    FileHandle.standardError.write(Data((usage + "\n").utf8))
    exit(2)
}

var profile = Profile.default
var timings = false
var arguments = CommandLine.arguments.dropFirst()
while let argument = arguments.popFirst() {
    switch argument {
    case "--profile":
        guard let named = arguments.popFirst().flatMap(Profile.init) else { usageError() }
        profile = named
    case "--timings": timings = true
    default: usageError()
    }
}

do {
    let suite = try LimboSuite(json: FileHandle.standardInput.readDataToEndOfFile())
    let results = suite.testcases.map { testcase in
        let start = clock()
        let (verdict, context) = testcase.evaluate(profile)
        // POSIX counts a million clocks to the second, whatever the machine's are.
        let milliseconds = Double(clock() - start) / 1000
        return LimboAnswer.Result(
            id: testcase.id, actualResult: verdict, context: context, milliseconds: timings ? milliseconds : nil)
    }
    FileHandle.standardOutput.write(try LimboAnswer(results: results).json())
} catch {
    FileHandle.standardError.write(Data("limbo-harness: \(error)\n".utf8))
    exit(2)
}
