import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("--warn-within")
struct WarningPeriodTests {
    private static let day: Int64 = 86_400
    private static let start: Int64 = 1_790_000_000

    struct Row: Sendable, CustomTestStringConvertible {
        let words: [String]
        /// The lifetimes in seconds.
        let leaf: Int64
        var intermediate: Int64 = 1_000 * day
        /// The seconds before the expiry of the leaf, or of the intermediate, at which there is no warning yet. One
        /// second later there is one.
        let last: Int64
        var role = "leaf"

        var testDescription: String { "\(words.joined(separator: " ")) \(leaf / day) d: the \(role)" }
    }

    private static let rows = [
        // Let's Encrypt's certificates for six days are valid for 160 hours.
        Row(words: [], leaf: 160 * 3_600, last: 192_000),
        Row(words: [], leaf: 30 * day, last: 10 * day),
        Row(words: [], leaf: 42 * day, last: 14 * day),
        Row(words: [], leaf: 90 * day, last: 14 * day),
        Row(words: [], leaf: 300 * day, intermediate: 200 * day, last: 14 * day, role: "intermediate"),
        Row(words: ["--warn-within", "33%"], leaf: 100 * day, last: 33 * day),
        Row(words: ["--warn-within", "0.5%"], leaf: 100 * day, last: 43_200),
        Row(
            words: ["--warn-within", "50%"], leaf: 300 * day, intermediate: 100 * day, last: 14 * day,
            role: "intermediate"),
        Row(words: ["--warn-within", "30d"], leaf: 90 * day, last: 30 * day),
        Row(
            words: ["--warn-within", "30d"], leaf: 300 * day, intermediate: 100 * day, last: 30 * day,
            role: "intermediate"),
    ]

    @Test("A certificate has a warning from the second on at which less than the period is left", arguments: rows)
    func boundary(_ row: Row) async throws {
        let (root, intermediate, leaf) = try Self.chain(leaf: row.leaf, intermediate: row.intermediate)
        let directory = try TestDirectory()
        let file = try directory.add(leaf.pemText + intermediate.pemText, name: "chain.pem")
        let rootFile = try directory.add(root.pemText, name: "root.pem")
        let policy = try directory.add(
            #"{ "version": 1, "domains": [ { "host": "api.test", "pins": ["\#(try root.key.pin)"] } ] }"#,
            name: "pins.jsonc")
        let end = Self.start + (row.role == "leaf" ? row.leaf : row.intermediate)
        for (time, warns) in [(end - row.last, false), (end - row.last + 1, true), (end, true)] {
            let run = await pinctl(
                ["check", "--files", file, "--ca-file", rootFile, "--policy", policy] + row.words,
                now: Date(timeIntervalSince1970: Double(time)))
            #expect(run.output.contains("warning: the \(row.role) expires soon") == warns, "\(run.output)\(run.errors)")
            #expect(run.status == 0, "\(run.output)\(run.errors)")
        }
    }

    @Test("A period or share of 0 never warns, and a rule is measured by 14 days unless a period is given")
    func rules() async throws {
        let (root, intermediate, leaf) = try Self.chain(leaf: 6 * Self.day, intermediate: 1_000 * Self.day)
        let directory = try TestDirectory()
        let file = try directory.add(leaf.pemText + intermediate.pemText, name: "chain.pem")
        let rootFile = try directory.add(root.pemText, name: "root.pem")
        let start = Date(timeIntervalSince1970: Double(Self.start))
        let policy = try directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": ["\(try root.key.pin)"],
            "expires": "\(start.addingTimeInterval(14 * 86_400).rfc3339)", "onExpiry": "fail" } ] }
            """, name: "pins.jsonc")
        func warnings(_ words: [String], after seconds: Double) async -> [String] {
            let run = await pinctl(
                ["check", "--files", file, "--ca-file", rootFile, "--policy", policy] + words,
                now: start.addingTimeInterval(seconds))
            return ["the leaf expires", "the rule expires"].filter { run.output.contains("warning: \($0)") }
        }
        #expect(await warnings([], after: 0) == [])
        #expect(await warnings([], after: 1) == ["the rule expires"])
        #expect(await warnings(["--warn-within", "10%"], after: 1) == ["the rule expires"])
        #expect(await warnings(["--warn-within", "10d"], after: 1) == ["the leaf expires"])
        #expect(await warnings(["--warn-within", "100%"], after: 1) == ["the leaf expires", "the rule expires"])
        for never in ["0", "0%", "0d"] {
            #expect(await warnings(["--warn-within", never], after: 6 * 86_400) == [])
        }
    }

    @Test("JSON has each certificate's validity, key, issuer and the share of its lifetime that is left")
    func json() async throws {
        let (root, intermediate, leaf) = try Self.chain(leaf: 90 * Self.day, intermediate: 1_000 * Self.day)
        let directory = try TestDirectory()
        let file = try directory.add(leaf.pemText + intermediate.pemText, name: "chain.pem")
        let rootFile = try directory.add(root.pemText, name: "root.pem")
        func output(after seconds: Int64) async throws -> String {
            await pinctl(
                ["check", "--json", "--files", file, "--ca-file", rootFile, "--pin", try root.key.pin],
                now: Date(timeIntervalSince1970: Double(Self.start + seconds))
            ).output
        }
        let half = try await output(after: 45 * Self.day)
        #expect(
            half.contains(
                #""key":"EC P-256","subject":"CN=api.test","issuer":"CN=Intermediate","source":"file","#
                    + #""not_before":"2026-09-21T14:13:20Z","not_after":"2026-12-20T14:13:20Z","#
                    + #""lifetime_left_percent":50}"#), "\(half)")
        #expect(half.contains(#""not_after":"2029-06-17T14:13:20Z","lifetime_left_percent":95}"#), "\(half)")
        #expect(try await output(after: 45 * Self.day + 1).contains(#""lifetime_left_percent":49}"#))
        #expect(try await output(after: 0).contains(#""lifetime_left_percent":100}"#))
        #expect(try await output(after: 90 * Self.day).contains(#""lifetime_left_percent":0}"#))
    }

    @Test(
        "A share that isn't one is refused with the spellings that are possible",
        arguments: ["%", "101%", "-1%", "1e1%", "33 %", "1/3", "33%%", "33"])
    func refused(_ text: String) async {
        let run = await pinctl(["check", "--pin", unknownPin, "--warn-within", text, "a.test"])
        #expect(run.status == 2)
        #expect(
            run.errors.contains("isn't a period or a share: write 14d for days, 36h for hours, 33% of the lifetime"))
    }

    private static func chain(
        leaf: Int64, intermediate: Int64
    ) throws -> (root: TestCertificate, intermediate: TestCertificate, leaf: TestCertificate) {
        let root = try TestCertificate.root("Root") {
            $0.notBefore = start
            $0.notAfter = start + 9_000 * day
        }
        let middle = try root.intermediate("Intermediate") {
            $0.notBefore = start
            $0.notAfter = start + intermediate
        }
        let end = try middle.leaf("api.test") {
            $0.notBefore = start
            $0.notAfter = start + leaf
        }
        return (root, middle, end)
    }
}
