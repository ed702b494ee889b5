@testable import PinctlCommands

extension FuzzTarget {
    /// A message to the verdict service. What is read has a digest that doesn't change, and texts of one line.
    static let verdicts = FuzzTarget(name: "verdicts") { bytes in
        guard let message = try? VerdictMessage(bytes) else { return }
        precondition(message.digest.count == 32 && message.digest == (try? VerdictMessage(bytes))?.digest)
        precondition(!(message.server + message.source).contains(where: \.isNewline))
        let answer = VerdictAnswer(isAccepted: false, reason: message.host ?? "", pin: message.program).frame
        precondition(answer[..<8] == [1, 1, 1, 0, 0, 0, 1, 0] && answer.count < 10_000)
    }
}
