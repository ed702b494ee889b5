import PinctlCommands
import Testing

@Suite("CL4: Exit codes")
struct ExitCodeTests {
    @Test("The worst of several outcomes decides the exit code, in the order 2, 1, 4, 3, 0")
    func precedence() {
        let order: [ExitCode] = [.good, .couldNotCheck, .notTrusted, .finding, .badInput, .internalError]
        for (index, worse) in order.enumerated() {
            for better in order[...index] {
                var status = better
                status.record(worse)
                #expect(status == worse)
                status.record(better)
                #expect(status == worse)
            }
        }
    }
}
