import CertificateTrust
import FoundationEssentials
import TestPKI
import Testing

/// CB18: whatever a peer presents, evaluation ends within its limits and with a verdict.
@Suite("CB18: pathological chains")
struct PathologicalTests {
    @Test("get the verdict they deserve, or the one that says that a limit was met", arguments: PathologicalChain.all)
    func verdict(_ chain: PathologicalChain) throws {
        #expect(try chain.claim().verdict() == chain.verdict)
    }
}

extension PathologicalChain: CustomTestStringConvertible {
    var testDescription: String { description }
}
