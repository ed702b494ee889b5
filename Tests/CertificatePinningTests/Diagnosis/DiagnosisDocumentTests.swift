import CertificatePinning
import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("The article on causes and lint rules")
struct DiagnosisDocumentTests {
    private static func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(Repository.root)/Sources/CertificatePinning/\(path)", encoding: .utf8)
    }

    private static func article() throws -> String { try text("CertificatePinning.docc/WhenPinsStopMatching.md") }

    @Test("The article lists every lint rule exactly, and no others")
    func lintRules() throws {
        let rows = try Self.article().split(separator: "\n").filter { $0.hasPrefix("| P") }.map(String.init)
        #expect(rows == LintRule.allCases.map { "| \($0.rawValue) | \($0.severity.rawValue) | \($0.summary) |" })
    }

    @Test("The article lists every cause in the source, and no others")
    func causes() throws {
        let source = try Self.text("Diagnosis/PinFailureCause.swift").split(separator: "\n")
        let start = try #require(source.firstIndex { $0.contains("var identifier: String") })
        let identifiers = source[start...].prefix { $0 != "    }" }.compactMap { line in
            line.contains("case .") ? line.split(separator: "\"").dropFirst().first.map(String.init) : nil
        }
        let rows = try Self.article().split(separator: "\n").filter { $0.hasPrefix("| `") }
            .compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(identifiers.count > 10)
        #expect(rows.sorted() == identifiers.sorted())
    }
}
