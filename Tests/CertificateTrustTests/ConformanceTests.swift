import FoundationEssentials
import PinctlConformanceSuite
import PinctlTestPKI
import Testing

@Suite("Public test suites")
struct ConformanceTests {
    /// The directory that tools/conformance/run uses.
    private static let data =
        ProcessInfo.processInfo.environment["PINCTL_CONFORMANCE"] ?? Repository.root + "/../shared/conformance"
    private static let isThere = ["limbo", "pkits", "hostnames"].allSatisfy {
        FileManager.default.isReadableFile(atPath: "\(data)/\($0).json")
    }

    private static func json(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }

    @Test(
        "The cases that deviate are exactly those listed in tools/conformance/Divergences.json",
        .enabled(if: isThere, "limbo.json, pkits.json and hostnames.json are not in \(data)"),
        .enabled(
            if: FileManager.default.isReadableFile(atPath: "/usr/share/publicsuffix/public_suffix_list.dat"),
            "the package publicsuffix is not installed, without which two verdicts differ"))
    func suites() throws {
        var outcomes = try HostnameCase.list(json: Self.json(Self.data + "/hostnames.json")).map(\.outcome)
        for suite in ["limbo", "pkits"] {
            let cases = try LimboSuite(json: Self.json("\(Self.data)/\(suite).json")).testcases
            for profile in Profile.allCases { outcomes += cases.map { $0.outcome(profile) } }
        }
        let divergences = try Divergences(json: Self.json(Repository.root + "/tools/conformance/Divergences.json"))
        for problem in divergences.problems(of: outcomes) { Issue.record("\(problem)") }
    }
}
