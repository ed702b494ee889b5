import Foundation
import PinctlConformanceSuite

/// Holds what the harness answered against the data and the written divergences; see tools/conformance/run.
func outcomes(data: URL, answers: URL) throws -> [Outcome] {
    var outcomes: [Outcome] = []
    for name in ["limbo", "pkits"] {
        let suite = try LimboSuite(json: Data(contentsOf: data.appending(path: "\(name).json")))
        for profile in Profile.allCases {
            let file = answers.appending(path: "\(name).\(profile.rawValue).json")
            let results = try LimboAnswer(json: Data(contentsOf: file)).results
            let byID = Dictionary(results.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            outcomes += suite.testcases.map { testcase in
                let result = byID[testcase.id]
                return Outcome(
                    id: testcase.id, profile: profile.rawValue, expected: testcase.expectedResult,
                    actual: result?.actualResult ?? .skipped,
                    context: result == nil ? "the harness left it out" : result?.context,
                    milliseconds: result?.milliseconds)
            }
        }
    }
    let hosts = try HostnameCase.list(json: Data(contentsOf: data.appending(path: "hostnames.json")))
    return outcomes + hosts.map(\.outcome)
}

let arguments = CommandLine.arguments
guard arguments.count == 4 else {
    print("usage: conformance-table DIVERGENCES.json DATA-DIRECTORY ANSWERS-DIRECTORY")
    exit(2)
}
do {
    let divergences = try Divergences(json: Data(contentsOf: URL(filePath: arguments[1])))
    let outcomes = try outcomes(data: URL(filePath: arguments[2]), answers: URL(filePath: arguments[3]))
    Table.print(outcomes)
    let problems = divergences.problems(of: outcomes)
    for problem in problems { print(problem) }
    let isListed = "every wrong answer is listed, with its reason, in \(arguments[1])"
    print(problems.isEmpty ? isListed : "not as listed: \(problems.count)")
    exit(problems.isEmpty ? 0 : 1)
} catch {
    print("conformance-table: \(error)")
    exit(2)
}
